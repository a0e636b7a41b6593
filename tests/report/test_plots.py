"""Plots: written whole, in the format asked for, the same bytes every time."""

import subprocess
import sys
from xml.etree import ElementTree

import pytest

from tiercut.errors import InputError
from tiercut.report.frontier import MOST_NUMBERED, plot_frontier
from tiercut.report.growth import plot_growth

SERIES = {"exact": [(10, 0.1), (100, 2.0)], "greedy $scan": [(10, 0.01)]}
WORDS = {"x_label": "clients", "y_label": "seconds", "title": "$5 & <b>"}


def frontier(count):
    return [
        {
            "round_seconds": 100 / (i + 1),
            "bytes": 1e9 * (i + 1),
            "aggregators": i + 1,
            "aggregator_layer": 2,
            "cut_layer": 3 + i,
        }
        for i in range(count)
    ]


def draw_frontier(path):
    plot_frontier(frontier(8), path)


def draw_growth(path):
    plot_growth(SERIES, path, **WORDS)


@pytest.mark.parametrize("draw", [draw_frontier, draw_growth])
def test_an_svg_is_xml_and_a_png_is_a_png(draw, tmp_path):
    draw(tmp_path / "new folder" / "plot.svg")
    draw(tmp_path / "plot.PNG")
    root = ElementTree.parse(tmp_path / "new folder" / "plot.svg").getroot()
    assert root.tag.endswith("svg")
    assert len(root.findall(".//{*}path")) > 10
    png = (tmp_path / "plot.PNG").read_bytes()
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert png.endswith(b"IEND\xaeB`\x82")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new folder", "plot.PNG"]


@pytest.mark.parametrize("suffix", [".svg", ".png"])
@pytest.mark.parametrize("draw", [draw_frontier, draw_growth])
def test_the_same_plot_is_the_same_file(draw, suffix, tmp_path):
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    draw(first)
    draw(second)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("count", [1, MOST_NUMBERED + 1, 200])
def test_a_frontier_may_have_one_point_or_many(count, tmp_path):
    plot_frontier(frontier(count), tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 5_000


@pytest.mark.parametrize("draw", [draw_frontier, draw_growth])
def test_other_formats_are_refused(draw, tmp_path):
    with pytest.raises(InputError, match=r"written as \.svg or \.png"):
        draw(tmp_path / "plot.docx")


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        draw_frontier(tmp_path / "file" / "plot.png")


def test_nothing_to_plot_is_refused(tmp_path):
    with pytest.raises(InputError, match="no points"):
        plot_frontier([], tmp_path / "plot.png")
    with pytest.raises(InputError, match="nothing to plot"):
        plot_growth({}, tmp_path / "plot.png", **WORDS)
    for points in ([], [(1, 0.0)]):
        with pytest.raises(InputError, match="'empty'"):
            plot_growth({"empty": points}, tmp_path / "plot.png", **WORDS)


def test_importing_reports_is_cheap():
    modules = ("frontier", "gantt", "groups", "growth")
    imports = "; ".join(f"import tiercut.report.{module}" for module in modules)
    heavy = "[m for m in ('torch', 'matplotlib', 'rich') if m in sys.modules]"
    script = f"import sys; {imports}; print({heavy})"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
