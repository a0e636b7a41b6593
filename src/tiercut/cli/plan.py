"""`tiercut plan`: choose h, v, the aggregators and who serves whom."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiercut.cli.inputs import (
    BatchOption,
    CostOption,
    EpochsOption,
    FleetOption,
    Inputs,
    JsonOption,
    OutputOption,
    ProfileOption,
    ScenarioArgument,
    check_svg,
    deliver,
    read_inputs,
)
from tiercut.cli.objective import (
    LearnOption,
    ObjectiveOption,
    TargetOption,
    plan_for,
    read_goal,
    refuse_others,
    show_objective,
)
from tiercut.cli.probe import ThresholdOption, probed_cuts
from tiercut.cli.progress import counting, watching
from tiercut.errors import InputError, nearest

if TYPE_CHECKING:
    from tiercut.fleet import Fleet
    from tiercut.plan.plan import Plan
    from tiercut.plan.problem import Problem, Wishes

CutsOption = Annotated[
    str | None, typer.Option("--cuts", help="Candidate cut layers, such as 7,8 or 3-8 [all].")
]
SolverOption = Annotated[str | None, typer.Option("--solver", help="Which solver [exact].")]
LayerOption = Annotated[int | None, typer.Option("--aggregator-layer", help="Fix h.")]
ClientLayersOption = Annotated[
    int | None,
    typer.Option(
        "--client-layers",
        min=1,
        help="A client keeps at least so many layers [2; on two tiers 1].",
    ),
]
LambdaOption = Annotated[
    str | None, typer.Option("--lambda", help="Fix the share of aggregators, such as 0.2 or 20%.")
]
AggregatorsOption = Annotated[
    int | None, typer.Option("--aggregators", help="Fix the number of aggregators.")
]
AllowOption = Annotated[
    str | None, typer.Option("--allow", help="Only these clients may aggregate: names, by commas.")
]
ForbidOption = Annotated[
    list[str] | None, typer.Option("--forbid", help="A pair never to form, NAME:NAME; repeatable.")
]
TimeOption = Annotated[
    str | None, typer.Option("--time-limit", help="Best plan and bound within this time, '5 s'.")
]


def plan(
    scenario: ScenarioArgument = None,
    fleet: FleetOption = None,
    profile: ProfileOption = None,
    cuts: CutsOption = None,
    client_layers: ClientLayersOption = None,
    probe: Annotated[
        Path | None, typer.Option("--probe", help="Take candidate cuts from this probe file.")
    ] = None,
    threshold: ThresholdOption = None,
    batch: BatchOption = None,
    epochs: EpochsOption = None,
    solver: SolverOption = None,
    cost: CostOption = None,
    objective: ObjectiveOption = None,
    target: TargetOption = None,
    learn: LearnOption = None,
    aggregator_layer: LayerOption = None,
    share: LambdaOption = None,
    aggregators: AggregatorsOption = None,
    allow: AllowOption = None,
    forbid: ForbidOption = None,
    time_limit: TimeOption = None,
    slack: Annotated[
        str | None,
        typer.Option("--slack", help="Fewer aggregators for a round this much slower, '1%'."),
    ] = None,
    pareto: Annotated[
        Path | None,
        typer.Option("--pareto", help="Instead: the frontier, plotted into this SVG or PNG."),
    ] = None,
    json: JsonOption = False,
    output: OutputOption = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Draw the groups into this SVG file.")
    ] = None,
) -> None:
    """Choose the layers h and v, the aggregators, and who serves whom; say how good that is."""
    from tiercut.cost import scheme_named
    from tiercut.documents import write_text
    from tiercut.plan.fewest import with_fewest_aggregators
    from tiercut.plan.problem import shallowest_cut
    from tiercut.plan.solve import solve, solver_named

    goal = read_goal(objective, target, probe, learn)
    inputs = read_inputs(
        scenario,
        fleet,
        profile,
        batch=batch,
        epochs=epochs,
        cost=cost,
        client_layers=client_layers,
    )
    name = solver or (inputs.scenario.plan.solver if inputs.scenario else "exact")
    wishes = read_wishes(inputs.fleet, aggregator_layer, share, aggregators, allow, forbid)
    scheme = solver_named(name).scheme
    if threshold is not None and probe is None:
        raise InputError("--threshold chooses from a probe; give its file with --probe")
    if cuts is None and probe is not None:
        if goal is not None and threshold is None:
            threshold = math.inf  # slow learners are no longer ruled out, but counted
        shallowest = shallowest_cut(scheme_named(scheme), inputs.client_layers)
        cuts = probed_cuts(probe, threshold, inputs.work.profile.name, shallowest)
    problem = make_problem(inputs, cuts, scheme, wishes)
    _refuse_groups_without_tiers(problem, name, {"--slack": slack, "--pareto": pareto})
    check_svg(picture)
    if slack is not None and wishes.aggregators is not None:
        raise InputError("--slack looks for the number of aggregators; leave --aggregators away")
    if pareto is not None:
        others = {
            "--slack": slack,
            "--picture": picture,
            "--time-limit": time_limit,
            "--objective": objective,
        }
        ignored = [option for option, value in others.items() if value is not None]
        if ignored or name != "exact":
            raise InputError(
                f"--pareto makes many plans with --solver exact; leave"
                f" {ignored[0] if ignored else '--solver'} away"
            )
        _show_frontier(problem, pareto, json, output)
        return
    if goal is not None:
        refuse_others(name, {"--slack": slack, "--time-limit": time_limit})
        made = plan_for(goal, problem, inputs)
    else:
        with watching("planning") as progress:
            made = solve(problem, name, time_limit=_seconds(time_limit), progress=progress)
            if slack is not None:
                made = with_fewest_aggregators(problem, made, _slack(slack, made))
    if picture is not None:
        from tiercut.report.groups import draw_groups

        write_text(picture, draw_groups(made, inputs.fleet))
        typer.echo(f"wrote {picture}", err=True)
    hand_over(made, inputs.fleet, json, output)


def _refuse_groups_without_tiers(problem: Problem, solver: str, options: dict[str, Any]) -> None:
    """Options about groups mean nothing where every client serves itself."""
    from tiercut.plan.problem import Wishes

    if problem.scheme.three_tiers:
        return
    given_options = [name for name, value in options.items() if value is not None]
    if problem.wishes != Wishes():
        given_options.append("--aggregator-layer, --lambda, --aggregators, --allow and --forbid")
    if given_options:
        raise InputError(
            f"--solver {solver} plans {problem.scheme.title}, which has no aggregators;"
            f" leave {given_options[0]} away"
        )


def make_problem(inputs: Inputs, cuts: str | None, scheme: str, wishes: Wishes) -> Problem:
    """The planning problem that the options stand for."""
    from tiercut.cost import scheme_named
    from tiercut.plan.problem import Problem

    chosen = scheme_named(scheme)
    return Problem(
        inputs.fleet,
        inputs.work,
        inputs.cuts(cuts, chosen),
        inputs.cost,
        wishes,
        chosen,
        inputs.client_layers,
    )


def read_wishes(
    fleet: Fleet,
    aggregator_layer: int | None,
    share: str | None,
    aggregators: int | None,
    allow: str | None,
    forbid: list[str] | None,
) -> Wishes:
    """What the user fixed or forbade, with clients by their names."""
    from tiercut.plan.problem import Wishes
    from tiercut.units import FRACTION, parse

    if share is not None and aggregators is not None:
        raise InputError("give --lambda or --aggregators, not both")
    if share is not None:
        fraction = parse(share, FRACTION)
        if not 0 < fraction <= 1:
            raise InputError(f"--lambda is {share}; expected a share above 0, up to 1 (or 100%)")
        aggregators = math.ceil(fraction * len(fleet) - 1e-9)
    position = {name: n for n, name in enumerate(fleet.names)}

    def find(name: str) -> int:
        if name not in position:
            raise InputError(f"there is no client {name!r} in the fleet{nearest(name, position)}")
        return position[name]

    pairs = set()
    for text in forbid or ():
        first, colon, second = text.partition(":")
        if not colon:
            raise InputError(f"--forbid {text!r} is no pair; write NAME:NAME")
        pairs.add((find(first), find(second)))
    allowed = None if allow is None else frozenset(find(name) for name in allow.split(","))
    return Wishes(aggregator_layer, aggregators, allowed, frozenset(pairs))


def _slack(text: str, made: Plan) -> float:
    from tiercut.units import FRACTION, parse

    if made.solver != "exact":
        raise InputError("--slack goes with --solver exact, whose bound it builds on")
    slack = parse(text, FRACTION)
    if slack < 0:
        raise InputError(f"--slack is {text}; expected 0% or more")
    return slack


def _show_frontier(problem: Problem, picture: Path, json: bool, output: Path | None) -> None:
    """Find the frontier, plot it, and write or show its points."""
    from tiercut.documents import to_json
    from tiercut.plan.pareto import frontier
    from tiercut.report.frontier import plot_frontier
    from tiercut.report.plots import check_format

    check_format(picture)
    with counting("searching the frontier") as count:
        points = frontier(problem, count)
    found = [point.to_dict() for point in points]
    plot_frontier(found, picture)
    typer.echo(f"wrote {picture}", err=True)
    if json or output is not None:
        deliver(to_json({"version": 1, "points": found}), output)
    else:
        _show_points(found)


def _show_points(points: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    from tiercut.units import show_size, show_time

    table = Table(title=f"{len(points)} plans that no other beats in everything")
    for column in ("round", "bytes", "aggregators", "h", "v"):
        table.add_column(column, justify="right")
    for point in points:
        table.add_row(
            show_time(point["round_seconds"]),
            show_size(point["bytes"]),
            str(point["aggregators"]),
            str(point["aggregator_layer"]),
            str(point["cut_layer"]),
        )
    Console().print(table)


def _seconds(time_limit: str | None) -> float | None:
    from tiercut.units import TIME, parse

    if time_limit is None:
        return None
    seconds = parse(time_limit, TIME)
    if seconds < 0:
        raise InputError(f"--time-limit is {time_limit}; expected 0 s or more")
    return seconds


def hand_over(made: Plan, fleet: Fleet, json: bool, output: Path | None) -> None:
    """Write the plan file, and show the plan to a script or to a person."""
    from tiercut.documents import to_json

    text = to_json({**made.to_dict(), "clients": list(fleet.names)})
    if output is not None:
        deliver(text, output)
    if json:
        deliver(text, None)
    else:
        show_plan(made, fleet)


def show_plan(made: Plan, fleet: Fleet) -> None:
    """The plan as tables for a person."""
    from rich.console import Console

    from tiercut.cli.cost import show_cost
    from tiercut.report.groups import groups_table
    from tiercut.units import show_time

    console = Console()
    placement = made.placement
    cuts = sorted(set(placement.cut_layers.tolist()))
    summary = f"cut layer v = {', '.join(map(str, cuts))}"
    if made.scheme.three_tiers:
        summary = f"aggregator layer h = {placement.aggregator_layers[0]}, {summary}"
        summary += f"; {len(placement.aggregators)} of {len(fleet)} clients aggregate"
        console.print(groups_table(made, fleet))
    show_cost(f"{made.scheme.title} ({made.solver})", made.to_dict())
    console.print(summary)
    if made.gap is not None and made.lower_bound is not None:
        console.print(
            f"no plan is faster than {show_time(made.lower_bound)}: this one is within"
            f" {made.gap:.2%} of the best possible ({show_time(made.wall_seconds)} to find)"
        )
    if made.objective is not None:
        show_objective(made.objective)
