"""Dropout from a hash: the right share, and nothing but client, layer, step and position in it."""

import pytest
import torch
from torch import nn

from tiercut.engines.dropout import ClientMasks, StreamedDropout, client_key, stream_dropout, words
from tiercut.errors import InputError
from tiercut.seeds import Seeds


def masks(client=7, step=3):
    return ClientMasks(torch.tensor(client), torch.tensor(step))


def dropped(p=0.3, shape=(64, 50), **who):
    return StreamedDropout("fc", p, masks(**who), channels=False).train()(torch.ones(shape))


def test_the_share_and_the_scale_are_right():
    values = dropped(shape=(200, 500))
    assert (values == 0).float().mean().item() == pytest.approx(0.3, abs=0.01)
    assert values.unique().tolist() == pytest.approx([0, 1 / 0.7])
    assert values.mean().item() == pytest.approx(1, abs=0.01)


def test_masks_of_different_clients_steps_and_layers_are_unrelated():
    first = dropped() == 0
    for other in (dropped(client=8), dropped(step=4)):
        assert (first == (other == 0)).float().mean().item() == pytest.approx(0.58, abs=0.04)
    assert (dropped() == dropped()).all()


def test_many_clients_at_once_are_the_same_words():
    clients, steps = torch.tensor([1, 2, 3]), torch.tensor([5, 6, 7])
    together = words(clients, steps, 9, 11)
    alone = [words(c, s, 9, 11) for c, s in zip(clients, steps, strict=True)]
    assert torch.equal(together, torch.stack(alone))
    assert together.min() >= 0
    assert together.max() < 2**32


def test_channels_drop_as_a_whole():
    module = StreamedDropout("c", 0.5, masks(), channels=True).train()
    values = module(torch.ones(8, 6, 3, 3)).flatten(2)
    assert (values == values[..., :1]).all()


def test_evaluation_drops_nothing():
    inputs = torch.randn(3, 4)
    assert StreamedDropout("fc", 0.5, masks(), channels=False).eval()(inputs) is inputs


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_nothing_or_everything(p):
    assert (dropped(p) == 1 - p).all()


def test_every_kind_of_dropout_is_replaced_by_its_name():
    model = nn.Sequential(nn.Dropout(0.1), nn.Sequential(nn.Dropout2d(0.2), nn.Linear(2, 2)))
    stream_dropout(model, masks())
    assert isinstance(model[0], StreamedDropout)
    assert model[1][0].channels
    assert model[0].layer != model[1][0].layer


def test_randomness_that_cannot_be_repeated_is_refused():
    with pytest.raises(InputError, match=r"0 is a AlphaDropout.*use nn\.Dropout"):
        stream_dropout(nn.Sequential(nn.AlphaDropout(0.1)), masks())


def test_a_client_keeps_its_key_whoever_else_there_is():
    assert client_key(Seeds(1), "a") == client_key(Seeds(1), "a") != client_key(Seeds(1), "b")
