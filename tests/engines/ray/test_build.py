"""The executor that workers use, where they have to wait for each other and where not."""

import pytest
import torch

from tests.engines.instances import task
from tiercut.engines.build import find_executor
from tiercut.engines.executor import Settings
from tiercut.engines.graph import Graph
from tiercut.engines.ray.build import find_waiting
from tiercut.engines.threads import Threads
from tiercut.errors import InputError

GPU = Settings(torch.device("cuda"))
EVERY_BATCH = {"intervals": (None, "batch")}


def test_one_model_on_several_gpus_needs_steps_that_wait():
    work = task("sfl", "normed", **EVERY_BATCH)
    assert find_waiting("auto", GPU, work, alone=False) is Graph
    assert find_waiting("graph", GPU, work, alone=False) is Graph
    with pytest.raises(InputError, match="cannot wait for other workers"):
        find_waiting("folded", GPU, work, alone=False)


@pytest.mark.parametrize(("changes", "alone"), [(EVERY_BATCH, True), ({}, False), ({}, True)])
def test_otherwise_the_fastest_will_do(changes, alone):
    work = task("sfl", "normed", **changes)
    expected = find_executor("auto", GPU, work)
    assert find_waiting("auto", GPU, work, alone=alone) is expected is not Graph


def test_cores_can_always_wait():
    settings = Settings(torch.device("cpu"))
    work = task("sfl", "normed", **EVERY_BATCH)
    assert find_waiting("auto", settings, work, alone=False) is Threads
