"""The timeline picture: complete, inside its frame, and honest about what it leaves out."""

from itertools import combinations, pairwise

import pytest

from tests.report.instances import (
    NASTY,
    Picture,
    edges,
    in_groups,
    make_fleet,
    make_timeline,
    overlap,
)
from tiercut.cost import SCHEMES, Placement
from tiercut.cost.timeline import Timeline
from tiercut.report.gantt import LANES_TOP, STRIP, draw_timeline

EVERY_WAY = [(scheme, model) for scheme in SCHEMES for model in ("paper", "network")]


def draw(count, groups, scheme="aa-hsfl-ll", model="paper", links="between", **options):
    fleet = make_fleet(count, links, options.pop("first", None))
    placement = in_groups(count, groups, scheme)
    timeline = make_timeline(fleet, placement, scheme, model)
    return timeline, Picture(draw_timeline(timeline, fleet, placement, title="A batch", **options))


def in_lanes(picture):
    return [(text, rect) for text, rect in picture.bars if edges(rect)[1] >= LANES_TOP]


def in_strip(picture):
    return [(text, rect) for text, rect in picture.bars if edges(rect)[1] == STRIP.top]


@pytest.mark.parametrize(("scheme", "model"), EVERY_WAY)
@pytest.mark.parametrize("links", ["between", "access"])
def test_every_event_that_takes_time_is_drawn_once(scheme, model, links):
    timeline, picture = draw(6, 2, scheme, model, links)
    bars = [e for e in timeline.events if e.end > e.start and e.kind not in ("send", "wait")]
    sends = [e for e in timeline.events if e.end > e.start and e.kind == "send"]
    assert len(in_lanes(picture)) == len(bars)
    assert len(picture.tooltips) == len(bars) + len(sends) + len(in_strip(picture))


@pytest.mark.parametrize(("scheme", "model"), EVERY_WAY)
@pytest.mark.parametrize(("count", "groups"), [(3, 1), (12, 3), (100, 7)])
def test_rectangles_lie_inside_the_picture_and_apart(scheme, model, count, groups):
    _, picture = draw(count, groups, scheme, model, "access")
    assert all(picture.holds(rect) for rect in picture.all("rect"))
    # Bars that would be too thin to see are drawn wider than they are, by at most 1.5 pixels.
    bars = [rect for _, rect in in_lanes(picture)]
    assert not any(overlap(a, b, slack=1.5) for a, b in combinations(bars, 2))


@pytest.mark.parametrize(("scheme", "model"), EVERY_WAY)
def test_the_critical_path_is_outlined_and_repeated_from_end_to_end(scheme, model):
    timeline, picture = draw(6, 2, scheme, model)
    path = [timeline.events[i] for i in timeline.critical_path()]
    lasting = [event for event in path if event.end > event.start]
    strip = in_strip(picture)
    assert [text.split(",")[0] for text, _ in strip] == [event.label for event in lasting]
    spans = [edges(rect) for _, rect in strip]
    for before, after in pairwise(spans):
        assert before[2] == pytest.approx(after[0], abs=0.05)
    outlined = [rect for _, rect in in_lanes(picture) if "critical" in rect.get("class")]
    arrows = [path for path in picture.all("path") if "critical" in path.get("class", "")]
    assert len(outlined) + len(arrows) == len(lasting)


def test_a_tooltip_tells_label_client_start_end_and_duration():
    fleet, placement = make_fleet(2), Placement.three_tiers(2, 4, [0, 0])
    timeline = Timeline()
    first = timeline.add("compute", 1, "FP 1..2", 1.5, client=1)
    timeline.add("send", 1, "activations h", 0.25, [first], client=1, peer=0)
    picture = Picture(draw_timeline(timeline, fleet, placement, title="Two events"))
    assert "FP 1..2, for client-2, on client-2: 0 ms to 1.5 s (1.5 s)" in picture.tooltips
    arrow = "activations h, for client-2, client-2 to client-1: 1.5 s to 1.75 s (250 ms)"
    assert arrow in picture.tooltips


def test_lanes_are_the_server_and_then_aggregators_with_their_clients():
    _, picture = draw(5, 2)
    named = [text for text in picture.texts if text == "server" or text.startswith("client-")]
    assert named[0] == "server"
    groups = [set(named[1:4]), set(named[4:6])]
    assert groups == [{"client-1", "client-3", "client-5"}, {"client-2", "client-4"}]
    assert (named[1], named[4]) == ("client-1", "client-2")


def test_a_small_fleet_is_drawn_whole():
    _, picture = draw(12, 3)
    assert "not drawn" not in " ".join(picture.texts)


def test_a_large_fleet_shows_the_critical_path_and_counts_the_rest():
    timeline, picture = draw(100, 3, most_lanes=8)
    says = " ".join(picture.texts)
    assert "92 of 100 clients are not drawn." in says
    assert "hosts 34 models, " in says
    lanes = {text for text in picture.texts if text.startswith("client-") and ":" not in text}
    assert len(lanes) == 8
    path = [timeline.events[i] for i in timeline.critical_path()]
    assert {f"client-{event.node + 1:03d}" for event in path if event.node >= 0} <= lanes
    assert len(in_strip(picture)) == sum(event.end > event.start for event in path)


def test_no_lane_for_a_client_without_its_aggregator():
    _, picture = draw(100, 3, most_lanes=1)
    assert "99 of 100 clients are not drawn." in " ".join(picture.texts)
    assert any(text.startswith("hosts") for text in picture.texts)


@pytest.mark.parametrize("scheme", ["aa-hsfl-ll", "sfl"])
def test_names_are_escaped(scheme):
    _, picture = draw(3, 1, scheme, first=NASTY)
    assert NASTY in picture.texts
    assert any(NASTY in text for text in picture.tooltips)


def test_long_names_are_cut():
    _, picture = draw(3, 1, first="n" * 500)
    assert all(len(text) < 150 for text in picture.texts)


def test_the_radio_is_a_thin_bar():
    _, picture = draw(3, 1, "aa-hsfl-ll", "network", "access")
    heights = {text.split(",")[0]: float(rect.get("height")) for text, rect in in_lanes(picture)}
    assert 0 < heights["radio busy"] < heights["FP 1..2"] / 2


def test_a_timeline_of_nothing_is_a_picture():
    fleet = make_fleet(2)
    picture = Picture(draw_timeline(Timeline(), fleet, in_groups(2, 1), title="Nothing"))
    assert "One batch takes 0 ms." in picture.texts


def test_an_unknown_transmission_is_drawn_and_explained():
    timeline = Timeline()
    timeline.add("send", 0, "weights up", 1.0, client=0)
    picture = Picture(draw_timeline(timeline, make_fleet(2), in_groups(2, 1), title="Weights"))
    assert "weights up" in picture.texts
