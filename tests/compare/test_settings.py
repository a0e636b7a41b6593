"""Combinations of values to try."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiercut.compare.override import SECTIONS
from tiercut.compare.settings import combinations, label_of, parse_tries
from tiercut.errors import InputError
from tiercut.scenario import Scenario

SCHEMES = ("sfl", "aa-hsfl-ll")


def test_what_names_a_scheme_counts_for_it_in_place_of_the_others():
    texts = ["plan.cuts=[[3],[4, 5]]", "sfl:plan.cuts=[[1]]", "training.optimiser=['sgd']"]
    assert parse_tries(texts, SCHEMES) == {
        "sfl": {"plan.cuts": [[1]], "training.optimiser": ["sgd"]},
        "aa-hsfl-ll": {"plan.cuts": [[3], [4, 5]], "training.optimiser": ["sgd"]},
    }


@given(st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=4, unique=True), max_size=3))
def test_every_combination_is_there_once_under_a_name_of_its_own(columns):
    values = {f"training.key{n}": column for n, column in enumerate(columns)}
    found = combinations(values)
    assert len(found) == math.prod(map(len, columns))
    assert all(
        setting[key] in column for setting in found.values() for key, column in values.items()
    )


@pytest.mark.parametrize(
    ("setting", "label"),
    [
        ({"training.rate": 1e-4}, "rate-0.0001"),
        ({"plan.cuts": [3, 4], "training.wire": "int8"}, "cuts-3-4,wire-int8"),
        ({"model.name": "../my models:factory"}, "name-..-my-models-factory"),
    ],
)
def test_a_label_is_a_folder_s_name(setting, label):
    assert label_of(setting) == label


def test_keys_of_different_sections_have_different_names():
    """So that labels, which leave the section out, cannot be taken for each other."""
    names = [
        name
        for section in SECTIONS
        for name in Scenario.model_fields[section].annotation.model_fields
    ]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("plan.cuts", "write it like 'plan.cuts="),
        ("cuts=[[3]]", "write it like 'plan.cuts="),
        ("training.rounds=[1, 2]", "rounds are the budget, which is the same for all"),
        ("plan.cuts=3", "is no list of values to try"),
        ("plan.cuts=[]", "is no list of values to try"),
        ("slf:plan.cuts=[[3]]", r"'slf', which is not compared \(did you mean 'sfl'\?\)"),
        ("fleet.clients=[3]", r"\[fleet\] is the same for all schemes"),
    ],
)
def test_what_is_not_understood_is_refused(text, says):
    with pytest.raises(InputError, match=says):
        parse_tries([text], SCHEMES)


def test_values_that_cannot_be_told_apart_are_refused():
    with pytest.raises(InputError, match=r"rate-0.1 is to be tried twice"):
        combinations({"training.rate": [0.1, 0.1]})
