"""Units: everything people write becomes bytes, seconds and FLOP, or is refused."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiercut.errors import InputError
from tiercut.units import (
    FRACTION,
    RATE,
    SIZE,
    THROUGHPUT,
    TIME,
    parse,
    show_flops,
    show_rate,
    show_size,
    show_throughput,
    show_time,
    throughput_at,
)

relaxed = settings(deadline=None)
DIMENSIONS = (SIZE, RATE, THROUGHPUT, TIME, FRACTION)


@pytest.mark.parametrize(
    ("text", "dimension", "expected"),
    [
        ("20 Mbps", RATE, 2_500_000),
        ("20Mbps", RATE, 2_500_000),
        ("  20   Mbps ", RATE, 2_500_000),
        ("1 Mbit/s", RATE, 125_000),
        ("1 Gbps", RATE, 125e6),
        ("3 MB/s", RATE, 3e6),
        ("3 MiB/s", RATE, 3 * 2**20),
        ("7 bytes/s", RATE, 7),
        ("1 KiB", SIZE, 2**10),
        ("2 GiB", SIZE, 2**31),
        ("1 TiB", SIZE, 2**40),
        ("1 PB", SIZE, 1e15),
        ("2 GB", SIZE, 2e9),
        ("12 B", SIZE, 12),
        ("12 bytes", SIZE, 12),
        ("17.6 GHz", THROUGHPUT, 35.2e9),
        ("2.4 GHz", THROUGHPUT, 4.8e9),
        ("35.2 GFLOP/s", THROUGHPUT, 35.2e9),
        ("1 TFLOPS", THROUGHPUT, 1e12),
        ("850 ms", TIME, 0.85),
        ("90 s", TIME, 90),
        ("2 min", TIME, 120),
        ("1.5 h", TIME, 5400),
        ("1%", FRACTION, 0.01),
        ("12.5 %", FRACTION, 0.125),
        ("0.3", FRACTION, 0.3),
        ("1e3 B", SIZE, 1000),
        ("1_000 B", SIZE, 1000),
        ("-2.5e-1 s", TIME, -0.25),
        ("+4", SIZE, 4),
    ],
)
def test_what_people_write_becomes_the_programs_own_unit(text, dimension, expected):
    assert parse(text, dimension) == pytest.approx(expected, rel=1e-15)


def test_the_papers_devices_have_the_throughputs_of_the_specification():
    strong, weak, server = ("17.6 GHz", "2.4 GHz", "100 GHz")
    assert [parse(clock, THROUGHPUT) for clock in (strong, weak, server)] == pytest.approx(
        [35.2e9, 4.8e9, 200e9]
    )


def test_a_clock_rate_counts_as_many_flop_as_the_device_does_in_a_cycle():
    assert parse("2 GHz", throughput_at(16)) == 32e9
    assert parse("2 GFLOP/s", throughput_at(16)) == 2e9


@pytest.mark.parametrize("dimension", DIMENSIONS, ids=lambda dimension: dimension.name)
@given(number=st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**9), 10**9))
@relaxed
def test_plain_numbers_are_already_in_the_programs_own_unit(dimension, number):
    assert parse(number, dimension) == number
    assert parse(repr(number), dimension) == number


@pytest.mark.parametrize("dimension", DIMENSIONS, ids=lambda dimension: dimension.name)
def test_every_example_in_a_message_can_itself_be_parsed(dimension):
    assert parse(dimension.example, dimension) > 0


@given(data=st.data(), number=st.floats(0, 1e100))
@relaxed
def test_every_unit_multiplies_the_number_by_its_factor(data, number):
    dimension = data.draw(st.sampled_from(DIMENSIONS))
    unit = data.draw(st.sampled_from(sorted(dimension.factors)))
    assert parse(f"{number!r} {unit}", dimension) == number * dimension.factors[unit]


@pytest.mark.parametrize("value", [True, False, None, [1], {}, b"1", 1j])
def test_what_is_neither_number_nor_text_is_refused(value):
    with pytest.raises(InputError, match="is no rate; write '20 Mbps'"):
        parse(value, RATE)


@pytest.mark.parametrize(
    "text", ["", " ", "Mbps", "fast", "nan", "inf", "1 2", "1__0", "1.2.3", ".", "1,5 Mbps", "0x10"]
)
def test_text_without_one_number_and_one_unit_is_refused(text):
    with pytest.raises(InputError, match="'20 Mbps'"):
        parse(text, RATE)


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, "1e999", "-1e999", "1e308 Gbps", 10**400, -(10**400)]
)
def test_what_is_not_finite_is_refused(value):
    with pytest.raises(InputError, match="is no finite rate; write '20 Mbps'"):
        parse(value, RATE)


@pytest.mark.parametrize(
    ("text", "dimension", "nearest"),
    [
        ("20 mbps", RATE, "Mbps"),
        ("20 MBPS", RATE, "Mbps"),
        ("20 Mbs", RATE, "Mbps"),
        ("1 ghz", THROUGHPUT, "GHz"),
        ("1 GFLOPs", THROUGHPUT, "GFLOPS"),
        ("5 mins", TIME, "min"),
    ],
)
def test_an_unknown_unit_is_refused_with_the_nearest_known_one(text, dimension, nearest):
    with pytest.raises(InputError) as refused:
        parse(text, dimension)
    assert f"(did you mean '{nearest}'?)" in str(refused.value)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize("text", ["20 GB", "20 GHz", "20 s", "20 %"])
def test_a_unit_of_another_kind_of_quantity_is_refused(text):
    with pytest.raises(InputError, match="unknown unit"):
        parse(text, RATE)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (show_size(0), "0 B"),
        (show_size(999), "999 B"),
        (show_size(999.6), "999.6 B"),
        (show_size(999.99), "1 kB"),
        (show_size(1_250_000), "1.25 MB"),
        (show_size(3e15), "3 PB"),
        (show_rate(2_500_000), "20 Mbps"),
        (show_throughput(35.2e9), "35.2 GFLOP/s"),
        (show_flops(57.8e6), "57.8 MFLOP"),
        (show_time(0), "0 ms"),
        (show_time(0.85), "850 ms"),
        (show_time(0.99949), "999 ms"),
        (show_time(0.9996), "0.9996 s"),
        (show_time(12.34), "12.34 s"),
        (show_time(119.9), "119.9 s"),
        (show_time(250), "4 min 10 s"),
        (show_time(120), "2 min 00 s"),
        (show_time(7199.6), "2 h 00 min"),
        (show_time(11_100), "3 h 05 min"),
    ],
)
def test_quantities_are_shown_as_people_write_them(shown, expected):
    assert shown == expected


@pytest.mark.parametrize(
    ("show", "dimension"),
    [(show_size, SIZE), (show_rate, RATE), (show_throughput, THROUGHPUT)],
)
@given(value=st.floats(1, 1e17))
@relaxed
def test_what_is_shown_can_be_read_back_to_four_digits(show, dimension, value):
    assert parse(show(value), dimension) == pytest.approx(value, rel=5.1e-4)


@given(st.floats(1e-6, 119))
@relaxed
def test_a_short_time_shown_can_be_read_back(seconds):
    assert parse(show_time(seconds), TIME) == pytest.approx(seconds, rel=5.1e-3)
