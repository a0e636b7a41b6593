"""The whole probe: on digits it learns; in chunks and after a stop it finds the same."""

import numpy as np
import pytest

from tests.probe.instances import CPU, prepared, tiny
from tiercut.errors import InputError
from tiercut.probe import run
from tiercut.probe.result import Probe
from tiercut.probe.run import run_probe
from tiercut.scenario import EngineSection

FP32 = EngineSection(device="cpu", threads=2)


def in_chunks_of(size):
    def split(trial, cuts, *_):
        return [tuple(cuts[start : start + size]) for start in range(0, len(cuts), size)]

    return split


def test_on_digits_accuracy_grows_and_the_threshold_chooses():
    trial = prepared(examples=100, probe={"epochs": 5}, training={"batch": 8})
    probe = run_probe(trial, range(3, 7), FP32, 1.0)
    assert probe.cuts == (3, 4, 5, 6)
    assert (probe.model, probe.scheme, probe.held_out) == ("small", "locsfl", 200)
    assert (probe.accuracy[:, -1] > probe.accuracy[:, 0] + 0.05).all()
    assert probe.scores.max() > 0.25
    assert probe.candidates(100) == probe.cuts
    best = probe.cuts[int(probe.scores.argmax())]
    assert probe.candidates(0) == (best,)


@pytest.mark.parametrize("family", ["plain", "normed"])
def test_chunks_do_not_show_in_the_result(family, monkeypatch):
    probes = []
    for size in (1, 2, 4):
        monkeypatch.setattr(run, "split_cuts", in_chunks_of(size))
        probes.append(run_probe(tiny(family), range(1, 5), FP32, 1.0))
    assert probes[0] == probes[1] == probes[2]


def test_what_is_kept_after_a_stop_is_gone_on_from(monkeypatch):
    monkeypatch.setattr(run, "split_cuts", in_chunks_of(2))
    trial, kept = tiny("plain"), []
    whole = run_probe(trial, [1, 2, 3, 4], CPU, 1.0)

    def stop(probe):
        kept.append(probe)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_probe(trial, [1, 2, 3, 4], CPU, 1.0, keep=stop)
    (partial,) = kept
    assert (partial.cuts, partial.missing) == ((1, 2), (3, 4))
    tried = []
    monkeypatch.setattr(run, "try_cuts", _counted(run.try_cuts, tried))
    assert run_probe(trial, [1, 2, 3, 4], CPU, 1.0, known=partial) == whole
    assert tried == [(3, 4)]
    assert run_probe(trial, [2], CPU, 5.0, known=whole).cuts == (1, 2, 3, 4)
    assert tried == [(3, 4)]


def _counted(function, calls):
    def call(trial, cuts, *rest):
        calls.append(tuple(cuts))
        return function(trial, cuts, *rest)

    return call


def test_progress_counts_the_epochs_of_all_chunks(monkeypatch):
    monkeypatch.setattr(run, "split_cuts", in_chunks_of(2))
    told = []
    run_probe(tiny("plain"), [4, 2, 3], CPU, 1.0, progress=lambda *words: told.append(words))
    assert told == [
        (0, 4, "cut 2, 3"),
        (1, 4, "cut 2, 3"),
        (2, 4, "cut 2, 3"),
        (2, 4, "cut 4"),
        (3, 4, "cut 4"),
        (4, 4, "cut 4"),
    ]


@pytest.mark.parametrize("cuts", [[0], [7], [3, 99]])
def test_a_cut_that_the_model_has_no_room_for_is_refused(cuts):
    with pytest.raises(InputError, match="outside 1 to 6"):
        run_probe(prepared(), cuts, CPU, 1.0)


def test_no_cut_is_refused():
    with pytest.raises(InputError, match="no candidate cut layer is given"):
        run_probe(prepared(), [], CPU, 1.0)


def test_a_probe_of_something_else_is_not_gone_on_from():
    trial = tiny("plain")
    known = run_probe(trial, [2], CPU, 1.0)
    for key, value in {"model": "x", "seed": 4, "clients": ("a", "b", "c"), "held_out": 7}.items():
        with pytest.raises(InputError, match=f"differs in its {key}; write to another file"):
            run_probe(trial, [2], CPU, 1.0, known=known.model_copy(update={key: value}))
    with pytest.raises(InputError, match="other data, another model or other training settings"):
        run_probe(trial, [2], FP32, 1.0, known=known)


CHANGES = [
    {"training": {"rate": 1e-3}},
    {"training": {"batch": 8}},
    {"training": {"head": "pooled"}},
    {"training": {"optimiser": "sgd"}},
    {"data": {"augment": True}},
    {"data": {"partition": "dirichlet"}},
    {"seed": 1},
    {"examples": 50},
    {"probe": {"held_out": 100}},
]


def test_a_fingerprint_tells_trials_apart():
    prints = [prepared(**change).fingerprint("fp32") for change in [{}, *CHANGES]]
    assert len(set(prints)) == len(prints)
    assert prepared().fingerprint("fp32") == prints[0] != prepared().fingerprint("bf16")


def test_nothing_random_is_left():
    trial = prepared()
    first, second = (run_probe(trial, [3, 5], FP32, 1.0) for _ in range(2))
    assert isinstance(first, Probe)
    assert first == second
    assert not np.array_equal(run_probe(prepared(seed=1), [3, 5], FP32, 1.0).table, first.table)
