"""Tasks that cannot be trained are refused before training starts."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.engines.instances import task
from tiercut.engines.build import build_engine, find_executor, find_settings
from tiercut.engines.reference import Reference
from tiercut.engines.stacked import Stacked
from tiercut.engines.task import Examples, build_initial, seeded
from tiercut.errors import InputError, MissingError
from tiercut.scenario import EngineSection
from tiercut.schemes import Average, Over, Part, find_scheme
from tiercut.seeds import Seeds


def test_two_clients_of_one_name_are_refused():
    with pytest.raises(InputError, match="same name"):
        replace(task(), clients=("a", "a", "b", "c", "d"))


def test_a_client_without_data_is_refused():
    work = task()
    with pytest.raises(InputError, match="'c0' has no training example"):
        replace(work, shards=(np.array([], dtype=int), *work.shards[1:]))


def test_more_portions_than_examples_are_refused():
    with pytest.raises(InputError, match=r"'c4' has 4 training examples, too few for 5 portions"):
        replace(task(), portions=5)


def test_data_of_another_shape_is_refused():
    images = np.zeros((37, 3, 6, 6), dtype=np.uint8)
    with pytest.raises(InputError, match=r"shape \(2, 6, 6\) and the data has \(3, 6, 6\)"):
        replace(task(), examples=Examples(images, np.zeros(37, dtype=int)))


def test_more_labels_than_classes_are_refused():
    work = task()
    labels = work.examples.labels + 4
    with pytest.raises(InputError, match="4 classes apart and the data has label 7"):
        replace(work, examples=replace(work.examples, labels=labels))


def test_initial_weights_come_from_the_seed_and_nothing_else():
    torch.manual_seed(5)
    first = build_initial("small", Seeds(1)).state_dict()
    drawn = torch.rand(1)
    second = build_initial("small", Seeds(1)).state_dict()
    assert all(torch.equal(first[key], second[key]) for key in first)
    torch.manual_seed(5)
    assert torch.equal(drawn, torch.rand(1))
    other = build_initial("small", Seeds(2)).state_dict()
    assert not torch.equal(first["layers.conv1.0.weight"], other["layers.conv1.0.weight"])


def test_heads_of_one_cut_start_alike():
    work = task()
    with seeded(99):
        first = work.build_head(3).state_dict()
    second = work.build_head(3).state_dict()
    assert all(torch.equal(first[key], second[key]) for key in first)


@pytest.mark.parametrize(("name", "kind"), [("stacked", Stacked), ("reference", Reference)])
def test_engines_by_name(name, kind):
    assert isinstance(build_engine(EngineSection(name=name, device="cpu"), task()), kind)


def test_wishes_that_the_machine_cannot_fulfil():
    with pytest.raises(InputError, match="tf32"):
        find_settings(EngineSection(device="cpu", precision="tf32"))
    with pytest.raises(InputError, match="expected auto, cpu"):
        find_settings(EngineSection(device="toaster"))
    with pytest.raises(InputError, match="threads is for the CPU"):
        find_executor("graph", find_settings(EngineSection(device="cpu")), task())
    if not torch.cuda.is_available():
        with pytest.raises(MissingError, match="no CUDA GPU"):
            find_settings(EngineSection(device="cuda"))


def test_averages_that_would_cost_traffic_are_refused():
    with pytest.raises(InputError, match="replicas are on several machines"):
        Average(Part.CLIENT, Over.GROUP, "epoch")
    with pytest.raises(InputError, match="replicas are on several machines"):
        Average(Part.AGGREGATOR, Over.ALL, 3)


def test_a_scheme_without_a_common_model_is_refused():
    with pytest.raises(InputError, match="never averages the client part"):
        replace(find_scheme("sfl"), averages=())


def test_schemes_by_name():
    with pytest.raises(InputError, match="did you mean 'locsfl'"):
        find_scheme("locfsl")
    with pytest.raises(InputError, match=r"expected a tiercut\.schemes\.Scheme"):
        find_scheme("tiercut.schemes.sfl:Part")
    assert find_scheme("tiercut.schemes.sfl:SCHEME").name == "sfl"
