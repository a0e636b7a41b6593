"""Work in processes beside each other: done, killed, begun again, and never left behind."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cluster.contract import Contract
from tests.cluster.notes import Notes, do, is_alive, kill
from tests.cluster.pieces import TOOLS, Once, break_off, crowd, multiply, stumble, wait
from tests.compare.instances import carry_out, comparison
from tiercut.cluster.beside import ATTEMPTS, Beside
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


@pytest.fixture
def workers():
    return TWO


class TestBeside(Contract):
    lost = "its process ended with exit code -9"
    attempts = ATTEMPTS


def test_a_bug_tells_where_it_was():
    with pytest.raises(ZeroDivisionError) as bug:
        list(do(TWO, stumble, None, [2], Notes()))
    assert "in stumble" in bug.value.__notes__[0]


def test_who_has_no_room_is_begun_again_after_the_others(tmp_path):
    notes = Notes()
    ends = list(do(Beside(1), crowd, Once(tmp_path), [1, 2], notes))
    assert [(end.item, end.value) for end in ends] == [(1, 1), (2, None)]
    assert "no room for 2, 2 times; where memory is too small for so many" in str(ends[1].problem)


def test_whoever_is_killed_in_the_middle_of_a_message_is_lost():
    ends = do(TWO, break_off, None, [1], Notes())
    assert "exit code -9" in str(next(ends).problem)


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
    work = comparison(seeds=(0,))
    for name, workers in (("alone", None), ("beside", TWO)):
        carry_out(work, tmp_path / name, workers=workers)
    one, other = (tmp_path / name / "summary.json" for name in ("alone", "beside"))
    assert one.read_bytes() == other.read_bytes()
    assert manifest_path(tmp_path / "beside").exists()
