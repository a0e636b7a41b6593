"""Errors: every class has its own documented exit code, and hints offer what was meant."""

import re

import pytest

from tiercut import errors
from tiercut.errors import (
    BUG_EXIT_CODE,
    INTERRUPTED_EXIT_CODE,
    InfeasibleError,
    InputError,
    MissingError,
    TiercutError,
    nearest,
)

COMMAND_LINE_MISUSE = 2


def every_error():
    return [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, Exception)
    ]


def test_every_error_descends_from_the_one_base():
    assert {TiercutError, InputError, InfeasibleError, MissingError} <= set(every_error())
    assert all(issubclass(error, TiercutError) for error in every_error())


def test_every_error_has_an_exit_code_of_its_own():
    codes = [error.exit_code for error in every_error()]
    assert len(set(codes)) == len(codes)
    assert not set(codes) & {0, COMMAND_LINE_MISUSE, BUG_EXIT_CODE, INTERRUPTED_EXIT_CODE}


def test_every_exit_code_is_documented_beside_the_name_of_its_error():
    documented = dict(re.findall(r"(\w+Error) +(\d+) ", errors.__doc__))
    assert documented == {error.__name__: str(error.exit_code) for error in every_error()}


def test_exit_codes_fit_in_what_a_shell_can_see():
    assert all(0 < error.exit_code < 126 for error in every_error())
    assert (BUG_EXIT_CODE, INTERRUPTED_EXIT_CODE) == (70, 130)


@pytest.mark.parametrize("error", every_error(), ids=lambda error: error.__name__)
def test_an_error_carries_its_message(error):
    assert str(error("what was found")) == "what was found"
    assert error.__doc__


@pytest.mark.parametrize(
    ("word", "valid", "hint"),
    [
        ("client", ["clients", "server"], " (did you mean 'clients'?)"),
        ("sevrer", ["clients", "server"], " (did you mean 'server'?)"),
        ("xyz", ["clients", "server"], ""),
        ("client", [], ""),
        ("", ["clients"], ""),
        ("mbps", ["bps", "Mbps", "kbps"], " (did you mean 'Mbps'?)"),
        ("CLIENTS", ["server", "clients"], " (did you mean 'clients'?)"),
    ],
)
def test_nearest_offers_the_closest_valid_word_or_nothing(word, valid, hint):
    assert nearest(word, valid) == hint


def test_nearest_takes_any_iterable_once():
    assert nearest("client", (word for word in ("clients", "server"))) == nearest(
        "client", {"clients": 1}
    )
