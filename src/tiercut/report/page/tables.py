"""The page's tables: what targets took and what is saved, what was decided, what was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tiercut.report.page.html import Html, element, together
from tiercut.report.page.real import RealRounds, Series
from tiercut.report.summary import Decision, Gain, Reached, Spread, Summary
from tiercut.report.wording import differs, listed, percent, spread
from tiercut.units import show_size, show_time

Looks = Mapping[str, int]
NOTHING = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"


def scheme_cell(summary: Summary, name: str, looks: Looks) -> Html:
    """A row's head: the scheme with its colour."""
    swatch = element("i", class_="swatch", aria_hidden="true")
    look = looks.get(name, "none")
    title = element("span", swatch, summary.title(name), class_=f"scheme look-{look}")
    return element("th", title, scope="row")


def _table(caption: str, head: Sequence[Html], rows: Sequence[Html]) -> Html:
    inside = element(
        "table",
        element("caption", caption),
        element("thead", *head),
        element("tbody", *rows),
    )
    return element("div", inside, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _head(*cells: str, **attributes: str | int) -> Html:
    return together(element("th", cell, scope="col", **attributes) for cell in cells)


def _group(title: str, columns: int) -> Html:
    """A row that says what the rows below it have in common."""
    return element("tr", element("th", title, scope="rowgroup", colspan=columns), class_="group")


# ------------------------------------------------------------------------------------- targets


def targets_table(summary: Summary, looks: Looks) -> Html:
    """What each target took: rounds, time and bytes, with the spread over seeds."""
    head = element("tr", _head("", "rounds", "time", "bytes"))
    rows = []
    for target in sorted(summary.targets):
        rows.append(_group(f"{percent(target)} accuracy", 4))
        rows += [
            element("tr", scheme_cell(summary, name, looks), _reached_cells(scheme.at(target)))
            for name, scheme in summary.schemes.items()
        ]
    return _table("What it took to reach an accuracy", [head], rows)


def _reached_cells(reached: Reached | None) -> Html:
    if reached is None or not reached.reached:
        return element("td", "not reached", colspan=3, class_="none")
    partly = "" if reached.by_all else f"{reached.reached} of {reached.of} seeds"
    return together(
        [
            _spread_cell(reached.rounds, lambda value: f"{value:.3g}", partly),
            _spread_cell(reached.seconds, show_time),
            _spread_cell(reached.bytes, show_size),
        ]
    )


def _spread_cell(values: Spread | None, show: Callable[[float], str], partly: str = "") -> Html:
    if values is None:
        return element("td", NOTHING, class_="none")
    lines = (line for line in (spread(values, show), partly) if line)
    return element("td", show(values.mean), *(element("small", line) for line in lines))


# --------------------------------------------------------------------------------------- gains


def gains_table(summary: Summary, looks: Looks) -> Html:
    """What a scheme saves over each other one, as the paper's Table III has it."""
    rows = []
    for target in sorted({gain.target for gain in summary.gains}):
        rows.append(_group(f"at {percent(target)} accuracy, over", 3))
        rows += [
            element(
                "tr",
                scheme_cell(summary, rival, looks),
                _gain_cells(summary.gain(scheme, rival, target)),
            )
            for scheme, rival in summary.rivals()
        ]
    who = listed(list(dict.fromkeys(summary.title(scheme) for scheme, _ in summary.rivals())))
    return _table(f"What {who} saves", [element("tr", _head("", "time", "bytes"))], rows)


def _gain_cells(gain: Gain | None) -> Html:
    if gain is None:
        return element("td", "not reached by all seeds of both", colspan=2, class_="none")
    return together(_gain_cell(share) for share in (gain.seconds, gain.bytes))


def _gain_cell(share: float | None) -> Html:
    """The number over a bar that grows to the right where something is saved."""
    if share is None:
        return element("td", NOTHING, class_="none")
    length = 50 * min(1.0, abs(share))
    start = 50.0 if share >= 0 else 50 - length
    bar = element(
        "svg",
        element("rect", width="100%", height="100%", class_="track"),
        element("rect", x=f"{start:.1f}%", width=f"{length:.1f}%", height="100%"),
        element("line", x1="50%", x2="50%", y1="-3", y2="9"),
        class_="gauge",
        aria_hidden="true",
    )
    kind = "same" if not differs(share) else "saves" if share > 0 else "costs"
    return element("td", show_gain(share), bar, class_=f"gain {kind}")


def show_gain(share: float) -> str:
    """A gain with its sign: +21%, −5%."""
    sign = "+" if share > 0 else MINUS if share < 0 else ""
    return f"{sign}{abs(share):.1%}"


# ----------------------------------------------------------------------------------- decisions


def decisions_table(summary: Summary, looks: Looks) -> Html:
    """What was planned for each scheme, as the paper's Table IV has it, and what binds."""
    head = element(
        "tr",
        _head("scheme", "h", "v", "aggregators", "round", "bytes per round"),
        element("th", "what holds a round back", scope="col", class_="words"),
    )
    rows = [
        element("tr", scheme_cell(summary, name, looks), *_decision_cells(scheme.decision, summary))
        for name, scheme in summary.schemes.items()
    ]
    return _table("What was decided", [head], rows)


def _decision_cells(decision: Decision | None, summary: Summary) -> list[Html]:
    if decision is None:
        return [element("td", "no plan was found in the run's folder", colspan=6, class_="none")]
    aggregators = decision.aggregators
    share = "" if aggregators is None else f"{aggregators} of {summary.clients}"
    seconds, size = decision.round_seconds, decision.round_bytes
    cells = (
        _or_nothing(decision.aggregator_layer),
        _cuts(decision),
        share or NOTHING,
        NOTHING if seconds is None else show_time(seconds),
        NOTHING if size is None else show_size(size),
    )
    return [
        *(element("td", cell) for cell in cells),
        element("td", decision.binding or NOTHING, class_="words"),
    ]


def _or_nothing(number: int | None) -> str:
    return NOTHING if number is None else str(number)


def _cuts(decision: Decision) -> str:
    cuts = sorted(set(decision.cut_layers or ()))
    if decision.cut_layer is not None or not cuts:
        return _or_nothing(decision.cut_layer)
    return f"{cuts[0]} to {cuts[-1]}"


# ----------------------------------------------------------------------------------- real rounds


def real_table(real: RealRounds) -> Html:
    """What was predicted and what was measured, as means over the rounds."""
    head = element("tr", _head("", "predicted", "measured", "difference"))
    return _table("Means over the rounds", [head], [_real_row(one) for one in real.series])


def _real_row(one: Series) -> Html:
    cells = (*(one.show(mean) for mean in one.means), _excess(one.excess))
    name = element("th", one.title, scope="row")
    return element("tr", name, *(element("td", cell) for cell in cells))


def _excess(share: float | None) -> str:
    """How much more was measured; as a factor where that is large."""
    if share is None:
        return NOTHING
    return show_gain(share) if share < 1 else f"\N{MULTIPLICATION SIGN}{1 + share:,.1f}"
