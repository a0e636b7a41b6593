"""What is trained over the network is what the reference engine trains."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.net.site import running, scenario
from tiercut.plan.plan import read_plan
from tiercut.train.folder import RunFolder
from tiercut.train.journal import read_records
from tiercut.train.loop import run
from tiercut.train.setting import build_setting

CLOSE = {"rtol": 1e-4, "atol": 1e-5}
"""float32: sums are made in another order."""
STEP = {"rtol": 1e-2, "atol": 1e-3}
"""int8: what lies between two steps may be rounded to the other one for that."""


@pytest.mark.parametrize(
    ("scheme", "training", "close"),
    [
        ("aa-hsfl-ll", {}, CLOSE),
        ("sfl", {"portions": 3, "outer_momentum": 0.8}, CLOSE),
        ("multihop", {"optimiser": "adam", "rate": 1e-3}, CLOSE),
        (
            "aa-hsfl-ll",
            {"wire": "int8", "aggregator_interval": "batch", "server_interval": 2},
            STEP,
        ),
        ("aa-hsfl-ll", {"server_share": 0.5, "server_interval": "batch"}, CLOSE),
    ],
)
def test_weights_equal_those_of_the_reference_engine(tmp_path, scheme, training, close):
    work = scenario(**training)
    with running(work, scheme) as site:
        summary = site.train(tmp_path / "net")
    plan = read_plan(RunFolder(tmp_path / "net").plan)
    reference = work.model_copy(
        update={"engine": work.engine.model_copy(update={"name": "reference"})}
    )
    expected = run(build_setting(reference, scheme=scheme, plan=plan), tmp_path / "reference")
    found, wanted = (load_file(RunFolder(tmp_path / name).model) for name in ("net", "reference"))
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        torch.testing.assert_close(found[key], value, **close)
    assert summary.accuracy == pytest.approx(expected.accuracy, abs=0.01)
    ours, theirs = (
        read_records(RunFolder(tmp_path / name).rounds) for name in ("net", "reference")
    )
    for one, other in zip(ours, theirs, strict=True):
        assert one.train_loss == pytest.approx(other.train_loss, rel=close["rtol"])
        assert (one.local_loss or 0.0) == pytest.approx(other.local_loss or 0.0, rel=close["rtol"])
        assert one.samples == other.samples


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_bytes_are_those_that_the_plan_predicts(tmp_path, share):
    with running(scenario(rounds=1, server_share=share)) as site:
        site.train(tmp_path / "run")
    (record,) = read_records(RunFolder(tmp_path / "run").rounds)
    assert record.real is not None
    assert record.real.measured_bytes == record.real.predicted_bytes
    assert record.real.attempts == 1
    assert np.isfinite(record.real.measured.round)
