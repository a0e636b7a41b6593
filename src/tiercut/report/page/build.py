"""The page itself: template, styles, scripts and values in one text.

Nothing is loaded from anywhere. The content security policy names the only style and the only
script by their hashes, so that a browser runs nothing else, whatever a scenario is called.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from importlib import resources
from string import Template
from typing import Any

from tiercut import __version__
from tiercut.report.marks import looks_of
from tiercut.report.page.bars import beside_sentence, traffic_bars
from tiercut.report.page.content import Content
from tiercut.report.page.details import details
from tiercut.report.page.findings import Finding
from tiercut.report.page.html import Html, as_data, element, escape, together
from tiercut.report.page.measured import real_link, real_section
from tiercut.report.page.tables import decisions_table, gains_table, targets_table
from tiercut.report.summary import Curve, Summary
from tiercut.report.wording import count, listed, unbroken

SCRIPTS = (
    *("dom", "format", "scale", "theme", "tip"),
    *("curves", "graph", "batch", "spread", "real", "main"),
)
"""In the order in which they build on each other."""


def build_page(content: Content) -> str:
    """The whole page as HTML."""
    summary = content.summary
    looks = looks_of(list(summary.schemes))
    style = _asset("page.css")
    script = "\n".join(_asset(f"{name}.js") for name in SCRIPTS)
    return Template(_asset("page.html")).substitute(
        policy=_policy(style, script),
        style=style,
        script=script,
        data=as_data(_data(content, looks)),
        title=escape(f"{summary.name}: comparison"),
        name=escape(summary.name),
        lead=escape(unbroken(_lead(summary), list(_titles(summary)))),
        facts=_facts(summary),
        cautions=_cautions(content),
        findings=_findings(content.findings, looks, list(_titles(summary))),
        real_link=real_link(content.real),
        real=real_section(content.real),
        gains=gains_table(summary, looks) if summary.gains else _no_gains(summary),
        targets=_targets(summary, looks),
        decisions=decisions_table(summary, looks),
        seed=escape("" if content.seed is None else f"Seed {content.seed}."),
        traffic=_traffic(content),
        spread=_spread(content),
        details=details(content.manifest, summary, content.runs),
        notes=_notes(content.notes),
        version=escape(__version__),
    )


def _asset(name: str) -> str:
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    hashes = (
        base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in (style, script)
    )
    style_hash, script_hash = hashes
    return (
        f"default-src 'none'; style-src 'sha256-{style_hash}'; script-src 'sha256-{script_hash}';"
        f" img-src data:; base-uri 'none'; form-action 'none'"
    )


# ---------------------------------------------------------------------------- values for scripts


def _data(content: Content, looks: dict[str, int]) -> dict[str, Any]:
    summary = content.summary
    return {
        "schemes": [
            {
                "name": name,
                "title": scheme.title,
                "look": looks[name],
                "curve": None if scheme.curve is None else _curve(scheme.curve),
                "seeds": len(scheme.seeds),
            }
            for name, scheme in summary.schemes.items()
        ],
        "lead": summary.gains[0].scheme if summary.gains else None,
        "targets": sorted(summary.targets),
        "graphs": content.graphs,
        "batches": content.batches,
        "spread": content.spread,
        "real": None if content.real is None else content.real.to_dict(),
    }


def _curve(curve: Curve) -> dict[str, Any]:
    band = curve.accuracy
    return {
        "round": curve.round,
        "mean": [round(value, 5) for value in band.mean],
        "low": [round(value, 5) for value in band.low],
        "high": [round(value, 5) for value in band.high],
        "seconds": [float(f"{value:.7g}") for value in curve.seconds],
        "bytes": [float(f"{value:.7g}") for value in curve.bytes],
    }


# ------------------------------------------------------------------------------- parts of the page


def _lead(summary: Summary) -> str:
    titles = [scheme.title for scheme in summary.schemes.values()]
    who = f"{listed(titles)}{' compared' if len(titles) > 1 else ''}: " if titles else ""
    by = count(summary.clients, "client")
    return f"{who}the model {summary.model}, trained on {summary.data} by {by}."


def _facts(summary: Summary) -> Html:
    seeds = summary.seeds
    facts = {
        "model": summary.model,
        "data": summary.data,
        "clients": f"{summary.clients:,}",
        "rounds": f"{summary.rounds:,}",
        **_fact("epochs", summary.epochs, None),
        **_fact("portions", summary.portions, 1),
        **_fact("outer momentum", summary.outer_momentum, 0),
        **_fact("server share", summary.server_share, 1),
        **_fact("batch", summary.batch, None),
        "seeds": ", ".join(map(str, seeds)) if 0 < len(seeds) <= 6 else f"{len(seeds)}",
        "cost model": summary.cost,
    }
    return together(
        element("div", element("dt", name), element("dd", value)) for name, value in facts.items()
    )


def _fact(name: str, value: float | None, usual: float | None) -> dict[str, str]:
    """Nothing where it is as usual."""
    return {} if value == usual else {name: f"{value:,}"}


def _cautions(content: Content) -> Html:
    if not content.cautions:
        return Html("")
    return element("div", *(element("p", text) for text in content.cautions), class_="caution")


def _titles(summary: Summary) -> Iterator[str]:
    yield from (scheme.title for scheme in summary.schemes.values())


def _findings(findings: Sequence[Finding], looks: dict[str, int], titles: Sequence[str]) -> Html:
    return together(
        element(
            "li",
            unbroken(finding.text, titles),
            class_=f"look-{looks[finding.scheme]}" if finding.scheme in looks else "look-none",
        )
        for finding in findings
    )


def _no_gains(summary: Summary) -> Html:
    if len(summary.schemes) < 2:
        says = "One scheme alone saves nothing over another; compare two or more."
    else:
        says = "There is no target that all seeds of two schemes to be compared reached."
    return element("p", says, class_="empty")


def _targets(summary: Summary, looks: dict[str, int]) -> Html:
    if not summary.targets:
        return element(
            "p", "There are no accuracy targets; give some with --targets.", class_="empty"
        )
    return targets_table(summary, looks)


def _traffic(content: Content) -> Html:
    if not content.traffic:
        return element("p", "No plan was found, so what is sent is not known.", class_="empty")
    note = beside_sentence(content.traffic)
    bars = traffic_bars(content.summary, content.traffic)
    return together([bars, element("p", note, class_="aside")] if note else [bars])


def _spread(content: Content) -> Html:
    if content.spread is None:
        return element("p", "Who has what could not be told; see the notes below.", class_="empty")
    spread = content.spread
    sizes = [client["examples"] for client in spread["clients"]]
    between = f"{min(sizes):,}" if min(sizes) == max(sizes) else f"{min(sizes):,} to {max(sizes):,}"
    most = max(max(client["labels"]) for client in spread["clients"])
    says = (
        f"{spread['data']}, partition {spread['partition']}: {between} examples per client. Label"
        f" skew {spread['skew']:.2f}, 0 where all have the same mix and towards 1 if disjoint."
        f" A column per client, in the order of the fleet; at most {most:,} examples of a label."
    )
    return together([element("p", says), element("div", id="spread", class_="chart")])


def _notes(notes: Sequence[str]) -> Html:
    if not notes:
        return Html("")
    return together(_note_parts(notes))


def _note_parts(notes: Sequence[str]) -> Iterator[Html]:
    yield element("h3", "What is not shown")
    yield element("ul", *(element("li", note) for note in notes), class_="notes")
