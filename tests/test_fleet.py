"""Fleets: sampled as the paper does, or read from a file that is checked to the last number."""

import copy
import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tiercut.documents import to_json, write_text
from tiercut.errors import InputError
from tiercut.fleet import (
    Access,
    Between,
    Fleet,
    build_fleet,
    fleet_from_dict,
    read_fleet,
    sample_fleet,
)
from tiercut.scenario import FleetSection
from tiercut.seeds import Seeds

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

NAN, INF = float("nan"), float("inf")
HUGE = 10**400
"""A whole number that no float can hold; 1e999 in a file reads as infinity."""

BETWEEN = {
    "version": 1,
    "server": {"throughput": 2e11},
    "clients": [
        {"name": "a", "throughput": 1e9, "examples": 500},
        {"name": "b", "throughput": 2e9, "examples": 400},
        {"name": "c", "throughput": 3e9, "examples": 300},
    ],
    "links": {
        "to_server": [1e6, 2e6, 3e6],
        "between": [[None, 5e6, None], [5e6, None, 7e6], [None, 7e6, None]],
    },
}
ACCESS = {**BETWEEN, "links": {"to_server": [1e6, 2e6, 3e6], "access": [4e6, 5e6, 6e6]}}


def changed(path, value, start=BETWEEN):
    """The fleet file with one value replaced."""
    data = copy.deepcopy(start)
    here = data
    for part in path[:-1]:
        here = here[part]
    here[path[-1]] = value
    return data


def without(path, start=BETWEEN):
    """The fleet file with one key removed."""
    data = copy.deepcopy(start)
    here = data
    for part in path[:-1]:
        here = here[part]
    del here[path[-1]]
    return data


def refusal(data):
    with pytest.raises(InputError) as refused:
        fleet_from_dict(data, "fleet.json")
    file, _, rest = str(refused.value).partition(": ")
    assert file == "fleet.json"
    return rest


def indices(*numbers):
    return np.array(numbers)


# ---------------------------------------------------------------- a good file


def test_a_fleet_file_becomes_columns():
    fleet = fleet_from_dict(BETWEEN, "fleet.json")
    assert len(fleet) == 3
    assert fleet.names == ("a", "b", "c")
    assert fleet.throughput.tolist() == [1e9, 2e9, 3e9]
    assert fleet.examples.tolist() == [500, 400, 300]
    assert fleet.server_throughput == 2e11
    assert fleet.to_server.tolist() == [1e6, 2e6, 3e6]
    assert (fleet.throughput.dtype, fleet.examples.dtype) == (np.float64, np.int64)


def test_null_means_no_link_and_a_client_reaches_itself_at_once():
    links = fleet_from_dict(BETWEEN, "fleet.json").links
    everybody = np.arange(3)
    assert links.pairs(indices(0, 0, 0, 1), indices(0, 1, 2, 2)).tolist() == [INF, 5e6, 0, 7e6]
    assert links.block(everybody, everybody).tolist() == [
        [INF, 5e6, 0],
        [5e6, INF, 7e6],
        [0, 7e6, INF],
    ]
    assert not links.shared


def test_access_rates_mean_the_slower_of_the_two_ends():
    links = fleet_from_dict(ACCESS, "fleet.json").links
    everybody = np.arange(3)
    assert links.pairs(indices(0, 0, 2, 1), indices(0, 1, 1, 2)).tolist() == [INF, 4e6, 5e6, 5e6]
    assert links.block(everybody, everybody).tolist() == [
        [INF, 4e6, 4e6],
        [4e6, INF, 5e6],
        [4e6, 5e6, INF],
    ]
    assert links.shared


@pytest.mark.parametrize("start", [BETWEEN, ACCESS], ids=["between", "access"])
def test_blocks_and_pairs_agree_on_any_rows_and_columns(start):
    links = fleet_from_dict(start, "fleet.json").links
    rows, columns = indices(2, 0), indices(1, 2, 0, 2)
    block = links.block(rows, columns)
    for i, row in enumerate(rows):
        assert block[i].tolist() == links.pairs(np.full(4, row), columns).tolist()


def test_reading_a_block_leaves_the_fleet_as_it_was():
    fleet = fleet_from_dict(BETWEEN, "fleet.json")
    before = fleet.to_dict()
    fleet.links.block(np.arange(3), np.arange(3))[:] = 1
    assert fleet.to_dict() == before


def test_whole_numbers_are_as_good_as_fractions():
    fleet = fleet_from_dict(changed(("links", "to_server"), [1, 2, 3]), "fleet.json")
    assert fleet.to_server.tolist() == [1.0, 2.0, 3.0]


