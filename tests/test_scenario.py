"""The scenario file: what it may say, its defaults, and how wrong files are refused."""

import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tiercut.documents import check
from tiercut.errors import InputError
from tiercut.scenario import FleetSection, PlanSection, Scenario, TrainingSection, read_scenario

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

SMALLEST = 'name = "smallest"\n[model]\nname = "alexnet"\n'
TOO_LARGE = "9" * 400
"""A whole number that no float can hold."""


@pytest.fixture
def scenario(tmp_path):
    """Reads a scenario from the text of its file."""

    def read(text):
        path = tmp_path / "scenario.toml"
        path.write_text(text, encoding="utf-8")
        return read_scenario(path)

    return read


@pytest.fixture
def refusal(scenario, tmp_path):
    """The message a wrong text is refused with, which always starts with the file's path."""

    def read(text):
        with pytest.raises(InputError) as refused:
            scenario(text)
        file, _, rest = str(refused.value).partition(": ")
        assert file == str(tmp_path / "scenario.toml")
        return rest

    return read


# ---------------------------------------------------------------- what it may say


def test_the_smallest_file_gets_the_papers_setting(scenario):
    read = scenario(SMALLEST)
    assert (read.name, read.seed, read.model.name) == ("smallest", 0, "alexnet")
    assert (read.fleet, read.training, read.plan) == (
        FleetSection(),
        TrainingSection(),
        PlanSection(),
    )
    assert (read.fleet.clients, read.fleet.examples, read.fleet.links) == (100, 500, "between")
    assert read.fleet.strong_fraction == 0.3
    assert read.fleet.weak == pytest.approx(4.8e9)
    assert read.fleet.weak * read.fleet.gamma == pytest.approx(35.2e9)
    assert read.fleet.server == pytest.approx(200e9)
    assert read.fleet.rates == (2_500_000, 3_125_000)
    assert (read.training.batch, read.training.epochs) == (32, 3)
    assert (read.plan.solver, read.plan.cost, read.plan.cuts) == ("exact", "paper", None)


def test_every_key_of_the_file_arrives(scenario, tmp_path):
    read = scenario("""
        name = "full"
        seed = 7
        [model]
        name = "own.module:build"
        profile = "profiles/own.json"
        input_shape = [1, 28, 28]
        [fleet]
        file = "fleet.json"
        clients = 12
        examples = 600
        flop_per_cycle = 4
        strong_fraction = 0.25
        gamma = 3
        weak = "1 GHz"
        throughput = ["1 GHz", "5 GFLOP/s"]
        server = "10 GHz"
        links = "access"
        rates = ["5 Mbps", 1000000]
        [training]
        batch = 16
        epochs = 1
        [plan]
        solver = "paper"
        cost = "network"
        cuts = [3, 5]
        """)
    assert (read.seed, read.model.input_shape) == (7, (1, 28, 28))
    assert read.model.profile == tmp_path / "profiles" / "own.json"
    assert read.fleet == FleetSection(
        file=tmp_path / "fleet.json",
        clients=12,
        examples=600,
        flop_per_cycle=4.0,
        strong_fraction=0.25,
        gamma=3.0,
        weak=4e9,
        throughput=(4e9, 5e9),
        server=40e9,
        links="access",
        rates=(625_000.0, 1_000_000.0),
    )
    assert read.training == TrainingSection(batch=16, epochs=1)
    assert read.plan == PlanSection(solver="paper", cost="network", cuts=(3, 5))


def test_paths_are_relative_to_the_file_and_absolute_ones_stay(scenario, tmp_path):
    read = scenario(SMALLEST + 'profile = "../p.json"\n[fleet]\nfile = "/etc/fleet.json"\n')
    assert read.model.profile == tmp_path / ".." / "p.json"
    assert read.fleet.file == Path("/etc/fleet.json")


