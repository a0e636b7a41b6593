"""Work in processes beside each other: done, killed, begun again, and never left behind."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cluster.notes import Notes, do, is_alive, kill
from tests.cluster.pieces import TOOLS, Once, multiply, stumble, wait, wait_once
from tests.compare.instances import carry_out, comparison
from tiercut.cluster.beside import ATTEMPTS, Beside
from tiercut.errors import InputError, TiercutError
from tiercut.measure.manifest import manifest_path

ROOT = Path(__file__).parents[2]
TWO = Beside(2)
PARENT = """
from tests.cluster.notes import Notes, do
from tests.cluster.pieces import wait
from tiercut.cluster.beside import Beside

if __name__ == "__main__":
    list(do(Beside(2), wait, None, [1, 2], Notes(lambda item, process: print(process, flush=True))))
"""


def test_every_piece_is_done_where_the_command_was_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notes = Notes()
    ends = do(TWO, multiply, TOOLS, range(3), notes)
    assert {ended.item: ended.result() for ended in ends} == {n: 3 * n for n in range(3)}
    assert notes.said == {n: [("in", str(tmp_path)), ("begun", n)] for n in range(3)}
    assert notes.lost == []


def test_a_problem_is_not_tried_again_and_does_not_keep_the_others_back():
    ends = {ended.item: ended for ended in do(TWO, stumble, None, [1, 0], Notes())}
    assert ends[0].result() == 0.5
    assert isinstance(ends[1].problem, InputError)


def test_a_bug_comes_out_as_it_is():
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        list(do(TWO, stumble, None, [2], Notes()))


def test_no_more_are_at_work_than_are_wanted(tmp_path):
    notes = Notes()
    with pytest.raises(StopIteration):
        next(do(TWO, multiply, TOOLS, [], notes))
    at_work = []

    def look(item, process):
        alive = {p for said in notes.said.values() for p in said if is_alive(p)}
        at_work.append(len(alive))
        kill(item, process)

    notes = Notes(look)
    list(do(TWO, wait, None, [1, 2, 3], notes))
    assert max(at_work) <= 2


def test_what_lost_its_process_is_begun_again(tmp_path):
    def kill_first(item, process):
        if len(notes.said[item]) == 1:
            kill(item, process)

    notes = Notes(kill_first)
    ends = do(TWO, wait_once, Once(tmp_path), ["a", "b"], notes)
    assert sorted(ended.result() for ended in ends) == ["a", "b"]
    reason = "its process ended with exit code -9; it is begun again"
    assert sorted(notes.lost) == [(n, reason) for n in "ab"]


def test_what_loses_every_process_is_given_up_and_the_others_are_done():
    notes = Notes(lambda item, process: kill(item, process) if item else None)
    ends = {ended.item: ended for ended in do(TWO, wait, None, [1, 0], notes)}
    assert ends[0].result() == 0
    assert type(ends[1].problem) is TiercutError
    assert f"exit code -9, {ATTEMPTS} times; where memory is too small" in str(ends[1].problem)


def test_whoever_stops_listening_leaves_nobody_at_work():
    class Enough(Exception):
        """What a listener raises, as Ctrl-C would."""

    def stop(*_):
        raise Enough

    notes = Notes(stop)
    with pytest.raises(Enough):
        list(do(TWO, wait, None, [1, 2, 3], notes))
    ((process,),) = notes.said.values()
    assert not is_alive(process)


def test_whoever_is_killed_leaves_nobody_at_work(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    parent = subprocess.Popen(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with parent:
        assert parent.stdout is not None
        processes = [int(parent.stdout.readline()) for _ in range(2)]
        assert all(map(is_alive, processes))
        parent.kill()
        parent.wait()
    while any(map(is_alive, processes)):
        time.sleep(0.01)


def test_runs_that_train_beside_each_other_come_to_the_same(tmp_path):
    work = comparison()
    for name, workers in (("alone", None), ("beside", TWO)):
        carry_out(work, tmp_path / name, workers=workers)
    one, other = (tmp_path / name / "summary.json" for name in ("alone", "beside"))
    assert one.read_bytes() == other.read_bytes()
    assert manifest_path(tmp_path / "beside").exists()
