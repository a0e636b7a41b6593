"""Rounds on real devices: what the page says of what was predicted and measured."""

import json

import pytest

from tests.report.page.instances import (
    content_of,
    make_plan,
    make_results,
    make_scenario,
    write_json,
)
from tests.report.page.test_browser import (
    all_of,
    bring,
    click,
    one,
    open_page,
    scrolls_sideways,
    tip,
)
from tests.report.page.test_content import Page
from tiercut.fleet import build_fleet
from tiercut.models.profile import shipped_profile
from tiercut.report.page.build import build_page
from tiercut.report.page.real import KINDS, read_real
from tiercut.report.page.tables import NOTHING
from tiercut.seeds import Seeds


def real(number, **changes):
    """What a record says of a real round: a fifth more seconds than predicted, and the bytes."""
    predicted = {"download": 0.5, "training": 9.0, "upload": 0.5, "round": 10.0}
    measured = {phase: 1.2 * seconds for phase, seconds in predicted.items()}
    sent = {"between": 1e6, "server": 2e6, "weights": 3e6}
    found = {"predicted": predicted, "measured": measured}
    found |= {"predicted_bytes": sent, "measured_bytes": sent}
    return {"attempts": 1 + (number == 2), **found, **changes}


def make_real(folder, **changes):
    """The results of a run whose devices were real; in round 3 two clients were lost."""
    make_results(folder, ("aa-hsfl-ll",), (0,))
    path = folder / "aa-hsfl-ll" / "seed-0" / "rounds.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        record["lost"] = 2 * (record["round"] == 3)
        record["real"] = real(record["round"], **changes)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


@pytest.fixture
def made(tmp_path):
    return make_real(tmp_path / "real")


# ------------------------------------------------------------------------------------- values


def test_every_phase_and_tier_is_a_series(made):
    found = content_of(made).real
    assert [series.name for series in found.series] == list(KINDS)
    assert found.rounds == tuple(range(1, 9))
    assert found.attempts == (1, 2, 1, 1, 1, 1, 1, 1)
    assert found.lost == (0, 0, 2, 0, 0, 0, 0, 0)
    whole, *_, weights = found.series
    assert whole.means == pytest.approx((10.0, 12.0))
    assert whole.excess == pytest.approx(0.2)
    assert weights.excess == 0.0


def test_a_simulation_has_no_such_part(results):
    content = content_of(results)
    assert content.real is None
    page = build_page(content)
    assert 'id="real' not in page
    assert "#real" not in page.split("<style>")[0]
    assert read_real(results / "nowhere.jsonl") is None


def test_the_part_says_how_far_off_the_prediction_was(made):
    page = Page(build_page(content_of(made)))
    says = page.says("real")
    assert "A round took 12 s where 10 s were predicted, 20% more time; means over 8 rounds" in says
    assert "2 clients failed in the middle of a round. 1 round had to start again." in says
    assert "whole round10 s12 s+20.0%" in says
    assert "bytes of layers3 MB3 MB0.0%" in says
    assert len(page.ids) == len(set(page.ids))
    assert page.ids.index("accuracy") < page.ids.index("real") < page.ids.index("gains")


def test_multiples_and_what_was_predicted_to_be_nothing(tmp_path):
    seconds = {"download": 0.0, "training": 1.0, "upload": 0.5, "round": 1.5}
    measured = {"download": 2.0, "training": 1.0, "upload": 6.0, "round": 9.0}
    nothing = dict.fromkeys(("between", "server", "weights"), 0.0)
    changes = {"predicted": seconds, "measured": measured, "attempts": 1}
    folder = make_real(tmp_path / "r", **changes, predicted_bytes=nothing, measured_bytes=nothing)
    says = Page(build_page(content_of(folder))).says("real")
    assert f"download0 ms2 s{NOTHING}" in says
    assert "upload500 ms6 s\N{MULTIPLICATION SIGN}12.0" in says
    assert "start again" not in says


def test_damaged_records_leave_the_part_out(made):
    path = made / "aa-hsfl-ll" / "seed-0" / "rounds.jsonl"
    path.write_text(path.read_text().replace('"predicted_bytes"', '"predicted_byte"'))
    content = content_of(made)
    assert content.real is None
    assert "predicted_bytes is missing" in content.notes[0]


def test_the_fleet_and_the_profile_are_those_that_were_measured(made):
    run = made / "aa-hsfl-ll" / "seed-0"
    scenario = make_scenario(fleet={"rates": ["60 Mbps", "90 Mbps"]})
    fleet, profile = build_fleet(scenario.fleet, Seeds(0)), shipped_profile("small").to_dict()
    plan = make_plan("aa-hsfl-ll", scenario, fleet)
    write_json(run / "fleet.json", fleet.to_dict())
    write_json(run / "plan.json", {**plan.to_dict(), "clients": fleet.names})
    content = content_of(made)
    assert content.notes == []  # the plan's seconds are those of this fleet
    assert "aa-hsfl-ll" in content.batches
    profile["layers"][0]["flops"] *= 2
    write_json(run / "profile.json", profile)
    assert "do not give the seconds" in content_of(made).notes[0]


# ------------------------------------------------------------------------------------ in a browser


@pytest.fixture
def page(made, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(build_page(content_of(made)))
    return path


def test_the_chart_is_drawn_switched_and_read(driver, page):
    from selenium.webdriver.common.keys import Keys

    open_page(driver, page)
    assert len(all_of(driver, "#real-chart .line")) == 2
    assert len(all_of(driver, "#real-chart .dot")) == 16
    assert len(all_of(driver, "#real-choice input")) == len(KINDS)
    seconds = one(driver, "#real-chart").text
    assert "5 s" in seconds
    click(driver, "#real-choice input[value=weights]")
    assert "MB" in one(driver, "#real-chart").text
    chart = one(driver, "#real-chart")
    for _ in range(3):
        chart.send_keys(Keys.ARROW_RIGHT)
    assert "round 3, bytes of layers" in tip(driver)
    assert "clients that failed: 2" in one(driver, "#real-live").get_property("textContent")
    chart.send_keys(Keys.ARROW_LEFT)
    assert "attempts: 2" in tip(driver)
    assert "100% of what was predicted" in tip(driver)
    assert driver.get_log("browser") == []


def test_the_pointer_reads_values_and_a_phone_is_wide_enough(driver, page):
    from selenium.webdriver.common.action_chains import ActionChains

    open_page(driver, page)
    chart = one(driver, "#real-chart")
    bring(driver, chart)
    ActionChains(driver).move_to_element(chart).perform()
    assert "predicted 10 s" in tip(driver)
    assert "measured 12 s" in tip(driver)
    open_page(driver, page, phone=True)
    assert not scrolls_sideways(driver)
    assert driver.get_log("browser") == []
