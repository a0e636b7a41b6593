"""The picture of who has what: readable for few clients and for many, the same every time."""

from xml.etree import ElementTree

import numpy as np
import pytest

from tests.report.instances import NASTY
from tiercut.errors import InputError
from tiercut.report.spread import plot_spread


def spread(clients, classes=10):
    counts = np.random.default_rng(0).integers(0, 50, (clients, classes))
    return {
        "data": "$digits",
        "partition": "dirichlet",
        "classes": [NASTY, *(f"label {n}" for n in range(1, classes))],
        "clients": [
            {"name": f"client $-{n}", "examples": sum(labels), "labels": labels}
            for n, labels in enumerate(counts.tolist())
        ],
    }


@pytest.mark.parametrize(("clients", "classes"), [(1, 2), (10, 10), (100, 10), (1000, 100)])
@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_any_number_of_clients_is_drawn(tmp_path, clients, classes, suffix):
    path = tmp_path / f"spread{suffix}"
    plot_spread(spread(clients, classes), path)
    assert path.stat().st_size > 5_000
    if suffix == ".svg":
        assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_the_same_spread_is_the_same_file(tmp_path):
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    plot_spread(spread(10), first)
    plot_spread(spread(10), second)
    assert first.read_bytes() == second.read_bytes()


def test_nothing_to_plot_is_refused(tmp_path):
    with pytest.raises(InputError, match="no clients"):
        plot_spread({**spread(1), "clients": []}, tmp_path / "spread.svg")
    with pytest.raises(InputError, match=r"written as \.svg or \.png"):
        plot_spread(spread(3), tmp_path / "spread.gif")
