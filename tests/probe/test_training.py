"""What a cut gives is what a plain loop gives, whichever cuts are tried beside it."""

import copy

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from tests.probe.instances import CPU, prepared, tiny
from tiercut.engines.feed import batch_sizes
from tiercut.probe import training
from tiercut.probe.jury import Jury
from tiercut.probe.training import try_cuts


@pytest.fixture
def recorded(monkeypatch):
    """The weights of every replica when it was last measured, by its name."""
    weights = {}

    class Recorder(Jury):
        def accuracies(self, stack):
            for row, n in enumerate(stack.rows):
                name = stack.task.clients[n]
                keys = stack.keys_of(stack.task.model.layer_names)
                weights[name] = {f"layers.{k}": stack.weights[k][row].clone() for k in keys}
            return super().accuracies(stack)

    monkeypatch.setattr(training, "Jury", Recorder)
    return weights


def scaled(examples, rows):
    """Samples as the model sees them, and their labels."""
    shape = (-1, 1, 1)
    mean, std = (
        torch.tensor(v, dtype=torch.float64).view(shape) for v in (examples.mean, examples.std)
    )
    images = torch.tensor(examples.images[rows]).double() / (
        255 if examples.images.dtype == np.uint8 else 1
    )
    return (images - mean) / std, torch.tensor(examples.labels[rows])


def plain_loop(trial, cut, n):
    """Client n alone with a local loss at `cut`: its accuracies, and its model in the end."""
    model = copy.deepcopy(trial.model).double().train()
    head = trial.task([cut]).build_head(cut).double()
    front, back = model.slice(1, cut), model.slice(cut + 1, model.depth)
    kind = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[trial.training.optimiser]
    optimiser = kind([*model.parameters(), *head.parameters()], lr=trial.training.rate)
    accuracies = []
    for epoch in range(trial.epochs):
        order = trial.seeds.stream("order", trial.clients[n], epoch).permutation(trial.shards[n])
        start = 0
        for size in batch_sizes(len(order), trial.training.batch):
            images, labels = scaled(trial.examples, order[start : start + size])
            start += size
            optimiser.zero_grad()
            passed = front(images)
            cross_entropy(head(passed), labels).backward()
            cross_entropy(back(passed.detach()), labels).backward()
            optimiser.step()
        images, labels = scaled(trial.held_out, slice(None))
        with torch.no_grad():
            model.eval()
            accuracies.append((model(images).argmax(1) == labels).double().mean().item())
            model.train()
    return accuracies, model.state_dict()


def assert_near(first, second):
    assert first.keys() == second.keys()
    for key, value in first.items():
        torch.testing.assert_close(value, second[key], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("cut", [3, 6])
def test_one_client_at_one_cut_is_a_plain_loop(cut, recorded):
    trial = prepared(probe={"clients": 1, "epochs": 4})
    accuracies = try_cuts(trial, [cut], CPU)[cut]
    expected, model = plain_loop(trial, cut, 0)
    assert accuracies.shape == (4, 1)
    assert accuracies[:, 0].tolist() == expected
    assert_near(recorded[f"{trial.clients[0]}@{cut}"], model)


def test_every_client_at_every_cut_is_its_own_plain_loop(recorded):
    trial = tiny("normed")
    accuracies = try_cuts(trial, [1, 3, 4], CPU)
    for cut in (1, 3, 4):
        for n, client in enumerate(trial.clients):
            expected, model = plain_loop(trial, cut, n)
            assert_near(recorded[f"{client}@{cut}"], model)
            assert accuracies[cut][:, n].tolist() == expected


@pytest.mark.parametrize("family", ["plain", "normed", "residual"])
@pytest.mark.parametrize("precision", ["fp32", "fp64"])
def test_cuts_at_once_are_to_the_bit_what_each_is_alone(family, precision, recorded):
    trial = tiny(family, optimiser="adam")
    engine = CPU.model_copy(update={"precision": precision})
    together = try_cuts(trial, [1, 2, 4], engine)
    at_once = dict(recorded)
    for cut in (1, 2, 4):
        alone = try_cuts(trial, [cut], engine.model_copy(update={"threads": 1}))
        assert (alone[cut] == together[cut]).all()
    assert recorded.keys() == at_once.keys()
    for name, weights in recorded.items():
        for key, value in weights.items():
            assert torch.equal(value, at_once[name][key]), (name, key)


def test_models_start_alike_and_heads_by_their_cut():
    trial = tiny("plain")
    one, both = trial.task([3]), trial.task([1, 3])
    assert both.clients == ("c0@1", "c1@1", "c2@1", "c0@3", "c1@3", "c2@3")
    assert both.sources == (*trial.clients, *trial.clients)
    assert both.model is one.model
    first, second = (task.build_head(3).state_dict() for task in (one, both))
    assert all(torch.equal(first[key], second[key]) for key in first)


def test_more_epochs_only_add_to_fewer():
    few = try_cuts(prepared(probe={"epochs": 1}), [4], CPU)[4]
    more = try_cuts(prepared(probe={"epochs": 2}), [4], CPU)[4]
    assert (more[:1] == few).all()


def test_whoever_looks_on_is_told_of_every_epoch():
    told = []
    try_cuts(tiny("plain"), [2, 3], CPU, told.append)
    assert told == [1, 2]