def test_flop_per_cycle_counts_for_the_default_clock_rates_too(scenario):
    fleet = scenario(SMALLEST + "[fleet]\nflop_per_cycle = 4\n").fleet
    assert (fleet.weak, fleet.server) == pytest.approx((9.6e9, 400e9))


def test_flop_per_cycle_leaves_throughputs_in_flop_alone(scenario):
    text = '[fleet]\nweak = "1 GFLOP/s"\nserver = 5e9\nflop_per_cycle = 4\n'
    fleet = scenario(SMALLEST + text).fleet
    assert (fleet.weak, fleet.server) == (1e9, 5e9)


def test_the_ends_of_every_range_are_still_good(scenario):
    read = scenario(f"""
        seed = 0
        {SMALLEST}
        [fleet]
        clients = 1
        examples = 1
        strong_fraction = 1
        gamma = 1
        rates = [5, 5]
        throughput = [5, 5]
        [training]
        batch = 1
        epochs = 1
        [plan]
        cuts = [3]
        """)
    assert (read.fleet.clients, read.fleet.examples, read.fleet.rates) == (1, 1, (5, 5))
    assert (read.training.batch, read.training.epochs, read.plan.cuts) == (1, 1, (3,))
    assert scenario(SMALLEST + "[fleet]\nstrong_fraction = 0").fleet.strong_fraction == 0


positive = st.floats(1e-3, 1e15)
ranges = st.tuples(positive, positive).map(sorted).map(tuple)


@given(
    section=st.builds(
        FleetSection,
        clients=st.integers(1, 10**6),
        examples=st.integers(1, 10**9),
        flop_per_cycle=st.floats(0.1, 100),
        strong_fraction=st.floats(0, 1),
        gamma=st.floats(1, 1e3),
        weak=positive,
        throughput=st.none() | ranges,
        server=positive,
        links=st.sampled_from(["between", "access"]),
        rates=ranges,
    ),
    seed=st.integers(0, 2**63 - 1),
)
@relaxed
def test_a_fleet_section_written_as_toml_reads_back_equal(scenario, section, seed):
    def toml(value):
        return str(list(value)) if isinstance(value, tuple) else repr(value)

    given_keys = section.model_dump(exclude_none=True)
    lines = [f"{key} = {toml(value)}" for key, value in given_keys.items()]
    text = f"seed = {seed}\n{SMALLEST}[fleet]\n" + "\n".join(lines)
    read = scenario(text.replace("'", '"'))
    assert (read.seed, read.fleet) == (seed, section)


# ---------------------------------------------------------------- how it is refused


def test_a_missing_file_is_named_with_the_nearest_one(tmp_path):
    (tmp_path / "demo.toml").write_text(SMALLEST)
    with pytest.raises(InputError, match=r"demoo.toml: there is no such file \(did you mean"):
        read_scenario(tmp_path / "demoo.toml")


@pytest.mark.parametrize("text", ["", "\n  \n"])
def test_an_empty_file_is_refused(refusal, text):
    assert refusal(text) == "the file is empty"


