"""What the page says in words: computed, honest about seeds, and quiet where nothing is known."""

import pytest

from tests.report.page.instances import change_json
from tiercut.errors import InputError
from tiercut.report.page.findings import cautions, find
from tiercut.report.summary import read_summary, summary_from_dict
from tiercut.report.wording import listed, percent, saved, spread, unbroken


def spread_of(*values):
    return {
        "mean": sum(values) / len(values),
        "low": min(values),
        "high": max(values),
        "values": list(values),
    }


def scheme(title, accuracy=(0.9, 0.92), seconds=(10.0, 12.0), reached=None, **more):
    """A scheme whose seeds reached 75% after `seconds`."""
    reached = len(seconds) if reached is None else reached
    cost = spread_of(*seconds[:reached]) if reached else None
    target = {"reached": reached, "of": len(seconds), "rounds": cost, "seconds": cost}
    return {
        "title": title,
        "seeds": list(range(len(seconds))),
        "rounds_done": [4] * len(seconds),
        "complete": True,
        "final_accuracy": spread_of(*accuracy),
        "best_accuracy": spread_of(*accuracy),
        "curve": {
            "round": [1, 2, 3, 4],
            "accuracy": {key: [0.1, 0.5, 0.8, 0.9] for key in ("mean", "low", "high")},
            "seconds": [1.0, 2.0, 3.0, 4.0],
            "bytes": [1.0, 2.0, 3.0, 4.0],
        },
        "targets": {"0.75": {**target, "bytes": cost}},
        "decision": {"round_seconds": 2.0, "round_bytes": 5e6, "binding": "the server"},
        **more,
    }


def summary(schemes, gains=(), **more):
    about = {"name": "n", "model": "m", "data": "d", "clients": 3, "batch": 4, "epochs": 1}
    about |= {"rounds": 4, "cost": "paper", "targets": [0.75], "version": 1}
    keys = ("scheme", "over", "target", "seconds", "bytes")
    found = [dict(zip(keys, gain, strict=True)) for gain in gains]
    return summary_from_dict({**about, "schemes": schemes, "gains": found, **more}, "test")


def texts(found):
    return [finding.text for finding in find(found)]


def pair(ours=(8.0, 12.0), theirs=(10.0, 11.0)):
    return {"a": scheme("A", seconds=ours), "b": scheme("B", seconds=theirs)}


def test_a_gain_names_the_target_both_costs_and_how_many_seeds_agree():
    said = texts(summary(pair(), [("a", "b", 0.75, 0.21, -0.05)]))[0]
    assert said == (
        "At 75% accuracy A needs 21% less time and 5% more bytes than B;"
        " it was faster in 1 of 2 seeds."
    )


@pytest.mark.parametrize(
    ("seconds", "bytes_", "says"),
    [
        (0.001, 0.2, "needs 20% fewer bytes than B, and about as much time"),
        (0.0, -0.001, "needs about as much time and about as many bytes as B"),
        (-0.3, None, "needs 30% more time than B"),
        (0.3, 0.001, "needs 30% less time than B, and about as many bytes"),
    ],
)
def test_small_and_unknown_differences_are_called_so(seconds, bytes_, says):
    assert says in texts(summary(pair(), [("a", "b", 0.75, seconds, bytes_)]))[0]


def test_only_the_highest_target_of_a_pair_is_told():
    gains = [("a", "b", 0.5, 0.1, 0.1), ("a", "b", 0.75, 0.2, 0.2)]
    said = [text for text in texts(summary(pair(), gains)) if "needs" in text]
    assert len(said) == 1
    assert said[0].startswith("At 75%")


def test_one_seed_does_not_vote():
    one = {"a": scheme("A", seconds=(8.0,)), "b": scheme("B", seconds=(9.0,))}
    found = summary(one, [("a", "b", 0.75, 0.1, 0.1)])
    assert "faster in" not in texts(found)[0]
    assert "one seed only" in cautions(found)[0]


def test_two_seeds_are_few_and_three_are_not():
    assert "2 seeds only" in cautions(summary(pair()))[0]
    three = {"a": scheme("A", seconds=(1.0, 2.0, 3.0))}
    assert cautions(summary(three)) == []


