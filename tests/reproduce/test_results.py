"""The two files of a result, and the committed ones."""

import json
from pathlib import Path

import pytest

from tiercut.reproduce.paper_figures import TABLE_IV, TABLE_IX, TABLE_V, TABLE_VII, TABLE_VIII
from tiercut.reproduce.results import (
    Spread,
    Table,
    show_cell,
    to_document,
    to_markdown,
    write_result,
)
from tiercut.reproduce.tables import TABLES

COMMITTED = Path(__file__).parents[2] / "benchmarks" / "paper"

TABLE = Table(
    title="Table 0: a trial",
    method=("As simply as can be.",),
    columns=("model", "paper", "ours"),
    rows=(("AlexNet", 3, Spread(2.0, 2.0, 2.0)), ("VGG-11", None, Spread(0.29, 0.26, 0.3))),
    differences=("AlexNet: for no reason.",),
    seeds=(0, 1),
)


def test_a_result_carries_all_it_takes_to_make_it_again():
    document = to_document(TABLE, "tiercut reproduce table-0")
    assert document["command"] == "tiercut reproduce table-0"
    assert document["seeds"] == [0, 1]
    assert document["device"]["cpus"] >= 1
    assert set(document["versions"]) == {"tiercut", "python", "numpy", "scipy"}


def test_the_page_is_made_from_the_file_alone(tmp_path):
    write_result(to_document(TABLE, "tiercut reproduce table-0"), tmp_path)
    read_back = json.loads((tmp_path / "result.json").read_text())
    page = (tmp_path / "README.md").read_text()
    assert page == to_markdown(read_back)
    assert "| AlexNet | 3 | 2 |" in page
    assert "| VGG-11 | - | 0.29 (0.26 to 0.3) |" in page
    assert "- AlexNet: for no reason." in page


@pytest.mark.parametrize(
    ("cell", "shown"),
    [(None, "-"), ("h", "h"), (12.345, "12.3"), (1234.5, "1234"), (-1e-12, "0"), (0.0, "0")],
)
def test_cells_are_shown_short(cell, shown):
    assert show_cell(cell) == shown


@pytest.mark.parametrize("name", TABLES)
def test_committed_pages_were_not_edited_by_hand(name):
    document = json.loads((COMMITTED / name / "result.json").read_text())
    assert (COMMITTED / name / "README.md").read_text() == to_markdown(document)
    assert all(len(row) == len(document["columns"]) for row in document["rows"])


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("table-iv", len(TABLE_IV)),
        ("table-v", len(TABLE_V)),
        ("table-vii", len(TABLE_VII)),
        ("table-viii", len(TABLE_VIII)),
        ("table-ix", len(TABLE_IX)),
    ],
)
def test_committed_results_cover_the_whole_table(name, settings):
    labels = 1 if name == "table-iv" else 2
    rows = json.loads((COMMITTED / name / "result.json").read_text())["rows"]
    extra = 2 if name == "table-viii" else 0  # the fleets small enough to try every plan
    assert len({tuple(row[:labels]) for row in rows}) == settings + extra
