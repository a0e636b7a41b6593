"""The builder: elements are well formed, text is escaped, and names are cut to their room."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.instances import NASTY
from tiercut.report.svg import document, fit, printable, tag, text_width, words


def test_attributes_are_written_as_svg_spells_them():
    made = tag("rect", class_="ink", stroke_width=1.5, x=2.0, fill=None)
    assert made == '<rect class="ink" stroke-width="1.5" x="2"/>'


def test_a_child_that_is_an_element_stays_one_and_text_is_escaped():
    assert tag("g", tag("a"), "<a/>") == "<g><a/>&lt;a/&gt;</g>"


@given(st.text())
def test_any_text_can_be_read_back(text):
    root = ElementTree.fromstring(document(10, 10, words(1, 2, text), label=text))
    assert root.get("aria-label") == printable(text)
    assert (root[-1].text or "") == printable(text)


@pytest.mark.parametrize("text", ["\x00", "\x1b[31m", "\n", "\x9b", "\ud800"])
def test_what_breaks_files_or_terminals_is_replaced(text):
    assert printable(text).startswith("\N{REPLACEMENT CHARACTER}")


@given(st.text(), st.floats(0, 300))
def test_fitted_text_is_a_start_of_the_text_within_the_room(text, room):
    fitted = fit(text, room, 10)
    assert text_width(fitted, 10) <= room
    assert printable(text).startswith(fitted.removesuffix("\N{HORIZONTAL ELLIPSIS}"))


def test_a_picture_follows_light_and_dark_and_names_itself():
    svg = document(10, 10, label=NASTY)
    assert "prefers-color-scheme:dark" in svg
    assert ElementTree.fromstring(svg).get("aria-label") == NASTY
