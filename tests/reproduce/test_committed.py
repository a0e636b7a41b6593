"""Committed figures follow from the committed runs; a figure that was not trained has none yet."""

import json
from pathlib import Path

import pytest

from tiercut.compare import tuning
from tiercut.measure.results import read_results
from tiercut.measure.summary import summarise
from tiercut.reproduce.catalogue import FROM_STUDIES, STUDIES
from tiercut.reproduce.figures_4_to_7 import MODELS
from tiercut.reproduce.rates import RATES
from tiercut.reproduce.results import to_document, to_markdown
from tiercut.reproduce.study import read_study
from tiercut.reproduce.trained import RESULTS, document_of

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "benchmarks" / "paper"
TRAINED = [name for name in STUDIES if (COMMITTED / name / "result.json").exists()]
SMALL = 1_000_000
"""Bytes; more than this of a run does not belong into the repository."""


def written(name):
    return json.loads((COMMITTED / name / "result.json").read_text())


@pytest.mark.parametrize("name", TRAINED)
def test_a_figure_follows_from_its_runs(name):
    folder = COMMITTED / name
    assert written(name) == document_of(STUDIES[name], name, folder)
    assert (folder / "README.md").read_text() == to_markdown(written(name))
    summary = json.loads((folder / RESULTS / "summary.json").read_text())
    assert summary == summarise(read_results(folder / RESULTS))


@pytest.mark.parametrize("name", TRAINED)
def test_only_small_files_of_the_runs_are_kept(name):
    kept = {"manifest.json", "plan.json", "rounds.jsonl", "summary.json", "machine.json"}
    for path in (COMMITTED / name / RESULTS).rglob("*"):
        assert path.is_dir() or path.name in kept, path
        assert path.stat().st_size < SMALL, path


@pytest.mark.parametrize("name", FROM_STUDIES)
def test_a_table_of_gains_follows_from_the_figures(name):
    old = written(name)
    new = json.loads(json.dumps(to_document(FROM_STUDIES[name](COMMITTED), old["command"])))
    same = ("title", "method", "columns", "rows", "differences", "seeds")
    assert {key: old[key] for key in same} == {key: new[key] for key in same}
    assert (COMMITTED / name / "README.md").read_text() == to_markdown(old)


def tuned(model, kind):
    """The best rates by scheme, found again from the runs; tuning.json says the same."""
    folder = COMMITTED / f"rates-{model}" / kind
    kept = json.loads((folder / "tuning.json").read_text())
    settings = {
        name: {label: tried["own"] for label, tried in one["tried"].items()}
        for name, one in kept["schemes"].items()
    }
    aim = tuning.Aim(kept["objective"], kept["target"])
    found = tuning.read_tuning(folder, settings, aim)
    assert tuning.to_document(found, aim, kept["command"]) == kept
    return {name: one.own["training.rate"] for name, one in found.items()}


@pytest.mark.parametrize("model", RATES)
def test_rates_follow_from_their_runs(model):
    assert tuned(model, "best") == RATES[model]
    number = next(number for number, name in MODELS.items() if name == model)
    scenario = read_study(ROOT / "scenarios", f"figure-{number}")
    assert tuned(model, "published") == {"locsfl": scenario.training.rate}
