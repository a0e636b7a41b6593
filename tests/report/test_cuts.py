"""The picture of a probe: readable for one cut, for a few and for many, the same every time."""

from xml.etree import ElementTree

import numpy as np
import pytest

from tests.probe.instances import found
from tests.report.instances import NASTY
from tiercut.errors import InputError
from tiercut.report.cuts import plot_cuts


def probe(cuts, epochs=5, clients=3):
    table = np.random.default_rng(0).uniform(0, 1, (cuts, epochs, clients))
    return found(table, model=f"$x {NASTY}").to_dict()


@pytest.mark.parametrize("size", [(1, 1, 1), (5, 5, 3), (33, 5, 10), (9, 40, 1)])
@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_any_number_of_cuts_is_drawn(tmp_path, size, suffix):
    path = tmp_path / f"cuts{suffix}"
    plot_cuts(probe(*size), path)
    assert path.stat().st_size > 5_000
    if suffix == ".svg":
        assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_the_same_probe_is_the_same_file(tmp_path):
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    plot_cuts(probe(5), first)
    plot_cuts(probe(5), second)
    assert first.read_bytes() == second.read_bytes()


def test_nothing_to_plot_is_refused(tmp_path):
    with pytest.raises(InputError, match="no cuts to plot"):
        plot_cuts({**probe(1), "cuts": []}, tmp_path / "cuts.svg")
    with pytest.raises(InputError, match=r"written as \.svg or \.png"):
        plot_cuts(probe(3), tmp_path / "cuts.gif")