def test_the_diagonal_of_between_is_ignored():
    for value in (1, 0, None, -3.0, NAN, INF, HUGE):
        links = fleet_from_dict(changed(("links", "between", 1, 1), value), "fleet.json").links
        assert links.pairs(indices(1), indices(1)) == INF


def test_a_null_beside_the_chosen_kind_of_links_is_as_good_as_nothing():
    fleet = fleet_from_dict(changed(("links", "between"), None, ACCESS), "fleet.json")
    assert isinstance(fleet.links, Access)


def test_rates_that_differ_in_the_last_digit_count_as_symmetric():
    fleet_from_dict(changed(("links", "between", 0, 1), 5e6 * (1 + 1e-12)), "fleet.json")


def test_one_client_alone_is_a_fleet():
    data = {
        "version": 1,
        "server": {"throughput": 1},
        "clients": [{"name": "a", "throughput": 1, "examples": 1}],
        "links": {"to_server": [1], "between": [[None]]},
    }
    fleet = fleet_from_dict(data, "fleet.json")
    assert len(fleet) == 1
    assert fleet_from_dict(fleet.to_dict(), "again").to_dict() == fleet.to_dict()


def test_the_columns_cannot_be_written_to():
    fleet = fleet_from_dict(BETWEEN, "fleet.json")
    columns = fleet.throughput, fleet.examples, fleet.to_server, fleet.links.rates
    for column in columns:
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


# ---------------------------------------------------------------- round trips


positive = st.floats(5e-324, 1e300)


@st.composite
def fleets(draw):
    count = draw(st.integers(1, 6))

    def several(values):
        return draw(st.lists(values, min_size=count, max_size=count))

    names = draw(
        st.lists(
            st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
            min_size=count,
            max_size=count,
            unique=True,
        )
    )
    if draw(st.booleans()):
        links = Access(np.array(several(positive)))
    else:
        upper = np.triu_indices(count, 1)
        matrix = np.zeros((count, count))
        size = len(upper[0])
        matrix[upper] = draw(st.lists(positive | st.just(0.0), min_size=size, max_size=size))
        links = Between(matrix + matrix.T)
    return Fleet(
        tuple(names),
        np.array(several(positive)),
        np.array(several(st.integers(1, 10**15))),
        draw(positive),
        np.array(several(positive)),
        links,
    )


@given(fleets())
@relaxed
def test_a_fleet_written_and_read_is_the_same_fleet(tmp_path, fleet):
    write_text(tmp_path / "fleet.json", to_json(fleet.to_dict()))
    read = read_fleet(tmp_path / "fleet.json")
    assert read.to_dict() == fleet.to_dict()
    assert read.names == fleet.names
    assert read.throughput.tolist() == fleet.throughput.tolist()
    assert read.examples.tolist() == fleet.examples.tolist()
    assert read.to_server.tolist() == fleet.to_server.tolist()
    assert type(read.links) is type(fleet.links)
    assert read.links.rates.tolist() == fleet.links.rates.tolist()


@given(data=st.data())
@relaxed
def test_a_subset_keeps_each_clients_own_numbers(data):
    fleet = data.draw(fleets())
    count = len(fleet)
    kept = data.draw(st.lists(st.integers(0, count - 1), min_size=1, unique=True))
    part = fleet.subset(np.array(kept))
    assert part.names == tuple(fleet.names[n] for n in kept)
    assert part.server_throughput == fleet.server_throughput
    for column in ("throughput", "examples", "to_server"):
        assert getattr(part, column).tolist() == [getattr(fleet, column)[n] for n in kept]
    mine, theirs = np.arange(len(kept)), np.array(kept)
    assert part.links.block(mine, mine).tolist() == fleet.links.block(theirs, theirs).tolist()


