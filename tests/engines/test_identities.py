"""What must hold of training whatever the numbers are (the spec's section 3)."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.engines.instances import distance, placement, stacked, task, whole
from tiercut.cost import Placement
from tiercut.engines.feed import Feed
from tiercut.engines.optimiser import Optimiser
from tiercut.schemes import find_scheme

ADAM = Optimiser("adam", 0.01)


def train(work, where=None, rounds=2, **options):
    engine = stacked(work, **options)
    for index in range(rounds):
        engine.run_round(whole(work, index, where))
    return engine.weights()


def equal(first, second):
    return all(torch.equal(first[key], second[key]) for key in first)


def test_sfl_and_multihop_train_identically():
    assert equal(train(task("sfl", optimiser=ADAM)), train(task("multihop", optimiser=ADAM)))


def test_one_client_per_aggregator_is_locsfl():
    work = task("aa-hsfl-ll", optimiser=ADAM)
    alone = Placement.three_tiers(2, 3, range(5))
    assert equal(train(work, alone), train(task("locsfl", optimiser=ADAM)))


def test_the_aggregator_layer_changes_nothing_when_everybody_is_alone():
    work = task("aa-hsfl-ll", optimiser=ADAM)
    assert equal(*(train(work, Placement.three_tiers(h, 3, range(5))) for h in (1, 2)))


def test_one_step_of_sfl_is_centralised_sgd_on_the_union():
    work = task("sfl", "plain", sizes=(4, 4, 4), epochs=1, optimiser=Optimiser("sgd", 0.1))
    work = replace(work, model=without_dropout(work.model))
    found = train(work, rounds=1)
    model = without_dropout(work.model).double()
    feed = Feed(work, torch.device("cpu"), torch.float64)
    feed.start_epoch(0)
    batches = [feed.one(n, 0) for n in range(3)]
    images, labels = (torch.cat(values) for values in zip(*batches, strict=True))
    torch.nn.functional.cross_entropy(model(images), labels).backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.sub_(0.1 * parameter.grad)
    assert distance(found, dict(model.state_dict())) < 1e-12


def without_dropout(model):
    import copy

    model = copy.deepcopy(model)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout | torch.nn.Dropout2d):
            module.p = 0.0
    return model


def test_a_shared_server_model_is_one_model_on_the_union_batch():
    """Without batch statistics, one model per host and per-sample means are the same thing."""
    work = task("sfl", "plain", sizes=(4, 4, 4), intervals=(None, "batch"))
    engine = stacked(work)
    engine.run_round(whole(work, 0))
    for key in engine.stack.keys_of(work.model.layer_names[3:]):
        assert (engine.stack.weights[key] == engine.stack.weights[key][0]).all()
        for moment in engine.stack.moments.get(key, {}).values():
            assert (moment == moment[0]).all()


@pytest.mark.parametrize("scheme", ["sfl", "dtfl", "aa-hsfl-ll"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_number_of_threads_changes_no_bit(scheme, precision):
    work = task(scheme, "normed", optimiser=ADAM)
    runs = [train(work, threads=threads, precision=precision) for threads in (1, 2, 5)]
    assert equal(runs[0], runs[1])
    assert equal(runs[0], runs[2])


@pytest.mark.parametrize("scheme", ["sfl", "dtfl", "aa-hsfl-ll"])
@pytest.mark.parametrize("intervals", [(None, None), ("batch", "batch")])
def test_relabelling_clients_changes_no_bit(scheme, intervals):
    work = task(scheme, "plain", optimiser=ADAM, intervals=intervals)
    where = placement(work)
    moved = np.array([3, 0, 4, 2, 1])  # the new number n was moved[n]
    again = replace(
        work,
        clients=tuple(work.clients[n] for n in moved),
        shards=tuple(work.shards[n] for n in moved),
    )
    place = np.argsort(moved)
    there = Placement(
        where.aggregator_layers[moved],
        where.cut_layers[moved],
        place[where.aggregator_of[moved]],
    )
    assert equal(train(work, where, precision="fp32"), train(again, there, precision="fp32"))


def test_another_seed_gives_other_weights():
    from tiercut.seeds import Seeds

    assert not equal(train(task()), train(task(seeds=Seeds(4))))


def test_intervals_of_a_scheme_can_be_changed_and_changed_back():
    scheme = find_scheme("aa-hsfl-ll")
    from tiercut.schemes import Part

    often = scheme.with_intervals({Part.AGGREGATOR: "batch", Part.SERVER: None})
    assert (often.interval(Part.AGGREGATOR), often.interval(Part.SERVER)) == ("batch", "epoch")
    back = often.with_intervals({Part.AGGREGATOR: "epoch"})
    assert set(back.averages) == set(scheme.averages)
    never = scheme.with_intervals({Part.AGGREGATOR: "round"})
    assert never.interval(Part.AGGREGATOR) == "round"
