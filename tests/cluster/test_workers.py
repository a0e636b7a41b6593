"""Pieces of work done here, one after another, and what workers of Ray do with one."""

from pathlib import Path

import pytest

from tests.cluster.pieces import TOOLS, ignore, multiply, stumble
from tiercut.cluster.spread import stream
from tiercut.cluster.workers import Alone, Ended
from tiercut.errors import InputError


def test_one_after_another_in_their_order():
    heard = []

    def hear(item, said):
        heard.append((item, said[0]))

    ends = list(Alone().do(multiply, TOOLS, [4, 2], hear=hear, on_lost=ignore))
    assert ends == [Ended(4, 12), Ended(2, 6)]
    assert [ended.result() for ended in ends] == [12, 6]
    assert heard == [(4, "in"), (4, "begun"), (2, "in"), (2, "begun")]


def test_a_problem_that_can_be_explained_does_not_keep_the_others_back():
    first, second = Alone().do(stumble, None, [1, 0], hear=ignore, on_lost=ignore)
    assert (first.item, first.value, second.value) == (1, None, 0.5)
    with pytest.raises(InputError, match="take another number"):
        first.result()


def test_a_bug_does():
    with pytest.raises(ZeroDivisionError):
        list(Alone().do(stumble, None, [2, 0], hear=ignore, on_lost=ignore))


def test_a_worker_says_what_was_said_and_then_the_end(tmp_path, monkeypatch):
    monkeypatch.chdir(Path.cwd())  # comes back afterwards
    said = [*stream(tmp_path, multiply, TOOLS, 5)]
    assert said == [("in", str(tmp_path)), ("begun", 5), Ended(5, 15)]
    *_, ended = stream(tmp_path / "nowhere", stumble, None, 1)
    assert isinstance(ended.problem, InputError)
    with pytest.raises(ZeroDivisionError):
        list(stream(tmp_path, stumble, None, 2))
