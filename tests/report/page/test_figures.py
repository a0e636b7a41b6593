"""The static figures: one file per figure and format, the same every time."""

import pytest

from tests.report.page.instances import NASTY, change_json, content_of
from tiercut.report.page.figures import draw_figures

NAMES = {
    "accuracy-seconds",
    "accuracy-bytes",
    "accuracy-round",
    "gains-seconds",
    "gains-bytes",
    "traffic",
}


def test_every_figure_is_drawn_as_svg_and_png(results, tmp_path):
    written = draw_figures(content_of(results), tmp_path / "figures")
    assert {path.name for path in written} == {
        f"{name}{suffix}" for name in NAMES for suffix in (".svg", ".png")
    }
    assert all(path.stat().st_size > 5000 for path in written)
    again = draw_figures(content_of(results), tmp_path / "again")
    assert [a.read_bytes() for a in written] == [b.read_bytes() for b in again]


def test_without_values_there_are_no_figures(copy, tmp_path):
    change_json(copy / "summary.json", lambda s: s.update(schemes={}, gains=[], targets=[]))
    assert draw_figures(content_of(copy), tmp_path / "figures") == []


@pytest.mark.parametrize("title", [NASTY, "$\\frac$", "n" * 200])
def test_names_are_shown_as_they_are(copy, tmp_path, title):
    def rename(summary):
        summary["name"] = title
        for scheme in summary["schemes"].values():
            scheme["title"] = title
        summary["schemes"]["sfl"]["curve"] = None
        summary["gains"][0].update(over="gone", bytes=None)

    change_json(copy / "summary.json", rename)
    assert len(draw_figures(content_of(copy), tmp_path / "figures")) == 12
