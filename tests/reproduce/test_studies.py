"""What is trained for each figure: the scenarios, the contenders, the paper's numbers."""

import subprocess
import sys
from pathlib import Path

import pytest

from tiercut.compare.comparison import Comparison
from tiercut.errors import InputError
from tiercut.measure.tuning import read_best
from tiercut.models.profile import shipped_profile
from tiercut.reproduce import fine, tables
from tiercut.reproduce.brisk import BRISK
from tiercut.reproduce.catalogue import STUDIES, choose
from tiercut.reproduce.figures_4_to_7 import MODELS, RATES, TUNED, TUNED_NUMBERS, targets_of
from tiercut.reproduce.fine import FINE
from tiercut.reproduce.free import FREE
from tiercut.reproduce.lean import LEAN
from tiercut.reproduce.paper_curves import MOMENTS, PRINTED, RISES, TABLE_III
from tiercut.reproduce.small import SMALL
from tiercut.reproduce.study import differing, read_study
from tiercut.reproduce.swift import NUMBERS as SWIFT_NUMBERS
from tiercut.reproduce.swift import SWIFT
from tiercut.reproduce.trained import UNITS

ROOT = Path(__file__).parents[2]
SCENARIOS, COMMITTED = ROOT / "scenarios", ROOT / "benchmarks" / "paper"


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_can_be_compared(name):
    study = STUDIES[name]
    scenario = read_study(SCENARIOS, study.file)
    made = Comparison(
        scenario,
        tuple(one.spec for one in study.contenders),
        tuple(range(study.seeds)),
        overrides=study.overrides(SCENARIOS),
        fixed=study.fixed,
    )
    assert list(made.schemes) == [one.name for one in study.contenders]
    assert len(made.jobs) == study.seeds * len(study.contenders)
    assert scenario.name == study.file
    assert scenario.model.name == study.model
    assert {job.rounds for job in made.jobs} == {scenario.training.rounds}


@pytest.mark.parametrize("model", MODELS.values())
def test_all_studies_of_a_model_train_on_the_same(model):
    files = {study.file for study in STUDIES.values() if study.model == model}
    found = [read_study(SCENARIOS, file) for file in files]
    assert len({(one.fleet, one.data, one.model, one.engine) for one in found}) == 1
    shorter = tuple(version[1:] for version in (SWIFT, BRISK, FREE, SMALL, FINE))
    found = [one for one in found if not one.name.startswith(shorter)]
    assert len({one.training.rounds for one in found}) == 1
    paper = read_study(SCENARIOS, f"paper-{model}")
    assert (found[0].fleet.clients, found[0].training.epochs) == (paper.fleet.clients, 3)


def best_of(model, usual):
    """What tuning found for every scheme, for the models that were tuned."""
    return read_best(COMMITTED / RATES[model]) if model in RATES else usual


@pytest.mark.parametrize("number", MODELS)
def test_our_best_differs_in_nothing_but_its_options_and_rate(number):
    study = STUDIES[f"figure-{number}"]
    best = {
        "training.aggregator_interval": "batch",
        "training.server_interval": "batch",
        "training.wire": "bf16",
        "plan.cuts": None,
    }
    own = study.overrides(SCENARIOS)
    assert list(own) == ["dtfl", "dtfl-contended", "aa-best"]
    usual, other = (read_study(SCENARIOS, file) for file in (study.file, study.best))
    found = differing(usual, other)
    assert own["aa-best"] == found
    tuned = best_of(study.model, {"aa-hsfl-ll": {"training.rate": usual.training.rate}})
    assert other.training.rate == tuned["aa-hsfl-ll"]["training.rate"]
    assert found.keys() - {"training.rate"} == best.keys()
    assert found == {**found, **best}


@pytest.mark.parametrize("number", TUNED_NUMBERS)
def test_tuned_every_scheme_has_the_same_options(number):
    study = STUDIES[f"figure-{number}{TUNED}"]
    assert study.file == STUDIES[f"figure-{number}"].best
    assert study.tuning == RATES.get(study.model)
    cuts = {"plan.cuts": tuple(range(3, shipped_profile(study.model).depth))}
    assert study.overrides(SCENARIOS) == {"dtfl": cuts, "dtfl-contended": cuts}


def test_what_was_tuned_is_a_contender_s_own():
    study = STUDIES[f"figure-5{TUNED}"]
    own = study.overrides(SCENARIOS, read_best(COMMITTED / study.tuning))
    assert list(own) == [one.name for one in study.contenders]
    assert {keys["training.rate"] for keys in own.values()} == {3e-4}
    assert own["dtfl"]["plan.cuts"] == (3, 4, 5, 6, 7, 8)


@pytest.mark.parametrize("number", SWIFT_NUMBERS)
def test_swift_is_our_best_with_shorter_rounds_and_fewer_bytes(number):
    usual, swift = STUDIES[f"figure-{number}"], STUDIES[f"figure-{number}{SWIFT}"]
    best, other = (read_study(SCENARIOS, file) for file in (usual.best, swift.file))
    assert other.training.rounds <= best.training.epochs * best.training.rounds
    found = differing(best, other)
    found.pop("training.rounds", None)
    assert found == {"training.epochs": 1, "training.wire": "int8"}


def test_brisk_is_swift_with_shorter_rounds():
    brisk, swift = (STUDIES[f"figure-7{version}"] for version in (BRISK, SWIFT))
    assert brisk.contenders == swift.contenders
    found = differing(*(read_study(SCENARIOS, study.file) for study in (swift, brisk)))
    assert found == {"training.portions": 4, "training.rounds": 72}