@pytest.mark.parametrize("text", ["{}", "name", 'name = "a', '{"name": "json"}', "a = 1\na = 2"])
def test_what_is_not_toml_is_refused(refusal, text):
    assert refusal(text).startswith("this is not TOML: ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[model]\nname = "a"', "name is missing"),
        ('name = "a"', "model is missing"),
        ('name = "a"\n[model]', "model.name is missing"),
    ],
)
def test_a_missing_key_is_named(refusal, text, expected):
    assert refusal(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sede = 1\n" + SMALLEST, "unknown key sede (did you mean 'seed'?); expected name, "),
        (SMALLEST + "[flet]", "unknown key flet (did you mean 'fleet'?); expected name, "),
        (SMALLEST + "profil = 1", "unknown key model.profil (did you mean 'profile'?); "),
        (SMALLEST + "[fleet]\nclient = 1", "unknown key fleet.client (did you mean 'clients'?); "),
        (SMALLEST + "[training]\nepoch = 1", "unknown key training.epoch (did you mean 'epochs'?)"),
        (SMALLEST + "[plan]\ncut = [3]", "unknown key plan.cut (did you mean 'cuts'?); "),
        (SMALLEST + "[fleet]\nzzz = 1", "unknown key fleet.zzz; expected file, clients, "),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_spelling(refusal, text, expected):
    assert refusal(text).startswith(expected)


@pytest.mark.parametrize("key", ["clients", "examples"])
@pytest.mark.parametrize("value", ["0", "-1", "1.0", "1.5", '"3"', "true", "nan", "inf", "[1]"])
def test_a_number_of_things_is_a_whole_number_from_1(refusal, key, value):
    assert refusal(f"{SMALLEST}[fleet]\n{key} = {value}").startswith(f"fleet.{key} is ")


@pytest.mark.parametrize("key", ["batch", "epochs"])
@pytest.mark.parametrize("value", ["0", "-1", "1.0", '"3"', "true", "nan"])
def test_batch_and_epochs_are_whole_numbers_from_1(refusal, key, value):
    assert refusal(f"{SMALLEST}[training]\n{key} = {value}").startswith(f"training.{key} is ")


@pytest.mark.parametrize("value", ["-1", "1.5", "true", '"1"', "nan"])
def test_a_seed_is_a_whole_number_from_0(refusal, value):
    assert refusal(f"seed = {value}\n{SMALLEST}").startswith("seed is ")


@pytest.mark.parametrize("key", ["fleet.examples", "training.batch", "training.epochs"])
@pytest.mark.parametrize("count", [10**16, 2**63, 10**30])
def test_more_than_can_be_counted_in_64_bits_is_refused(refusal, key, count):
    section, name = key.split(".")
    found = refusal(f"{SMALLEST}[{section}]\n{name} = {count}")
    assert found.startswith(f"{key} is {count}; expected less than")


BAD_NUMBERS = ["nan", "inf", "-inf", "1e999", "-1", "true", TOO_LARGE]


@pytest.mark.parametrize("key", ["strong_fraction", "gamma", "flop_per_cycle"])
@pytest.mark.parametrize("value", [*BAD_NUMBERS, '"0.5"'])
def test_a_plain_number_is_finite_and_in_its_range(refusal, key, value):
    assert refusal(f"{SMALLEST}[fleet]\n{key} = {value}").startswith(f"fleet.{key} is ")


@pytest.mark.parametrize(
    ("key", "value"), [("strong_fraction", "1.01"), ("gamma", "0.99"), ("flop_per_cycle", "0")]
)
def test_a_number_just_out_of_its_range_is_refused(refusal, key, value):
    assert refusal(f"{SMALLEST}[fleet]\n{key} = {value}").startswith(f"fleet.{key} is ")


@pytest.mark.parametrize("key", ["weak", "server"])
@pytest.mark.parametrize(
    "value", [*BAD_NUMBERS, "0", '"-1 GHz"', '"0 GHz"', '"fast"', '"1 Mbps"', '"1e999 Hz"', "[1]"]
)
def test_a_throughput_is_positive_finite_and_in_its_units(refusal, key, value):
    assert refusal(f"{SMALLEST}[fleet]\n{key} = {value}").startswith(f"fleet.{key}")


@pytest.mark.parametrize("key", ["rates", "throughput"])
@pytest.mark.parametrize(
    "value",
    [
        *(f"[{number}, {number}]" for number in BAD_NUMBERS),
        "[0, 1]",
        "[1]",
        "[]",
        "[1, 2, 3]",
        "1",
        '"1"',
        "true",
        '["1 parsec", 2]',
        '["1 s", "2 s"]',
    ],
)
def test_a_range_is_two_positive_finite_quantities(refusal, key, value):
    found = refusal(f"{SMALLEST}[fleet]\n{key} = {value}")
    assert f"fleet.{key}" in found or found.startswith(f"fleet: {key} runs from ")


@pytest.mark.parametrize("key", ["rates", "throughput"])
def test_a_range_runs_upwards(refusal, key):
    found = refusal(f"{SMALLEST}[fleet]\n{key} = [2, 1]")
    assert found == f"fleet: {key} runs from 2 to 1; expected low, high"


def test_a_unit_of_another_spelling_is_offered(refusal):
    found = refusal(f'{SMALLEST}[fleet]\nrates = ["20 mbps", "25 Mbps"]')
    assert found.startswith("fleet.rates[0]: '20 mbps' has the unknown unit 'mbps' (did you mean")
    assert "'Mbps'?)" in found


@pytest.mark.parametrize(
    ("section", "key", "value", "nearest"),
    [("plan", "cost", "papper", "paper"), ("fleet", "links", "acess", "access")],
)
def test_a_choice_is_refused_with_the_nearest_one(refusal, section, key, value, nearest):
    found = refusal(f'{SMALLEST}[{section}]\n{key} = "{value}"')
    assert found.startswith(f'{section}.{key} is "{value}"; expected ')
    assert found.endswith(f"(did you mean '{nearest}'?)")


@pytest.mark.parametrize("value", ["[]", "[2.0]", '["3"]', "[true]", "3", '"3"', "{}"])
def test_cuts_are_a_list_of_whole_numbers(refusal, value):
    assert refusal(f"{SMALLEST}[plan]\ncuts = {value}").startswith("plan.cuts")


@pytest.mark.parametrize("value", ["[1.0]", '["1"]', "[true]", "3"])
def test_an_input_shape_is_a_list_of_whole_numbers(refusal, value):
    assert refusal(f"{SMALLEST}input_shape = {value}").startswith("model.input_shape")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SMALLEST + "profile = 3", "model.profile is 3; expected a path"),
        (SMALLEST + "[fleet]\nfile = true", "fleet.file is true; expected a path"),
        ('name = 3\n[model]\nname = "a"', "name is 3; expected a valid string"),
        ('name = "a"\n[model]\nname = 3', "model.name is 3; expected a valid string"),
        ('name = "a"\nmodel = "a"', 'model is "a"; expected a table of keys'),
        ('fleet = "f.json"\n' + SMALLEST, 'fleet is "f.json"; expected a table of keys'),
        ("fleet = [1]\n" + SMALLEST, "fleet is [1]; expected a table of keys"),
        (SMALLEST + "[plan]\nsolver = 1", "plan.solver is 1; expected a valid string"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(refusal, text, expected):
    assert refusal(text) == expected


def test_two_wrong_keys_are_both_named(refusal, tmp_path):
    found = refusal(f"seed = -1\n{SMALLEST}[training]\nbatch = 0")
    assert "seed is -1" in found
    assert f"\n{tmp_path / 'scenario.toml'}: training.batch is 0" in found


def test_a_scenario_cannot_be_changed(scenario):
    with pytest.raises(ValueError, match="frozen"):
        scenario(SMALLEST).seed = 3


def test_the_values_are_checked_in_the_library_too():
    with pytest.raises(ValueError, match="finite"):
        FleetSection(gamma=math.nan)
    with pytest.raises(ValueError, match="missing"):
        Scenario(name="x")


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        ({"round": 1, "leave": True}, "names its clients, or gives their share"),
        ({"round": 1, "share": 0.5, "clients": ["a"], "leave": True}, "write one of them"),
        ({"round": 1, "share": 0.5}, "changes nothing; give slow_down, rates or leave"),
        ({"round": 1, "share": 0.5, "rates": ["9 Mbps", "1 Mbps"]}, "rates run from"),
    ],
)
def test_events_say_who_and_what(event, sentence):
    with pytest.raises(InputError, match=sentence):
        check(Scenario, {"name": "x", "model": {"name": "small"}, "events": [event]}, "file")
