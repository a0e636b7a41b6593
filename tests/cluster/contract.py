"""What all workers do that are other processes: Ray's, and those beside this one."""

import time
from typing import ClassVar

import pytest

from tests.cluster.notes import Notes, do, is_alive, kill
from tests.cluster.pieces import TOOLS, Once, multiply, stumble, wait, wait_once
from tiercut.errors import InputError, TiercutError


class Contract:
    """Tests of `workers`, a fixture of the module in which this is a test's base."""

    lost: ClassVar[str]
    """What is said of a process that was killed."""
    attempts: ClassVar[int]

    def test_every_piece_is_done_where_the_command_was_given(self, workers, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        notes = Notes()
        ends = do(workers, multiply, TOOLS, range(6), notes)
        assert {ended.item: ended.result() for ended in ends} == {n: 3 * n for n in range(6)}
        assert notes.said == {n: [("in", str(tmp_path)), ("begun", n)] for n in range(6)}
        assert notes.lost == []

    def test_a_problem_is_not_tried_again_and_does_not_keep_the_others_back(self, workers):
        notes = Notes()
        ends = {ended.item: ended for ended in do(workers, stumble, None, [1, 0, 3], notes)}
        assert (ends[0].result(), ends[3].result()) == (0.5, -1.0)
        assert isinstance(ends[1].problem, InputError)
        assert notes.said == {0: [0], 1: [1], 3: [3]}

    def test_a_bug_comes_out_as_it_is(self, workers):
        with pytest.raises(ZeroDivisionError, match="division by zero"):
            list(do(workers, stumble, None, [2], Notes()))

    def test_what_lost_its_worker_is_begun_again(self, workers, tmp_path):
        def kill_first(item, process):
            if len(notes.said[item]) == 1:
                kill(item, process)

        notes = Notes(kill_first)
        ends = do(workers, wait_once, Once(tmp_path), ["a", "b"], notes)
        assert sorted(ended.result() for ended in ends) == ["a", "b"]
        assert sorted(notes.lost) == [(n, f"{self.lost}; it is begun again") for n in "ab"]
        assert all(len(set(processes)) == 2 for processes in notes.said.values())

    def test_what_loses_every_worker_is_given_up_and_the_others_are_done(self, workers):
        notes = Notes(lambda item, process: kill(item, process) if item else None)
        ends = {ended.item: ended for ended in do(workers, wait, None, [1, 0], notes)}
        assert ends[0].result() == 0
        assert type(ends[1].problem) is TiercutError
        assert str(ends[1].problem).startswith(f"{self.lost}, {self.attempts} times; where memory")
        assert [item for item, _ in notes.lost] == [1] * (self.attempts - 1)

    def test_whoever_stops_listening_leaves_nobody_at_work(self, workers):
        class Enough(Exception):
            """What a listener raises, as Ctrl-C would."""

        def stop(*_):
            raise Enough

        notes = Notes(stop)
        with pytest.raises(Enough):
            list(do(workers, wait, None, [1, 2, 3], notes))
        ((process,),) = notes.said.values()
        while is_alive(process):
            time.sleep(0.01)
