"""What docs/reproducing.md says is so: names, the budget, and what it adds up to."""

import re
import shlex
from pathlib import Path

import pytest

from tests.test_docs import ROOT, runnable
from tiercut.cli.tune import settings_of
from tiercut.compare.override import apply_overrides
from tiercut.models.profile import shipped_profile
from tiercut.plan.problem import check_cuts, shallowest_cut
from tiercut.reproduce.catalogue import STUDIES, choose
from tiercut.reproduce.contest import VERSIONS
from tiercut.reproduce.study import read_study
from tiercut.reproduce.tunings import TUNINGS
from tiercut.schemes import find_scheme

PAGE = (ROOT / "docs" / "reproducing.md").read_text()
BUDGET = {
    name: [float(cell) for cell in cells.split("|")]
    for name, cells in re.findall(r"^\| `([\w-]+)` \|((?: [\d.]+ \|){5})$", PAGE, re.MULTILINE)
    for cells in [cells.strip(" |")]
}
TWO_HOURS = 120
PLANNED = 3


def test_the_budget_has_every_study():
    assert set(BUDGET) == set(STUDIES)


@pytest.mark.parametrize("name", BUDGET)
def test_the_budget_is_that_of_the_scenarios(name):
    runs, rounds, per_round, ends, minutes = BUDGET[name]
    study = STUDIES[name]
    assert runs == len(study.contenders) * study.seeds
    assert rounds == read_study(Path(ROOT / "scenarios"), study.file).training.rounds
    assert minutes == pytest.approx(runs * (rounds * per_round + ends) / 60, abs=0.051)


def test_everything_fits_into_two_hours():
    sums = [float(found) for found in re.findall(r"\*\*sum\*\*.*\*\*(\d+)\*\*", PAGE)]
    usual = sum(cells[-1] for name, cells in BUDGET.items() if not name.endswith(VERSIONS))
    beyond = sum(cells[-1] for name, cells in BUDGET.items() if name.endswith(VERSIONS))
    assert sums == [round(usual), round(beyond)]
    assert usual + PLANNED < TWO_HOURS


def has_one_budget(scenario, schemes, settings):
    """As many settings for every scheme, and cuts that the model has."""
    assert settings.keys() == schemes.keys()
    assert len({len(own) for own in settings.values()}) == 1
    depth, kept = shipped_profile(scenario.model.name).depth, scenario.plan.client_layers
    for name, own in settings.items():
        for setting in own.values():
            cuts = apply_overrides(scenario, setting, name).plan.cuts
            check_cuts(cuts or (depth - 1,), depth, shallowest_cut(schemes[name].cost, kept))
    return True


def named(specs):
    return {find_scheme(spec).name: find_scheme(spec) for spec in specs}


TUNES = re.findall(r"^tiercut (tune .*)$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("command", TUNES, ids=lambda command: command.rpartition(" ")[2])
def test_tuning_rates_has_one_budget_for_all(command):
    _, scenario, *words = shlex.split(command)
    given = dict(zip(words[::2], words[1::2], strict=True))
    schemes = named(given["--schemes"].split(","))
    found = read_study(ROOT / "scenarios", Path(scenario).stem)
    assert has_one_budget(found, schemes, settings_of(given.get("--rates"), [], schemes))


@pytest.mark.parametrize("name", TUNINGS)
def test_tuning_settings_has_one_budget_for_all(name):
    tuning = TUNINGS[name]
    found = read_study(ROOT / "scenarios", tuning.study.file)
    assert tuning.rounds <= found.training.rounds
    schemes = named(one.spec for one in tuning.study.contenders)
    assert has_one_budget(found, schemes, tuning.settings)


def test_the_page_has_every_tuning():
    cells = r"^\| `(settings-[\w-]+)` \| (\d+) \| (\d+) \| (\d+) \|"
    said = {name: tuple(map(int, rest)) for name, *rest in re.findall(cells, PAGE, re.MULTILINE)}
    assert said == {
        name: (len(one.settings["sfl"]), round(100 * one.target), one.rounds)
        for name, one in TUNINGS.items()
    }


def test_the_commands_name_what_there_is():
    commands = [*runnable(PAGE), *re.findall(r"^tiercut (reproduce .*)$", PAGE, re.MULTILINE)]
    assert len(commands) == 13
    for command in commands:
        _, name, *options = shlex.split(command, comments=True)
        assert choose(name, tuned="--tuned" in options)