@given(fleet=fleets(), batch=st.integers(1, 10**16))
@relaxed
def test_batches_per_epoch_is_the_largest_ceiling(fleet, batch):
    ceilings = [-(-int(examples) // batch) for examples in fleet.examples]
    assert fleet.batches_per_epoch(batch) == max(ceilings)


@given(fleet=fleets(), batch=st.integers(1, 10**16), portions=st.integers(1, 10**16))
@relaxed
def test_portions_take_no_more_batches_than_a_share_of_all(fleet, batch, portions):
    most = int(fleet.examples.max())
    found = fleet.batches_per_epoch(batch, portions)
    assert 1 <= found <= -(-max(most, portions) // (portions * batch)) + 1
    assert found * batch * portions > most - portions


# ---------------------------------------------------------------- files as a whole


def test_a_missing_file_is_named_with_the_nearest_one(tmp_path):
    (tmp_path / "fleet.json").write_text("{}")
    with pytest.raises(InputError, match=r"fleets.json: there is no such file \(did you mean"):
        read_fleet(tmp_path / "fleets.json")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "the file is empty"),
        ("  \n", "the file is empty"),
        ("fleet", "this is not JSON: "),
        ("{'version': 1}", "this is not JSON: "),
        ("[1]", "a fleet is a JSON object; found [1]"),
        ("null", "a fleet is a JSON object; found null"),
        ("3", "a fleet is a JSON object; found 3"),
        ('"fleet"', 'a fleet is a JSON object; found "fleet"'),
        ("{}", "version is null; this tiercut reads version 1 of a fleet"),
        ('{"version": 2}', "version is 2; this tiercut reads version 1 of a fleet"),
    ],
)
def test_a_file_that_is_no_fleet_is_refused(tmp_path, content, expected):
    path = tmp_path / "fleet.json"
    path.write_text(content)
    with pytest.raises(InputError) as refused:
        read_fleet(path)
    assert str(refused.value).startswith(f"{path}: {expected}")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400])
@pytest.mark.parametrize("key", ["to_server", "access"])
def test_numbers_that_are_none_are_refused_in_the_text_of_a_file(tmp_path, number, key):
    text = json.dumps(changed(("links", key, 1), 987654321, ACCESS)).replace("987654321", number)
    path = tmp_path / "fleet.json"
    path.write_text(text)
    with pytest.raises(InputError, match=rf"links.{key}\[1\] is .*; expected a positive, finite"):
        read_fleet(path)


@pytest.mark.parametrize("version", [0, 2, "1", None, True, 1.0, NAN, [1]])
def test_another_version_is_refused(version):
    assert refusal(changed(("version",), version)).startswith("version is ")


# ---------------------------------------------------------------- keys and their values


@pytest.mark.parametrize(
    "path",
    [
        ("server",),
        ("server", "throughput"),
        ("clients",),
        ("clients", 1, "name"),
        ("clients", 1, "throughput"),
        ("clients", 1, "examples"),
        ("links",),
        ("links", "to_server"),
    ],
)
def test_a_missing_key_is_named(path):
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    assert refusal(without(path)) == f"{key[1:]} is missing"


