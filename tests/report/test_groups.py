"""Who serves whom, as a picture and as a table."""

import math
from itertools import combinations

import pytest
from rich.console import Console

from tests.report.instances import NASTY, Picture, in_groups, make_fleet, make_plan
from tiercut.cost import Placement
from tiercut.report.groups import MOST_CLIENTS_DRAWN, draw_groups, groups_table


def draw(count, groups, scheme="aa-hsfl-ll", first=None):
    fleet = make_fleet(count, "access", first)
    plan = make_plan(fleet, in_groups(count, groups, scheme), scheme)
    return plan, Picture(draw_groups(plan, fleet))


def rows_of(table):
    """The cells of a table, row by row."""
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    return list(zip(*columns, strict=True))


def nodes_of(picture):
    """The discs that stand for clients: those with a tooltip."""
    groups = [(group.find("{*}title"), group.find("{*}circle")) for group in picture.all("g")]
    return [(title.text, disc) for title, disc in groups if title is not None]


def touch(one, other):
    """Whether two discs do."""
    (x, y, r), (u, v, s) = ([float(c.get(key)) for key in ("cx", "cy", "r")] for c in (one, other))
    return math.dist((x, y), (u, v)) < r + s


@pytest.mark.parametrize(("count", "groups"), [(2, 1), (3, 1), (12, 3), (100, 1), (100, 40)])
@pytest.mark.parametrize("first", [None, "a name too long for a node"])
def test_every_client_is_one_node_inside_the_picture_and_apart_from_the_others(
    count, groups, first
):
    _, picture = draw(count, groups, first=first)
    discs = [disc for _, disc in nodes_of(picture)]
    assert len(discs) == count
    assert all(picture.holds(shape) for shape in [*discs, *picture.all("rect")])
    assert not any(touch(a, b) for a, b in combinations(discs, 2))


def test_the_caption_has_the_layers_and_the_seconds():
    _, picture = draw(12, 3)
    assert "AA HSFL-ll: 12 clients, 3 aggregators" in picture.texts
    assert any(text.startswith("h = 2, v = 4; a round takes ") for text in picture.texts)


def test_nodes_say_who_serves_them():
    _, picture = draw(12, 3)
    says = [text for text, _ in nodes_of(picture)]
    assert sum("aggregator of 4 models" in text for text in says) == 3
    assert sum("served by client-01" in text for text in says) == 3


def test_short_names_go_inside_and_their_start_is_said_once():
    _, picture = draw(12, 3)
    assert "07" in picture.texts
    assert "All names start with 'client-'." in picture.texts


def test_on_two_tiers_nobody_is_an_aggregator():
    _, picture = draw(5, 2, "sfl")
    assert "SFL: 5 clients, each on its own" in picture.texts
    assert any(text.startswith("v = 4;") for text in picture.texts)
    assert "aggregator" not in picture.texts


def test_clients_with_cuts_of_their_own_show_the_range():
    fleet = make_fleet(3)
    plan = make_plan(fleet, Placement.two_tiers([1, 3, 4]), "dtfl")
    assert any("v = 1 to 4" in text for text in Picture(draw_groups(plan, fleet)).texts)


def test_a_faster_node_is_larger_and_of_another_colour():
    _, picture = draw(3, 1)
    looks = {(disc.get("r"), disc.get("fill")) for _, disc in nodes_of(picture)}
    assert len(looks) == len({radius for radius, _ in looks}) == 2


def test_names_are_escaped_in_the_picture():
    _, picture = draw(3, 1, first=NASTY)
    assert NASTY in picture.texts
    assert any(text.startswith(NASTY) for text, _ in nodes_of(picture))


def test_a_larger_fleet_becomes_a_count_of_group_sizes():
    count = MOST_CLIENTS_DRAWN + 1
    _, picture = draw(count, 10)
    assert not picture.all("circle")
    assert [text for text, _ in picture.bars] == ["9 host 12", "1 host 13"]
    assert all(picture.holds(rect) for rect in picture.all("rect"))


def test_the_table_lists_aggregators_by_load():
    fleet = make_fleet(6)
    plan = make_plan(fleet, Placement.three_tiers(2, 4, [0, 1, 1, 0, 1, 5]))
    rows = rows_of(groups_table(plan, fleet))
    assert [(name, models, clients) for name, _, models, clients in rows] == [
        ("client-2", "3", "client-3, client-5"),
        ("client-1", "2", "client-4"),
        ("client-6", "1", "only itself"),
    ]
    assert all("FLOP/s" in throughput for _, throughput, _, _ in rows)


def test_of_two_with_as_many_models_the_slower_comes_first():
    fleet = make_fleet(12)
    plan = make_plan(fleet, in_groups(12, 12))
    throughput = dict(zip(fleet.names, fleet.throughput, strict=True))
    speeds = [throughput[row[0]] for row in rows_of(groups_table(plan, fleet))]
    assert speeds == sorted(speeds)


def test_the_table_counts_what_it_leaves_out():
    fleet = make_fleet(100)
    plan = make_plan(fleet, in_groups(100, 10))
    rows = rows_of(groups_table(plan, fleet, most=4))
    assert len(rows) == 5
    assert rows[0][3].endswith(" and 5 more")
    assert rows[-1] == ("and 6 more", "", "60", "")


def test_the_table_shows_names_as_they_are():
    fleet = make_fleet(3, first="[red]x\x1b[31m")
    plan = make_plan(fleet, in_groups(3, 1))
    console = Console(width=100)
    with console.capture() as shown:
        console.print(groups_table(plan, fleet))
    assert "[red]x\N{REPLACEMENT CHARACTER}[31m" in shown.get()


@pytest.mark.parametrize("groups", [1, 300_000])
def test_a_million_clients_are_drawn(groups):
    fleet = make_fleet(1_000_000, "access")
    plan = make_plan(fleet, in_groups(1_000_000, groups))
    Picture(draw_groups(plan, fleet))
    rows = rows_of(groups_table(plan, fleet))
    assert len(rows) == min(groups, 16)
