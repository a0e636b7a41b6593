"""What was run, with what: enough to run it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tiercut.documents import show_value, to_json
from tiercut.report.page.html import Html, element, together
from tiercut.report.page.runs import Run
from tiercut.report.summary import Summary
from tiercut.report.wording import count

VERSIONS = {"tiercut": "tiercut", "torch": "PyTorch", "python": "Python", "device": "device"}


def details(manifest: Mapping[str, Any] | None, summary: Summary, runs: Sequence[Run]) -> Html:
    """Versions, seeds, the command, and the scenario as it was read."""
    if manifest is None:
        return element("p", "There is no manifest.json, so how this was run is not known.")
    facts = element("dl", *_facts(manifest, summary, runs), class_="facts-list")
    scenario = manifest.get("scenario")
    if scenario is None:
        return facts
    inside = element("pre", element("code", to_json(scenario)), tabindex="0")
    return together([facts, element("details", element("summary", "The scenario"), inside)])


def _facts(manifest: Mapping[str, Any], summary: Summary, runs: Sequence[Run]) -> Iterator[Html]:
    command = manifest.get("command")
    if isinstance(command, list) and command:
        yield _fact("command", element("code", shlex.join(str(word) for word in command)))
    yield _fact("seeds", ", ".join(str(seed) for seed in summary.seeds))
    for key, name in VERSIONS.items():
        if key in manifest:
            yield _fact(name, str(manifest[key]))
    manifests = [run.manifest for run in runs if run.manifest is not None]
    for key in ("engine", "executor", "precision", "solver"):
        used = list(dict.fromkeys(str(one[key]) for one in manifests if key in one))
        if used:
            yield _fact(key, ", ".join(used))
    for scheme, own in _tables(manifest.get("overrides")).items():
        says = ", ".join(f"{key} = {show_value(value)}" for key, value in _tables(own).items())
        yield _fact(f"{summary.title(scheme)} alone", says)
    if manifest.get("fixed") is not None:
        yield _fact("h, v, lambda of HSFL-ll", str(manifest["fixed"]))
    resumed = sum(len(one.get("resumed", ())) for one in manifests)
    if resumed:
        yield _fact("resumed", count(resumed, "time"))


def _tables(value: Any) -> Mapping[str, Any]:
    """A table in a file, or an empty one where there is something else."""
    return value if isinstance(value, dict) else {}


def _fact(name: str, value: str) -> Html:
    return element("div", element("dt", name), element("dd", value))