@pytest.mark.parametrize(
    ("path", "shown", "nearest"),
    [
        (("severs",), "severs", "server"),
        (("client",), "client", "clients"),
        (("server", "througput"), "server.througput", "throughput"),
        (("clients", 2, "exmples"), "clients[2].exmples", "examples"),
        (("clients", 0, "Name"), "clients[0].Name", "name"),
        (("links", "to_sever"), "links.to_sever", "to_server"),
        (("links", "acess"), "links.acess", "access"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_spelling(path, shown, nearest):
    found = refusal(changed(path, 1))
    assert found.startswith(f"unknown key {shown} (did you mean '{nearest}'?); expected ")


@pytest.mark.parametrize("value", [0, -1, NAN, INF, -INF, HUGE, "1e9", True, None, [1e9], {}])
@pytest.mark.parametrize(
    ("path", "key"),
    [
        (("server", "throughput"), "server.throughput"),
        (("clients", 1, "throughput"), "clients[1].throughput"),
    ],
)
def test_a_throughput_is_a_positive_finite_number(path, key, value):
    assert refusal(changed(path, value)).startswith(f"{key} is ")


@pytest.mark.parametrize("value", [0, -1, 1.5, 5.0, NAN, INF, 10**16, 2**63, HUGE, "5", True, None])
def test_examples_are_a_whole_number_from_1(value):
    found = refusal(changed(("clients", 0, "examples"), value))
    assert found.startswith("clients[0].examples is ")


@pytest.mark.parametrize("value", ["", 3, None, ["a"], True])
def test_a_name_is_a_text_with_something_in_it(value):
    assert refusal(changed(("clients", 0, "name"), value)).startswith("clients[0].name is ")


@pytest.mark.parametrize("value", [[], {}, "abc", 3, None])
def test_clients_are_a_list_of_at_least_one(value):
    assert refusal(changed(("clients",), value)).startswith("clients is ")


@pytest.mark.parametrize("path", [("server",), ("clients", 0), ("links",)])
@pytest.mark.parametrize("value", [3, "x", [], None])
def test_a_table_is_no_other_thing(path, value):
    assert refusal(changed(path, value)).endswith("; expected a table of keys")


def test_two_clients_of_one_name_are_both_pointed_at():
    found = refusal(changed(("clients", 2, "name"), "a"))
    assert found.startswith("clients[0] and clients[2] are both named 'a'; expected ")


# ---------------------------------------------------------------- links


def test_links_need_one_of_between_and_access():
    assert refusal(without(("links", "between"))) == (
        "links has neither of between and access; expected one of them"
    )
    assert refusal(changed(("links", "access"), [1, 2, 3])) == (
        "links has both of between and access; expected one of them"
    )
    assert refusal(changed(("links", "between"), None)).startswith("links has neither of")


@pytest.mark.parametrize("key", ["to_server", "access"])
@pytest.mark.parametrize("value", [0, -1, NAN, INF, HUGE, -HUGE, None])
def test_a_rate_is_positive_and_finite(key, value):
    found = refusal(changed(("links", key, 2), value, ACCESS))
    assert found.startswith(f"links.{key}[2] is ")
    assert "; expected a positive, finite number of bytes" in found


@pytest.mark.parametrize("key", ["to_server", "access"])
@pytest.mark.parametrize("value", ["5", True, False, [5], {}])
def test_a_rate_is_a_number(key, value):
    found = refusal(changed(("links", key, 1), value, ACCESS))
    assert found.startswith(f"links.{key}[1] is {json.dumps(value)}; expected a number")


@pytest.mark.parametrize(("value", "shown"), [([1, 2], "has 2 entries"), ([], "has 0 entries")])
@pytest.mark.parametrize("key", ["to_server", "access"])
def test_there_is_one_rate_per_client(key, value, shown):
    found = refusal(changed(("links", key), value, ACCESS))
    assert found == f"links.{key} {shown}; expected 3 numbers, one per client"


@pytest.mark.parametrize("key", ["to_server", "access"])
@pytest.mark.parametrize("value", [5, "5", {"a": 1}, True])
def test_rates_are_a_list(key, value):
    found = refusal(changed(("links", key), value, ACCESS))
    assert found == f"links.{key} is {json.dumps(value)}; expected 3 numbers, one per client"


@pytest.mark.parametrize("value", [0, -1, NAN, INF, HUGE])
def test_a_rate_between_clients_is_positive_or_null(value):
    found = refusal(changed(("links", "between", 1, 2), value))
    assert found.startswith("links.between[1][2] is ")
    assert found.endswith("; write null where there is no direct link")


@pytest.mark.parametrize("value", ["5", True, [5]])
@pytest.mark.parametrize("column", [1, 2])
def test_a_rate_between_clients_is_a_number(column, value):
    found = refusal(changed(("links", "between", 1, column), value))
    assert found.startswith(f"links.between[1][{column}] is {json.dumps(value)}; expected a number")


@pytest.mark.parametrize("rows", [[], [[None]], BETWEEN["links"]["between"][:2], 3, "x", {}])
def test_between_has_one_row_per_client(rows):
    found = refusal(changed(("links", "between"), rows))
    assert found.startswith("links.between ")
    assert found.endswith("; expected 3 rows, one per client")


@pytest.mark.parametrize("row", [[], [1, None], [1, None, 1, 1], 3, None, "abc"])
def test_every_row_of_between_has_one_rate_per_client(row):
    found = refusal(changed(("links", "between", 1), row))
    assert found.startswith("links.between[1] ")
    assert found.endswith("; expected 3 numbers, one per client")


def test_small_rates_that_differ_by_direction_are_refused_too():
    slow = [[None, 0.5, None], [0.6, None, 7e6], [None, 7e6, None]]
    assert refusal(changed(("links", "between"), slow)).startswith("links.between is not symmetric")


@pytest.mark.parametrize(("value", "shown"), [(6e6, "6e+06"), (None, "0")])
def test_rates_that_differ_by_direction_are_refused(value, shown):
    found = refusal(changed(("links", "between", 0, 1), value))
    assert found.startswith(f"links.between is not symmetric: links.between[0][1] is {shown} and ")


# ---------------------------------------------------------------- sampled fleets


sections = st.builds(
    FleetSection,
    clients=st.integers(1, 40),
    examples=st.integers(1, 1000),
    strong_fraction=st.floats(0, 1),
    gamma=st.floats(1.001, 50),
    weak=st.floats(1e6, 1e12),
    server=st.floats(1e6, 1e12),
    links=st.sampled_from(["between", "access"]),
    rates=st.tuples(st.floats(1, 1e9), st.floats(1, 1e9)).map(sorted).map(tuple),
)


@given(section=sections, root=st.integers(0, 1000))
@relaxed
def test_the_same_seed_gives_the_same_fleet(section, root):
    first, second = (sample_fleet(section, Seeds(root)).to_dict() for _ in range(2))
    assert first == second


def test_another_seed_gives_another_fleet():
    first, second = (sample_fleet(FleetSection(), Seeds(root)).to_dict() for root in (1, 2))
    assert first["clients"] != second["clients"]
    assert first["links"]["to_server"] != second["links"]["to_server"]
    assert first["links"]["between"] != second["links"]["between"]


@given(section=sections, root=st.integers(0, 1000))
@relaxed
def test_the_asked_share_of_clients_is_gamma_times_as_fast(section, root):
    throughput = sample_fleet(section, Seeds(root)).throughput
    strong = throughput == section.weak * section.gamma
    assert abs(strong.sum() - section.strong_fraction * section.clients) <= 0.5 + 1e-9
    assert (throughput[~strong] == section.weak).all()


def test_three_in_ten_of_the_papers_clients_are_strong():
    throughput = sample_fleet(FleetSection(), Seeds(0)).throughput
    assert (throughput > 30e9).sum() == 30
    assert sorted(set(throughput)) == pytest.approx([4.8e9, 35.2e9])


@pytest.mark.parametrize("links", ["between", "access"])
@given(root=st.integers(0, 1000))
@relaxed
def test_rates_are_in_range_and_symmetric(links, root):
    section = FleetSection(clients=12, links=links, rates=(100.0, 200.0))
    fleet = sample_fleet(section, Seeds(root))
    everybody = np.arange(12)
    block = fleet.links.block(everybody, everybody)
    others = block[~np.eye(12, dtype=bool)]
    assert (block == block.T).all()
    assert np.isinf(block.diagonal()).all()
    assert ((others >= 100) & (others <= 200)).all()
    assert ((fleet.to_server >= 100) & (fleet.to_server <= 200)).all()


def test_sampled_rates_are_spread_over_their_range():
    rates = sample_fleet(FleetSection(clients=200, rates=(100.0, 200.0)), Seeds(3)).links.rates
    drawn = rates[np.triu_indices(200, 1)]
    assert len(set(drawn)) == len(drawn)
    assert (drawn.mean(), drawn.std()) == pytest.approx((150, 100 / math.sqrt(12)), abs=1)


def test_a_range_of_throughputs_replaces_strong_and_weak():
    section = FleetSection(clients=300, throughput=(10.0, 20.0))
    throughput = sample_fleet(section, Seeds(0)).throughput
    assert ((throughput >= 10) & (throughput <= 20)).all()
    assert throughput.mean() == pytest.approx(15, abs=0.6)
    assert len(set(throughput)) == 300


@given(section=sections, root=st.integers(0, 1000))
@relaxed
def test_a_sampled_fleet_is_a_fleet_file(section, root):
    fleet = sample_fleet(section, Seeds(root))
    read = fleet_from_dict(json.loads(to_json(fleet.to_dict())), "sampled")
    assert read.to_dict() == fleet.to_dict()
    assert read.examples.tolist() == [section.examples] * section.clients
    assert read.server_throughput == section.server


def test_the_kind_of_links_does_not_change_the_devices():
    first, second = (
        sample_fleet(FleetSection(links=links), Seeds(5)) for links in ("between", "access")
    )
    assert first.throughput.tolist() == second.throughput.tolist()
    assert first.to_server.tolist() == second.to_server.tolist()
    assert (first.links.shared, second.links.shared) == (False, True)


def test_names_sort_as_the_clients_stand():
    names = sample_fleet(FleetSection(clients=100), Seeds(0)).names
    assert names[0] == "client-001"
    assert list(names) == sorted(names)


def test_a_scenario_with_a_fleet_file_reads_it_and_samples_nothing(tmp_path):
    write_text(tmp_path / "fleet.json", to_json(BETWEEN))
    fleet = build_fleet(FleetSection(file=tmp_path / "fleet.json", clients=50), Seeds(0))
    assert fleet.names == ("a", "b", "c")


def test_a_scenario_without_a_fleet_file_samples_one():
    section = FleetSection(clients=5)
    sampled = sample_fleet(section, Seeds(4)).to_dict()
    assert build_fleet(section, Seeds(4)).to_dict() == sampled