def test_without_gains_that_is_said():
    assert "is not known" in texts(summary(pair()))[0]
    assert "is not known" not in " ".join(texts(summary({"a": scheme("A")})))


def test_accuracies_whose_seeds_overlap_are_not_settled():
    near = {"a": scheme("A", (0.90, 0.94)), "b": scheme("B", (0.89, 0.91))}
    far = {"a": scheme("A", (0.93, 0.94)), "b": scheme("B", (0.89, 0.91))}
    said = " ".join(texts(summary(near)))
    assert "A ends with the highest accuracy, 92.0% after 4 rounds (90.0% to 94.0% over" in said
    assert "the seeds of B reach into that range, so the order is not settled" in said
    assert "not settled" not in " ".join(texts(summary(far)))
    assert "A ends at 91.0%" in " ".join(texts(summary({"a": scheme("A")})))


def test_the_shortest_round_and_the_lightest_may_be_of_two_schemes():
    light = {"round_seconds": 3.0, "round_bytes": 1e6, "binding": "a link"}
    both = {"a": scheme("A"), "b": scheme("B", decision=light)}
    assert "A round is shortest with A (2 s); B moves the fewest bytes (1 MB)." in texts(
        summary(both)
    )
    same = {"a": scheme("A"), "b": scheme("B", decision={**light, "round_bytes": 9e6})}
    assert "A round is shortest with A (2 s), which also moves the fewest bytes" in " ".join(
        texts(summary(same))
    )
    unknown = {"a": scheme("A"), "b": scheme("B", decision=None)}
    assert "shortest" not in " ".join(texts(summary(unknown)))


def test_targets_that_were_not_reached_are_told():
    some = {"a": scheme("A", reached=1), "b": scheme("B", reached=0)}
    said = texts(summary(some))
    assert "A reached 75% from 1 of 2 seeds." in said
    assert "B reached 75% from no seed." in said


def test_unfinished_runs_are_named():
    short = {"a": scheme("A", complete=False, rounds_done=[4, 2])}
    assert "The comparison is not complete: A seed 1 has 2 of 4 rounds." in cautions(summary(short))
    own_rounds = {"a": scheme("A", complete=False)}
    assert "The comparison is not complete." in cautions(summary(own_rounds))
    assert cautions(summary({})) == ["No scheme has finished a round yet."]
    assert texts(summary({})) == []


def test_a_scheme_without_a_final_accuracy_is_passed_over():
    none = {"a": scheme("A", final_accuracy=None, curve=None, targets={}, decision=None)}
    assert texts(summary(none)) == []


def test_seeds_that_differ_do_not_vote():
    uneven = {"a": scheme("A"), "b": scheme("B", seeds=[5, 6])}
    assert "faster in" not in texts(summary(uneven, [("a", "b", 0.75, 0.1, 0.1)]))[0]


# -------------------------------------------------------------------------------- the summary


def test_a_summary_with_columns_of_different_length_is_refused(copy):
    def shorten(found):
        found["schemes"]["sfl"]["curve"]["seconds"].pop()

    change_json(copy / "summary.json", shorten)
    with pytest.raises(InputError, match="differ in length"):
        read_summary(copy / "summary.json")


def test_a_summary_of_another_version_is_refused(copy):
    change_json(copy / "summary.json", lambda found: found.update(version=2))
    with pytest.raises(InputError, match="version is 2"):
        read_summary(copy / "summary.json")


# -------------------------------------------------------------------------------------- words


def test_words():
    found = read_spread(3.0, 3.5)
    assert percent(0.75) == "75%"
    assert percent(0.755) == "75.5%"
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert saved(-0.2, "time") == "20% more time"
    assert spread(found, lambda value: f"{value} s") == "3.0 to 3.5 s"
    assert spread(found, lambda value: f"{value}%") == "3.0% to 3.5%"
    assert spread(found, lambda value: "same") == ""
    assert unbroken("AA-x y", ["A-x", "n" * 30]) == "AA\N{NON-BREAKING HYPHEN}x y"


def read_spread(*values):
    return summary({"a": scheme("A", accuracy=values)}).schemes["a"].final_accuracy