@pytest.mark.parametrize(
    ("number", "other", "more"),
    [
        (5, "best-vgg11", {"training.epochs": 1, "training.rounds": 36, "training.wire": "int8"}),
        (7, "brisk-resnet101", {"training.rounds": 48}),
    ],
)
def test_free_starts_rounds_ahead_and_every_contender_is_tuned(number, other, more):
    study = STUDIES[f"figure-{number}{FREE}"]
    found = differing(*(read_study(SCENARIOS, file) for file in (other, study.file)))
    assert found == {"training.outer_momentum": 0.8, "plan.client_layers": 1, **more}
    assert study.overrides(SCENARIOS) == {}
    assert study.tuning == f"settings-{study.model}"


@pytest.mark.parametrize(
    ("number", "other", "more"),
    [
        (6, "swift-vgg19", {"training.portions": 4, "training.rounds": 100}),
        (7, "brisk-resnet101", {"training.rounds": 36}),
    ],
)
def test_small_is_free_with_small_batches(number, other, more):
    study = STUDIES[f"figure-{number}{SMALL}"]
    found = differing(*(read_study(SCENARIOS, file) for file in (other, study.file)))
    free = {"training.outer_momentum": 0.8, "plan.client_layers": 1}
    assert found == {"training.batch": 8, **free, **more}
    assert study.tuning == f"settings-small-{study.model}"


@pytest.mark.parametrize("study", [*fine.STUDIES.values(), fine.TRIED], ids=lambda one: one.model)
def test_fine_takes_smaller_steps_and_every_contender_is_tuned(study):
    found = differing(
        *(read_study(SCENARIOS, f"{kind}-{study.model}") for kind in ("best", "fine"))
    )
    del found["training.rounds"]
    assert found == {
        "training.batch": 8,
        "training.epochs": 1,
        "training.portions": 4,
        "training.outer_momentum": 0.8,
        "training.wire": "int8",
        "training.server_share": 0.25,
        "plan.client_layers": 1,
    }
    assert study.overrides(SCENARIOS) == {}
    assert study.tuning == f"settings-fine-{study.model}"


def test_lean_is_our_best_with_fewer_bytes():
    for number in MODELS:
        study = STUDIES[f"figure-{number}{LEAN}"]
        best, lean = (read_study(SCENARIOS, f"{kind}-{study.model}") for kind in ("best", "lean"))
        assert differing(best, lean) == {"training.wire": "int8", "plan.solver": "lean"}
        assert study.overrides(SCENARIOS) == {"locsfl": {"plan.solver": "locsfl-lean"}}
        assert study.tuning == RATES.get(study.model)


def test_the_paper_s_numbers_have_a_place():
    for name, printed in PRINTED.items():
        study = STUDIES[name]
        labels = {f"{unit} to {100 * t:g} %" for unit in UNITS for t in study.targets}
        assert set(printed) <= labels | {"final accuracy (%)"}
        for row in printed.values():
            assert set(row) <= {one.name for one in study.contenders}
    for model, rise in RISES.items():
        names = {one.name for s in STUDIES.values() if s.model == model for one in s.contenders}
        assert {rise.fewer, rise.more} <= names
    for model, moment in MOMENTS.items():
        assert moment.accuracy in targets_of(model)
    assert len(TABLE_III) == 12


def test_the_paper_s_gains_follow_from_its_own_seconds_and_bytes():
    """Typing errors would show here: Table III and the text name some of the same facts."""
    for name, printed in PRINTED.items():
        for label, row in printed.items():
            unit, _, target = label.partition(" to ")
            if name[:8] not in ("figure-4", "figure-5", "figure-6", "figure-7"):
                continue
            gain = TABLE_III[STUDIES[name].model, float(target[:-2]) / 100]
            (rival,) = (value for key, value in row.items() if key != "aa-hsfl-ll")
            said = gain.delay if unit == "seconds" else gain.overhead
            assert 100 * (1 - row["aa-hsfl-ll"] / rival) == pytest.approx(said, abs=0.2)


def test_names_stand_for_tables_studies_or_all():
    assert choose("table-ix").tables == {"table-ix": tables.TABLES["table-ix"]}
    assert list(choose("figure-2").studies) == ["figure-2-alexnet", "figure-2-vgg11"]
    assert list(choose("table-vi").studies) == ["table-vi-vgg11", "table-vi-resnet101"]
    assert list(choose("table-iii").from_studies) == ["table-iii"]
    assert list(choose("figure-5-lean").studies) == ["figure-5-lean"]
    assert list(choose("figure-5", tuned=True).studies) == ["figure-5-tuned"]
    everything = choose("all")
    assert everything.tables == tables.TABLES
    assert list(everything.from_studies) == ["table-iii", "gains", "gains-network", "least"]
    assert not [name for name in everything.studies if name.endswith((TUNED, SWIFT, BRISK, LEAN))]


def test_unknown_names_get_the_nearest_one():
    with pytest.raises(InputError, match=r"'figure-55'.*did you mean 'figure-"):
        choose("figure-55")
    with pytest.raises(InputError, match="no tuned version of 'figure-8'"):
        choose("figure-8", tuned=True)


def test_a_missing_scenario_says_what_to_do(tmp_path):
    with pytest.raises(InputError, match=r"figure-4\.toml.*--scenarios DIR"):
        read_study(tmp_path, "figure-4")


def test_tables_and_studies_are_found_without_torch():
    script = (
        "import sys\n"
        "from tiercut.reproduce import catalogue, quick, stand, trained\n"
        "print('torch' in sys.modules)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
