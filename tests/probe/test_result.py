"""What a probe found, its file, and the candidates that follow without training."""

import json
import subprocess
import sys

import numpy as np
import pytest

from tests.probe.instances import found
from tiercut.documents import to_json
from tiercut.errors import InputError
from tiercut.probe.result import read_probe

TABLE = [
    [[0.90, 0.94], [0.92, 0.96]],
    [[0.95, 0.95], [0.96, 0.98]],
    [[0.50, 0.70], [0.90, 0.90]],
]
"""acc(v) is 93, 96 and 75 %."""


def written(tmp_path, probe):
    path = tmp_path / "probe.json"
    path.write_text(to_json(probe.to_dict()))
    return path


def test_scores_are_means_over_clients_and_then_epochs():
    probe = found(TABLE)
    assert probe.accuracy == pytest.approx(np.array([[0.92, 0.94], [0.95, 0.97], [0.6, 0.9]]))
    assert probe.scores == pytest.approx([0.93, 0.96, 0.75])
    assert probe.spread[0] == pytest.approx([np.std([0.90, 0.94], ddof=1)] * 2)


def test_one_client_has_no_spread():
    assert (found([[[0.5], [0.6]]]).spread == 0).all()


@pytest.mark.parametrize(
    ("threshold", "cuts"),
    [(0, (4,)), (2.9, (4,)), (3, (3, 4)), (20.9, (3, 4)), (21, (3, 4, 5)), (100, (3, 4, 5))],
)
def test_candidates_are_within_so_many_points_of_the_best(threshold, cuts):
    assert found(TABLE).candidates(threshold) == cuts
    assert found(TABLE, threshold=threshold).candidates() == cuts


@pytest.mark.parametrize(("score", "classes"), [(0.18, 10), (0.54, 2)])
def test_what_is_little_better_than_guessing_is_told(score, classes):
    assert found([[[score]], [[0.1]]], classes=classes).guesses
    assert not found([[[score + 0.02]], [[0.1]]], classes=classes).guesses


def test_equals_are_kept_together():
    assert found([[[0.5]], [[0.5]], [[0.4]]]).candidates(0) == (3, 4)


@pytest.mark.parametrize("threshold", [-1.0, -1e-9, float("nan")])
def test_a_threshold_below_zero_is_refused(threshold):
    with pytest.raises(InputError, match="expected 0 percentage points or more"):
        found(TABLE).candidates(threshold)


def test_a_file_gives_the_same_probe_again(tmp_path):
    probe = found(TABLE, missing=(7, 8))
    assert read_probe(written(tmp_path, probe)) == probe


def test_a_file_shows_what_follows_and_is_not_believed(tmp_path):
    path = written(tmp_path, found(TABLE))
    value = json.loads(path.read_text())
    assert value["candidates"] == [4]
    assert value["scores"] == pytest.approx([0.93, 0.96, 0.75])
    path.write_text(json.dumps({**value, "candidates": [3], "scores": [1, 0, 0]}))
    assert read_probe(path).candidates() == (4,)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"version": 2}, "version is 2"),
        ({"cuts": []}, "cuts is []"),
        ({"cuts": [4, 3, 5]}, "from the shallowest"),
        ({"cuts": [3, 3, 5]}, "each once"),
        ({"cuts": [3, 4]}, "one for each cut"),
        ({"clients": ["c0"]}, "2 epochs of 1 clients"),
        ({"epochs": 3}, "of cut 3 is not 3 epochs"),
        ({"threshold": -1}, "threshold is -1"),
        ({"accuracy_of_clients": [[[1.5]]]}, "1.5; expected less than or equal to 1"),
        ({"accuracy_of_clients": None}, "accuracy_of_clients is null"),
    ],
)
def test_a_broken_file_is_refused(tmp_path, change, sentence):
    path = written(tmp_path, found(TABLE))
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError) as refused:
        read_probe(path)
    assert sentence in str(refused.value)
    assert str(path) in str(refused.value)


def test_what_is_no_json_is_refused(tmp_path):
    (tmp_path / "probe.json").write_text("{")
    with pytest.raises(InputError, match="this is not JSON"):
        read_probe(tmp_path / "probe.json")


def test_reading_a_probe_leaves_torch_out():
    script = "import sys, tiercut.probe.result; print('torch' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
