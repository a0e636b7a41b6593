"""Chunks that fit: in order, complete, as large as allowed, and an estimate that is near enough."""

import pytest
import torch

from tests.probe.instances import prepared, tiny
from tiercut.engines.executor import Settings
from tiercut.engines.stacked import Stacked
from tiercut.engines.threads import Threads
from tiercut.errors import InputError
from tiercut.probe import memory
from tiercut.probe.memory import UNKNOWN, free_bytes, host_bytes, into_chunks, split_cuts

CPU = torch.device("cpu")


def ten_each(chunk):
    return 10 * len(chunk)


@pytest.mark.parametrize(
    ("free", "most", "chunks"),
    [
        (1000, 9, [(3, 4, 5, 6, 7)]),
        (1000, 2, [(3, 4), (5, 6), (7,)]),
        (30, 9, [(3, 4), (5, 6), (7,)]),  # 21 of 30 are usable
        (10, 9, [(3,), (4,), (5,), (6,), (7,)]),
    ],
)
def test_chunks_are_as_large_as_memory_allows(free, most, chunks):
    assert into_chunks(range(3, 8), ten_each, free, most) == chunks


def test_no_cuts_are_no_chunks():
    assert into_chunks([], ten_each, 5, 3) == []


def test_a_cut_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="cut 3 takes about 10 B and 9 B of memory are free; take"):
        into_chunks([3], ten_each, 9, 3)


@pytest.mark.parametrize(("threads", "most"), [(1, 2), (2, 3), (64, 4)])
def test_a_cpu_is_kept_busy_and_no_more(threads, most, monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda _: 10**12)
    chunks = split_cuts(tiny("plain"), range(1, 5), Settings(CPU, threads=threads))
    assert [cut for chunk in chunks for cut in chunk] == [1, 2, 3, 4]
    assert max(len(chunk) for chunk in chunks) == most


def test_a_gpu_is_given_all_that_fits(monkeypatch):
    cuts, settings = range(3, 7), Settings(torch.device("cuda"))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (10**12, 10**12))
    assert split_cuts(prepared(), cuts, settings) == [(3, 4, 5, 6)]
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (7 * 10**6, 10**12))
    assert len(split_cuts(prepared(), cuts, settings)) == 2


def test_workers_have_a_chunk_each_that_fits_their_machine(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda _: 10**12)
    trial, cuts, settings = tiny("plain"), range(1, 5), Settings(CPU, threads=64)
    assert split_cuts(trial, cuts, settings, at_once=2) == [(1, 2), (3, 4)]
    one = max(host_bytes(trial, (cut,), settings) for cut in cuts)
    assert split_cuts(trial, cuts, settings, 1, one) == [(1,), (2,), (3,), (4,)]
    with pytest.raises(InputError, match="of memory are free"):
        split_cuts(trial, cuts, settings, 1, one - 1)


def test_what_is_on_a_gpu_takes_nothing_of_its_host():
    trial = tiny("plain")
    assert host_bytes(trial, (1,), Settings(torch.device("cuda"))) == 0
    estimate = memory._estimate(trial, range(1, 5), Settings(CPU))
    assert host_bytes(trial, (1, 2), Settings(CPU)) == estimate((1, 2))


def test_the_estimate_counts_what_a_stack_holds():
    trial, cuts = prepared(training={"optimiser": "adam"}), (3, 5)
    settings = Settings(CPU, threads=2)
    task = trial.task(cuts)
    stack = Stacked(task, settings, Threads).stack
    for cut in cuts:
        stack.adopt(f"head@{cut}", task.build_head(cut))
    tensors = [*stack.weights.values(), *(t for m in stack.moments.values() for t in m.values())]
    held = sum(tensor.nbytes for tensor in tensors)
    assert held < memory._estimate(trial, cuts, settings)(cuts) < 3 * held


def test_free_memory_is_read(tmp_path):
    said = tmp_path / "meminfo"
    said.write_text("MemTotal:  9000 kB\nMemAvailable:    5000 kB\nSwapFree: 1 kB\n")
    assert free_bytes(CPU, said) == 5000 * 1024
    assert free_bytes(CPU, tmp_path / "nowhere") == UNKNOWN
