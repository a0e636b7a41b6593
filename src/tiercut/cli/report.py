"""`tiercut report`: a comparison, or a single run, as one HTML page and as figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiercut.cli.data import DirOption, find_spread
from tiercut.cli.inputs import JsonOption
from tiercut.errors import InputError

if TYPE_CHECKING:
    from tiercut.fleet import Fleet
    from tiercut.report.summary import Summary
    from tiercut.scenario import Scenario


def report(
    results: Annotated[
        Path, typer.Argument(help="The folder that `tiercut compare` or `tiercut train` wrote.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file [report.html].")] = Path(
        "report.html"
    ),
    figures: Annotated[
        Path | None,
        typer.Option("--figures", help="Also draw figures, as SVG and PNG, into this folder."),
    ] = None,
    data_dir: DirOption = None,
    json: JsonOption = False,
) -> None:
    """Write one self-contained page about a comparison; it opens in any browser, offline."""
    from tiercut.documents import to_json, write_text
    from tiercut.report.page.build import build_page
    from tiercut.report.page.content import gather
    from tiercut.report.page.figures import draw_figures

    if output.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{output}: the page is HTML; give it a name that ends in .html")
    summary = summary_of(results)
    content = gather(
        results, summary, fleet_after, lambda scenario: who_has_what(scenario, data_dir)
    )
    page = build_page(content)
    write_text(output, page)
    drawn = [] if figures is None else draw_figures(content, figures)
    if json:
        told = {
            "version": 1,
            "page": str(output),
            "bytes": len(page.encode()),
            "figures": [str(path) for path in drawn],
            "findings": [finding.text for finding in content.findings],
            "cautions": list(content.cautions),
            "notes": list(content.notes),
        }
        typer.echo(to_json(told), nl=False)
        return
    for path in (output, *drawn):
        typer.echo(f"wrote {path}", err=True)
    for line in (*content.cautions, *(finding.text for finding in content.findings)):
        typer.echo(line)
    for note in content.notes:
        typer.echo(f"not shown: {note}", err=True)


def summary_of(folder: Path) -> Summary:
    """The comparison's summary; derived anew where runs have gone on since it was written."""
    from tiercut.cli.single_run import read_single
    from tiercut.measure.results import read_results
    from tiercut.measure.summary import summarise
    from tiercut.report.summary import read_summary, summary_from_dict

    if not folder.is_dir():
        raise InputError(
            f"{folder}: there is no such folder; give the one that `tiercut compare` or `tiercut"
            f" train` wrote"
        )
    alone = (folder / "rounds.jsonl").exists()
    found = read_single(folder) if alone else read_results(folder)
    now = summary_from_dict(summarise(found), str(folder))
    path = folder / "summary.json"
    if not path.exists():
        return now
    kept = read_summary(path)  # with targets that somebody may have chosen since
    return kept if _rounds_in(kept) == _rounds_in(now) else now


def _rounds_in(summary: Summary) -> dict[str, tuple[int, ...]]:
    return {name: scheme.rounds_done for name, scheme in summary.schemes.items()}


def fleet_after(scenario: Scenario, rounds: int) -> Fleet:
    """The fleet as it was after so many rounds."""
    from tiercut.fleet import build_fleet
    from tiercut.seeds import Seeds
    from tiercut.train.events import changed_fleet

    seeds = Seeds(scenario.seed)
    fleet = build_fleet(scenario.fleet, seeds)
    for number in sorted({event.round for event in scenario.events if event.round <= rounds}):
        fleet = changed_fleet(fleet, scenario.events, number, seeds)
    return fleet


def who_has_what(scenario: Scenario, data_dir: Path | None) -> dict[str, Any]:
    """How the data was spread; not for folders of images, which would all have to be decoded."""
    from tiercut.data.sources import STORED, data_folder

    if scenario.engine.name == "net":
        raise InputError("who has what is known to the devices alone, since they were real ones")
    name = scenario.data.name
    base = data_folder(data_dir, scenario.data.dir)
    own_folder = name not in STORED and ((base / name).is_dir() or Path(name).is_dir())
    if name == "cinic10" or own_folder:
        raise InputError(
            f"who has what of {name} is left out, since its images would all have to be read; use"
            f" `tiercut data show SCENARIO`"
        )
    return find_spread(scenario, data_dir)
