"""What the page shows beside the summary, and what it says where something is missing."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from tests.report.page.instances import (
    THREE,
    change_json,
    content_of,
    fleet_after,
    make_results,
    no_spread,
)
from tiercut.errors import MissingError
from tiercut.report.marks import LOOKS, looks_of
from tiercut.report.page.batch import MOST_LANES
from tiercut.report.page.build import build_page
from tiercut.report.page.content import MOST_COLUMNS, gather
from tiercut.report.page.graph import FASTEST, MOST_CLIENTS
from tiercut.report.page.html import as_data, element
from tiercut.report.page.tables import NOTHING, show_gain
from tiercut.report.summary import read_summary

VOID = {"meta", "link", "input", "img", "br"}


class Page(HTMLParser):
    """A page, read back: its text by section; tags that are not closed in order are refused."""

    def __init__(self, text):
        super().__init__()
        self.open, self.section, self.sections, self.ids = [], "", {}, []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids += [found["id"]] if "id" in found else []
        if tag == "section":
            self.section = found["id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.sections[self.section] = self.sections.get(self.section, "") + data

    def says(self, section):
        return " ".join(self.sections[section].split())


def page_of(folder, **options):
    return Page(build_page(content_of(folder, **options)))


def test_a_whole_comparison_has_every_part_and_no_notes(results):
    content = content_of(results)
    assert list(content.graphs) == list(content.batches) == list(THREE)
    assert [one.scheme for one in content.traffic] == list(THREE)
    assert content.notes == []
    assert content.cautions == []
    page = Page(build_page(content))
    assert len(page.ids) == len(set(page.ids))
    assert "What AA HSFL-ll saves" in page.says("gains")
    assert "holds the round back" in page.says("decisions")
    assert "made up.toml" in page.says("run")
    assert "What is not shown" not in page.says("run")


def test_the_page_is_the_same_every_time_and_asks_for_nothing(results):
    text = build_page(content_of(results))
    assert text == build_page(content_of(results))
    outside = re.sub(r'"http://www.w3.org/2000/svg"', "", text)
    assert "http:" not in outside
    assert "https:" not in outside
    assert "default-src 'none'" in text


def test_traffic_sums_up_to_what_was_recorded(results):
    for one in content_of(results).traffic:
        totals = [
            json.loads(path.read_text())["bytes"]["total"]
            for path in (results / one.scheme).rglob("plan.json")
        ]
        assert one.total == pytest.approx(np.mean(totals))


# -------------------------------------------------------------------------------------- graph


def test_nodes_stand_apart_and_inside_the_picture(results):
    for graph in content_of(results).graphs.values():
        places = np.array([[node["x"], node["y"]] for node in graph["nodes"]])
        distance = np.linalg.norm(places[:, None] - places[None], axis=2)
        np.fill_diagonal(distance, np.inf)
        assert distance.min() > 2 * FASTEST
        assert np.linalg.norm(places, axis=1).max() + FASTEST <= graph["reach"]


def test_nodes_tell_whom_they_serve(results):
    content = content_of(results)
    nodes = content.graphs["aa-hsfl-ll"]["nodes"]
    for n, node in enumerate(nodes):
        members = sum(other["by"] == n for other in nodes)
        assert node["hosts"] == members
        assert any("its aggregator" in fact for fact in node["tip"]) == (node["by"] != n)
    assert {node["hosts"] for node in content.graphs["sfl"]["nodes"]} == {0}


def test_an_aggregator_for_itself_alone_says_so(copy):
    def alone(plan):
        plan["aggregator_of"] = list(range(12))

    change_json(copy / "aa-hsfl-ll" / "seed-0" / "plan.json", alone)
    content = content_of(copy)
    assert "hosts no other" in content.graphs["aa-hsfl-ll"]["nodes"][0]["tip"]
    assert "aa-hsfl-ll" not in content.batches  # such a plan takes other seconds
    assert any("do not give the seconds" in note for note in content.notes)


def test_a_fleet_of_equals_and_one_that_is_too_large(tmp_path):
    equal = make_results(tmp_path / "a", ("sfl",), (0,), fleet={"strong_fraction": 0.0})
    assert {n["speed"] for n in content_of(equal).graphs["sfl"]["nodes"]} == {0.0}
    many = {"clients": MOST_CLIENTS + 1}
    large = content_of(make_results(tmp_path / "b", ("sfl",), (0,), fleet=many))
    assert large.graphs == {}
    assert "too large to draw" in large.notes[0]
    assert large.batches["sfl"]["hidden"] == MOST_CLIENTS + 1 - MOST_LANES


# ----------------------------------------------------------------------------------- timeline


@pytest.mark.parametrize("cost", ["paper", "network"])
@pytest.mark.parametrize("links", ["between", "access"])
def test_events_lie_in_their_lanes_and_the_critical_path_lasts_the_batch(tmp_path, cost, links):
    schemes = ("sfl", "multihop", "locsfl", "dtfl", "aa-hsfl-ll")
    folder = make_results(
        tmp_path / "r", schemes, (0,), plan={"cost": cost}, fleet={"links": links}
    )
    batches = content_of(folder).batches
    assert set(batches) == set(schemes)
    for batch in batches.values():
        critical = [event for event in batch["events"] if event["critical"]]
        assert max(e["to"] for e in critical) == pytest.approx(batch["seconds"], rel=1e-6)
        lanes = {lane["node"]: lane for lane in batch["lanes"]}
        for event in batch["events"]:
            assert 0 <= event["from"] < event["to"] <= batch["seconds"] * (1 + 1e-6)
            assert str(event["node"]) in batch["names"]
            if event["kind"] != "send":
                lane = lanes[event["node"]]
                assert lane["top"] <= event["y"]
                assert event["y"] + event["height"] <= lane["top"] + lane["height"]


# ------------------------------------------------------------------------------ what is missing


def test_without_plans_the_rest_is_shown(copy):
    for path in copy.rglob("plan.json"):
        path.unlink()
    content = content_of(copy)
    assert content.graphs == content.batches == {}
    assert "there is no such file" in content.notes[0]
    page = Page(build_page(content))
    assert "what is sent is not known" in page.says("traffic")
    assert "What is not shown" in page.says("run")


def test_one_damaged_plan_leaves_the_other_seeds(copy):
    (copy / "sfl" / "seed-0" / "plan.json").write_text("{")
    content = content_of(copy)
    assert list(content.graphs) == list(THREE)
    assert content.seed == 1  # of which all three are there
    assert "this is not JSON" in content.notes[0]


@pytest.mark.parametrize("change", [{"clients": None}, {"clients": ["x"]}, {"aggregator_of": [99]}])
def test_a_plan_that_does_not_fit_is_noted(copy, change):
    for path in copy.rglob("plan.json"):
        change_json(path, lambda plan: plan.update(change))
    content = content_of(copy)
    assert content.graphs == {}
    assert content.notes


def test_without_manifests_the_curves_are_shown(copy):
    for path in copy.rglob("manifest.json"):
        path.unlink()
    page = page_of(copy)
    assert "how this was run is not known" in page.says("run")
    assert "could not be told" in page.says("data")


def test_a_manifest_that_is_no_table_is_none(copy):
    (copy / "manifest.json").write_text("[]")
    change_json(copy / "sfl" / "seed-0" / "manifest.json", lambda m: m.update(scenario=3))
    content = content_of(copy)
    assert content.manifest is None
    assert "sfl" not in content.graphs


def test_schemes_that_have_not_begun_are_named(copy):
    change_json(copy / "manifest.json", lambda m: m["schemes"].append("dtfl"))
    assert "Not a round is there of dtfl." in content_of(copy).cautions


def test_runs_that_have_not_begun_are_not_looked_for(copy):
    def idle(summary):
        summary["schemes"]["sfl"].update(rounds_done=[0, 0, 0], complete=False)

    change_json(copy / "summary.json", idle)
    content = content_of(copy)
    assert content.notes == []
    assert "SFL seed 0 has 0 of 8 rounds" in content.cautions[0]


def test_a_scheme_that_is_no_folder_name_is_not_read(copy):
    def astray(summary):
        summary["schemes"]["../sfl"] = summary["schemes"].pop("sfl")

    change_json(copy / "summary.json", astray)
    assert "no name of a folder" in content_of(copy).notes[0]


def test_targets_that_nobody_reached(copy):
    def unreached(summary):
        summary["gains"] = []
        for scheme in summary["schemes"].values():
            for reached in scheme["targets"].values():
                reached.update(reached=0, rounds=None, seconds=None, bytes=None)

    change_json(copy / "summary.json", unreached)
    page = page_of(copy)
    assert "no target that all seeds of two schemes" in page.says("gains")
    assert page.says("gains").count("not reached") == 6


def test_targets_that_some_reached_and_gains_of_one_cost(copy):
    def partly(summary):
        summary["schemes"]["sfl"]["targets"]["0.8"].update(reached=1, bytes=None)
        summary["gains"] = [
            {"scheme": "aa-hsfl-ll", "over": "gone", "target": 0.8, "seconds": 0.0, "bytes": None},
            {"scheme": "aa-hsfl-ll", "over": "sfl", "target": 0.6, "seconds": 0.2, "bytes": -3.0},
        ]

    change_json(copy / "summary.json", partly)
    says = page_of(copy).says("gains")
    assert "1 of 3 seeds" in says
    assert "gone" in says
    assert "not reached by all seeds of both" in says
    assert f"{show_gain(-3.0)}" in says


def test_one_scheme_alone_and_no_targets(copy):
    def alone(summary):
        summary.update(gains=[], targets=[], schemes={"sfl": summary["schemes"]["sfl"]})
        summary["schemes"]["sfl"].update(decision=None, curve=None)

    change_json(copy / "summary.json", alone)
    page = page_of(copy)
    assert "compare two or more" in page.says("gains")
    assert "There are no accuracy targets" in page.says("gains")
    assert "no plan was found" in page.says("decisions")


def test_decisions_with_gaps_and_cuts_per_client(copy):
    def gaps(summary):
        summary["schemes"]["sfl"]["decision"] = {"cut_layers": [5, 3]}

    change_json(copy / "summary.json", gaps)
    assert f"SFL{NOTHING}3 to 5{4 * NOTHING}" in page_of(copy).says("decisions")


# ------------------------------------------------------------------------------ data and details


def test_data_that_cannot_be_told_is_a_note(results):
    def absent(scenario):
        raise MissingError("cifar10 is not in data; run `tiercut data get cifar10`")

    content = content_of(results, absent)
    assert content.spread is None
    assert content.notes == ["cifar10 is not in data; run `tiercut data get cifar10`"]


def test_the_data_of_many_clients_is_cut(results):
    def many(scenario):
        found = no_spread(scenario)
        return {**found, "clients": found["clients"] * 100}

    content = content_of(results, many)
    assert len(content.spread["clients"]) == MOST_COLUMNS
    assert "first 200 of 300" in content.notes[0]


def test_details_tell_overrides_and_resumptions(copy):
    def more(manifest):
        manifest["overrides"] = {"sfl": {"training.rate": 0.003}}
        manifest["fixed"] = "2,5,33%"

    change_json(copy / "manifest.json", more)
    change_json(copy / "sfl" / "seed-1" / "manifest.json", lambda m: m.update(resumed=[{}, {}]))
    says = page_of(copy).says("run")
    assert "SFL alone" in says
    assert "training.rate = 0.003" in says
    assert "2,5,33%" in says
    assert "2 times" in says
    change_json(copy / "manifest.json", lambda m: (m.pop("scenario"), m.pop("command")))
    assert "The scenario" not in page_of(copy).says("run")


# ----------------------------------------------------------------- models and schemes of one's own


def test_a_model_of_ones_own_has_no_timeline_but_a_fleet(copy):
    for path in copy.rglob("seed-*/manifest.json"):
        change_json(path, lambda m: m["scenario"]["model"].update(name="mine:net"))
    content = content_of(copy)
    assert set(content.graphs) == set(THREE)
    assert content.batches == {}
    assert "tiercut profile mine:net -o profile.json" in content.notes[0]


def test_a_profile_of_ones_own_is_read(copy, tmp_path):
    from tiercut.models.profile import shipped_profile

    (tmp_path / "p.json").write_text(json.dumps(shipped_profile("small").to_dict()))
    named = {"name": "mine:net", "profile": str(tmp_path / "p.json")}
    for path in copy.rglob("seed-*/manifest.json"):
        change_json(path, lambda m: m["scenario"]["model"].update(named))
    assert set(content_of(copy).batches) == set(THREE)


@pytest.mark.parametrize("like", ["sfl", "locsfl", "aa-hsfl-ll"])
def test_a_scheme_of_ones_own_is_told_from_its_plan(copy, like):
    change_json(copy / like / "seed-0" / "plan.json", lambda plan: plan.update(scheme="mine"))
    assert like in content_of(copy).batches


def test_a_plan_for_some_of_the_fleet(results):
    """After clients have left, the plan is for those who stayed."""
    summary = read_summary(results / "summary.json")

    def larger(scenario, rounds):
        fleet = fleet_after(scenario, rounds)
        return fleet.subset(np.arange(len(fleet))[::-1])

    content = gather(results, summary, larger, no_spread)
    names = [node["name"] for node in content.graphs["sfl"]["nodes"]]
    assert names == sorted(names)
    assert set(content.batches) == set(THREE)


# -------------------------------------------------------------------------------------- pieces


def test_looks_are_those_of_the_scheme_and_others_get_what_is_left():
    assert looks_of(["sfl", "aa-hsfl-ll"]) == {"sfl": 1, "aa-hsfl-ll": 0}
    own = looks_of(["mine", "sfl", "yours"])
    assert len(set(own.values())) == 3
    many = looks_of([f"s{n}" for n in range(20)])
    assert set(many.values()) == set(range(LOOKS))


def test_elements_escape_what_is_text():
    made = element("p", "<b>", element("i", "&"), class_='"', hidden=True, x=1.5, y=None)
    assert made == '<p class="&quot;" hidden x="1.5">&lt;b&gt;<i>&amp;</i></p>'
    assert "<" not in as_data({"</script>": "&"})
