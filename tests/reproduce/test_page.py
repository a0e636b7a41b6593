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
from tiercut.reproduce.catalogue import BEYOND, STUDIES, choose
from tiercut.reproduce.study import read_study
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
    usual = sum(cells[-1] for name, cells in BUDGET.items() if not name.endswith(BEYOND))
    beyond = sum(cells[-1] for name, cells in BUDGET.items() if name.endswith(BEYOND))
    assert sums == [round(usual), round(beyond)]
    assert usual + PLANNED < TWO_HOURS


TUNES = re.findall(r"^tiercut (tune .*)$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("command", TUNES, ids=lambda command: command.rpartition(" ")[2])
def test_tuning_has_one_budget_for_all(command):
    _, scenario, *words = shlex.split(command)
    found = read_study(ROOT / "scenarios", Path(scenario).stem)
    pairs = list(zip(words[::2], words[1::2], strict=True))
    given, tries = dict(pairs), [value for flag, value in pairs if flag == "--try"]
    schemes = {find_scheme(spec).name: find_scheme(spec) for spec in given["--schemes"].split(",")}
    settings = settings_of(given.get("--rates"), tries, schemes)
    assert len({len(own) for own in settings.values()}) == 1
    for name, own in settings.items():
        for setting in own.values():
            cuts = apply_overrides(found, setting, name).plan.cuts
            depth = shipped_profile(found.model.name).depth
            kept = found.plan.client_layers
            check_cuts(cuts or (depth - 1,), depth, shallowest_cut(schemes[name].cost, kept))


def test_the_commands_name_what_there_is():
    named = [*runnable(PAGE), *re.findall(r"^tiercut (reproduce .*)$", PAGE, re.MULTILINE)]
    assert len(named) == 6
    for command in named:
        _, name, *options = shlex.split(command, comments=True)
        assert choose(name, tuned="--tuned" in options)
