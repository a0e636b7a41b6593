"""Small versions of every table: one fleet, and the cheapest of its models."""

from dataclasses import replace
from pathlib import Path

import pytest

from tiercut.errors import InputError
from tiercut.reproduce import table_iv, table_ix, table_v, table_vii, table_viii
from tiercut.reproduce.results import Spread
from tiercut.reproduce.settings import TITLES, TRAINING_IMAGES, read_settings

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@pytest.fixture(scope="module")
def settings():
    return read_settings(SCENARIOS)


def only(settings, *models):
    """Those of the settings, with ten clients so that plans are made at once."""
    return {model: settings[model].with_clients(10) for model in models}


def test_scenarios_share_out_the_whole_dataset(settings):
    assert list(settings) == list(TITLES)
    for model, setting in settings.items():
        assert setting.scenario.fleet.examples == TRAINING_IMAGES[model] // setting.clients
        assert setting.scenario.model.name == model


def test_a_setting_is_varied_without_changing_the_original(settings):
    setting = settings["vgg19"]
    varied = setting.with_clients(60).with_all_cuts()
    assert (varied.clients, varied.scenario.fleet.examples) == (60, 833)
    assert varied.problem(0).cuts == tuple(range(3, 17))
    assert setting.problem(0).cuts == (15,)


def test_table_iv_shows_every_printed_quantity_and_explains(settings):
    table = table_iv.make(only(settings, "alexnet"), seeds=[0, 1])
    rows = {row[1]: row for row in table.rows}
    assert list(rows) == ["h", "v", "lambda", "clients per aggregator", "seconds per round"]
    assert [row[2] for row in table.rows] == [3, 5, 0.2, 5.5, None]
    assert all(len(row) == len(table.columns) for row in table.rows)
    exact, greedy = rows["seconds per round"][3:5]
    assert exact.typical <= greedy.typical
    assert any("5.5" in sentence for sentence in table.differences)


def test_opening_all_cuts_is_never_slower(settings):
    table = table_iv.make(only(settings, "vgg11"), seeds=[0])
    candidates, everything = (table.rows[-1][column] for column in (3, 5))
    assert everything.typical <= candidates.typical * 1.01


def test_table_v_fixes_the_number_of_aggregators(settings):
    table = table_v.make(only(settings, "alexnet"), seeds=[0])
    assert [row[1] for row in table.rows[::4]] == [0.10, 0.25, 0.50, 0.80]
    assert [row[3] for row in table.rows if row[2] == "h"] == [3, 2, 2, 2]


def test_table_vii_has_strong_clients_gain_with_gamma(settings):
    table = table_vii.make(only(settings, "vgg11"), seeds=[0])
    seconds = [row[4].typical for row in table.rows if row[2] == "seconds per round"]
    assert seconds == sorted(seconds, reverse=True)
    assert any("Table IV prints h = 3" in sentence for sentence in table.differences)


def test_table_viii_is_judged_by_every_plan_there_is(settings):
    table = table_viii.make(settings, seeds=[0], cases=[("vgg19", 6), ("vgg19", 30)])
    excess = {(row[1], row[2]): row[4] for row in table.rows}
    assert excess[6, "exact's bound"].typical >= excess[6, "brute"].typical - 1e-6
    assert excess[6, "brute"].typical >= 0
    assert excess[30, "exact's bound"].typical >= excess[30, "exact"].typical
    assert len(table.differences) == 1


def test_table_ix_never_beats_the_least_possible_increase(settings):
    table = table_ix.make(only(settings, "vgg19"), seeds=[0])
    assert [row[3] for row in table.rows] == [5, 2, 12, 5, 18, 7]
    for fixed, new in zip(table.rows[::2], table.rows[1::2], strict=True):
        assert new[6].typical <= new[4].typical + 1e-6
        assert new[6].typical <= fixed[4].typical + 1e-6


def test_the_same_seeds_give_the_same_table(settings):
    first, second = (table_ix.make(only(settings, "vgg19"), seeds=[3]) for _ in range(2))
    assert first == second


def test_where_the_planner_decides_as_printed_nothing_is_explained(settings, monkeypatch):
    some = only(settings, "alexnet")
    rows = {row[1]: row[3] for row in table_iv.make(some, seeds=[0]).rows}
    printed = replace(
        table_iv.TABLE_IV["alexnet"],
        h=rows["h"].typical,
        v=rows["v"].typical,
        share=rows["lambda"].typical,
        per_aggregator=round(rows["clients per aggregator"].typical, 2),
    )
    monkeypatch.setitem(table_iv.TABLE_IV, "alexnet", printed)
    assert table_iv.make(some, seeds=[0]).differences == ()


def test_a_spread_is_around_the_median():
    assert Spread.of([3, 1, 2]) == Spread(2, 1, 3)
    assert Spread.of([3, 1, 2], typical=1) == Spread(1, 1, 3)


def test_a_missing_scenario_says_what_to_do(tmp_path):
    with pytest.raises(InputError, match=r"paper-alexnet\.toml.*--scenarios DIR"):
        read_settings(tmp_path)
