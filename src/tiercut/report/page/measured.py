"""The page's part about rounds on real devices: what was predicted, and what was measured."""

from __future__ import annotations

from tiercut.report.page.html import Html, element
from tiercut.report.page.real import RealRounds
from tiercut.report.page.tables import real_table
from tiercut.report.wording import count, saved

TITLE = "Predicted and measured"
WHERE = (
    "Bytes between devices are what clients and their aggregators exchange in training, bytes at"
    " the server what it exchanges with them. Layers go down before training, and up after it."
)


def real_link(real: RealRounds | None) -> Html:
    """The way there, where there is something to see."""
    return Html("") if real is None else element("a", "Measured", href="#real")


def real_section(real: RealRounds | None) -> Html:
    """Sentences, a chart that a script draws, and a table; nothing where no device was real."""
    if real is None:
        return Html("")
    choice = element("fieldset", element("legend", "of"), class_="switch", id="real-choice")
    return element(
        "section",
        element("div", element("h2", TITLE, id="real-title"), choice, class_="head"),
        element("p", _sentences(real)),
        _chart(),
        real_table(real),
        element("p", WHERE, class_="aside"),
        id="real",
        aria_labelledby="real-title",
    )


def _sentences(real: RealRounds) -> str:
    whole = real.series[0]
    predicted, measured = (whole.show(mean) for mean in whole.means)
    says = f"A round took {measured} where {predicted} were predicted"
    if whole.excess is not None:
        says += f", {saved(-whole.excess, 'time')}"
    says += f"; means over {count(len(real.rounds), 'round')} on real devices."
    lost, again = sum(real.lost), sum(attempts > 1 for attempts in real.attempts)
    if lost:
        says += f" {count(lost, 'client')} failed in the middle of a round."
    if again:
        says += f" {count(again, 'round')} had to start again."
    return says


def _chart() -> Html:
    how = "Point at the chart, or use the arrow keys in it, to read values."
    return element(
        "figure",
        element("ul", *map(_sample, ("predicted", "measured")), class_="legend"),
        element("div", class_="chart", id="real-chart", tabindex="0", role="img", aria_label=TITLE),
        element("figcaption", how, class_="screen-only aside"),
        element("div", class_="live", id="real-live", aria_live="polite"),
    )


def _sample(side: str) -> Html:
    line = element("path", d="M0 7H26", class_=f"line real-{side}")
    return element("li", element("svg", line, width=26, height=14, aria_hidden="true"), side)
