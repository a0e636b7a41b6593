"""Committed figures follow from the committed runs; a figure that was not trained has none yet."""

import json
from pathlib import Path

import pytest

from tiercut.measure.manifest import read_manifest
from tiercut.measure.results import read_results
from tiercut.measure.summary import summarise
from tiercut.measure.tuning import FILE, Aim, read_best, read_tuning
from tiercut.measure.tuning import to_document as to_file
from tiercut.reproduce.catalogue import FROM_STUDIES, STUDIES
from tiercut.reproduce.figures_4_to_7 import MODELS, RATES
from tiercut.reproduce.results import to_document, to_markdown
from tiercut.reproduce.study import read_study
from tiercut.reproduce.trained import RESULTS, document_of
from tiercut.reproduce.tunings import SEED, TUNINGS

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "benchmarks" / "paper"
TRAINED = [name for name in STUDIES if (COMMITTED / name / "result.json").exists()]
TUNED = [path.parent.relative_to(COMMITTED) for path in COMMITTED.rglob(FILE)]
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


@pytest.mark.parametrize("folder", TUNED, ids=str)
def test_what_tuning_found_follows_from_its_runs(folder):
    kept = json.loads((COMMITTED / folder / FILE).read_text())
    settings = {
        name: {label: tried["own"] for label, tried in one["tried"].items()}
        for name, one in kept["schemes"].items()
    }
    aim = Aim(kept["objective"], kept["target"])
    found = read_tuning(COMMITTED / folder, settings, aim)
    assert to_file(found, aim, kept["command"]) == kept
    if all(one.best for one in found.values()):
        assert read_best(COMMITTED / folder) == {name: one.own for name, one in found.items()}


@pytest.mark.parametrize("name", [name for name in TUNINGS if Path(name) in TUNED])
def test_a_tuning_tried_what_it_is_said_to_try(name):
    tuning = TUNINGS[name]
    kept = json.loads((COMMITTED / name / FILE).read_text())
    tried = {
        scheme: {label: one["own"] for label, one in found["tried"].items()}
        for scheme, found in kept["schemes"].items()
    }
    assert tried == json.loads(json.dumps(tuning.settings))
    assert (kept["objective"], kept["target"]) == (tuning.aim.kind, tuning.target)
    for label in {label for own in tried.values() for label in own}:
        manifest = read_manifest(COMMITTED / name / label)
        assert (manifest.seeds, manifest.until) == ((SEED,), tuning.target)
        assert manifest.scenario.training.rounds == tuning.rounds


@pytest.mark.parametrize("model", RATES)
def test_the_rate_of_a_figure_as_published_is_the_one_tuned_for_locsfl(model):
    number = next(number for number, name in MODELS.items() if name == model)
    scenario = read_study(ROOT / "scenarios", f"figure-{number}")
    found = read_best(COMMITTED / f"rates-{model}" / "published")
    assert found == {"locsfl": {"training.rate": scenario.training.rate}}
