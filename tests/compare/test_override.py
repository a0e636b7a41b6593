import pytest

from tests.train.instances import scenario
from tiercut.compare.override import apply_overrides, parse_overrides
from tiercut.errors import InputError

SCHEMES = ("sfl", "aa-hsfl-ll")


def test_values_are_those_of_a_scenario_and_words_need_no_quotes():
    texts = [
        "sfl:training.rate=3e-4",
        "sfl:training.optimiser=sgd",
        "aa-hsfl-ll:plan.cuts=[3, 4]",
        'aa-hsfl-ll:model.name="a=b:c"',
        "sfl:training.rate=5e-4",
    ]
    assert parse_overrides(texts, SCHEMES) == {
        "sfl": {"training.rate": 5e-4, "training.optimiser": "sgd"},
        "aa-hsfl-ll": {"plan.cuts": [3, 4], "model.name": "a=b:c"},
    }


def test_they_change_that_and_nothing_else():
    base = scenario()
    changed = apply_overrides(base, {"training.rate": 1, "plan.cuts": [3]}, "sfl")
    assert (changed.training.rate, changed.plan.cuts) == (1, (3,))
    assert changed.fleet == base.fleet
    assert changed.training.batch == base.training.batch
    assert apply_overrides(base, {}, "sfl") is base


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("training.rate=1", "write it like sfl:training.rate"),
        ("sfl:training=1", "write it like"),
        ("sfl:training.rate", "write it like"),
        ("slf:training.rate=1", r"'slf', which is not compared \(did you mean 'sfl'\?\)"),
        ("sfl:fleet.clients=3", r"\[fleet\] is the same for all schemes"),
    ],
)
def test_what_is_not_understood_is_refused(text, says):
    with pytest.raises(InputError, match=says):
        parse_overrides([text], SCHEMES)


def test_a_wrong_key_or_value_is_named():
    with pytest.raises(
        InputError, match=r"what sfl has of its own: unknown key training.rat \(did you"
    ):
        apply_overrides(scenario(), {"training.rat": 1}, "sfl")
    with pytest.raises(InputError, match=r"what sfl has of its own: training.rate is -1; expected"):
        apply_overrides(scenario(), {"training.rate": -1}, "sfl")
    for key in ("rate", "x.rate", "seed.rate"):
        with pytest.raises(InputError, match=f"unknown key {key}; write it like training.rate"):
            apply_overrides(scenario(), {key: 1}, "sfl")
