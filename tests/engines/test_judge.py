"""Scores are right, and the same for any number of threads."""

import numpy as np
import pytest
import torch

from tests.engines.instances import CLASSES, settings, stacked, task, whole
from tiercut.engines.judge import BATCH, Judge
from tiercut.engines.task import Examples


def examples(count):
    rng = np.random.default_rng(5)
    images = rng.integers(0, 256, (count, 2, 6, 6), dtype=np.uint8)
    return Examples(images, rng.integers(0, CLASSES, count), (0.5, 0.4), (0.3, 0.2))


@pytest.mark.parametrize("family", ["plain", "normed"])
def test_a_score_is_what_the_model_says(family):
    work = task(family=family)
    engine = stacked(work)
    engine.run_round(whole(work, 0))
    held_out = examples(50)
    found = Judge(work, held_out, settings()).score(engine.weights())
    model = work.model.double()
    model.load_state_dict(engine.weights())
    mean, std = (torch.tensor(v).view(2, 1, 1) for v in (held_out.mean, held_out.std))
    scores = model.eval()((torch.tensor(held_out.images).double() / 255 - mean) / std)
    labels = torch.tensor(held_out.labels)
    assert found.accuracy == (scores.argmax(1) == labels).double().mean().item()
    assert found.loss == pytest.approx(torch.nn.functional.cross_entropy(scores, labels).item())


def test_threads_do_not_get_into_each_others_way():
    work = task(family="normed")
    engine = stacked(work)
    engine.run_round(whole(work, 0))
    scores = {
        Judge(work, examples(6 * BATCH), settings(threads)).score(engine.weights())
        for threads in (1, 4)
        for _ in range(3)
    }
    assert len(scores) == 1


def test_rows_are_scored_one_by_one():
    work = task(family="normed", epochs=1)
    engine = stacked(work)
    judge = Judge(work, examples(30), settings())
    found = []
    engine.run_round(
        whole(work, 0), lambda _: found.extend(judge.score_rows(engine.stack.weights, range(5)))
    )
    assert len(found) == 5
    assert len({score.loss for score in found}) > 1
