"""`tiercut train`: train a scenario round by round on a virtual clock."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiercut.cli.data import DirOption
from tiercut.cli.inputs import JsonOption
from tiercut.cli.place import RayAddressOption
from tiercut.cli.progress import counting
from tiercut.errors import InputError

if TYPE_CHECKING:
    from tiercut.scenario import EngineSection, Scenario
    from tiercut.schemes import Scheme
    from tiercut.train.loop import Summary

EngineOption = Annotated[
    str | None, typer.Option("--engine", help="stacked, ray or reference [stacked].")
]
ExecutorOption = Annotated[
    str | None, typer.Option("--executor", help="auto, threads, graph or folded [auto].")
]
DeviceOption = Annotated[
    str | None, typer.Option("--device", help="auto, cpu, cuda or cuda:1 [auto].")
]
PrecisionOption = Annotated[
    str | None, typer.Option("--precision", help="fp32, tf32, bf16 or fp64 [fp32].")
]
ThreadsOption = Annotated[int | None, typer.Option("--threads", help="CPU threads [one per core].")]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", help="Engine ray: workers [one per machine or GPU].")
]


def train(
    scenario: Annotated[Path, typer.Argument(help="A scenario file (TOML).")],
    scheme: Annotated[
        str | None,
        typer.Option("--scheme", help="Which scheme, or package.module:SCHEME [the solver's]."),
    ] = None,
    plan: Annotated[
        Path | None, typer.Option("--plan", help="Train by this plan file instead of planning.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The run's folder [runs/NAME-SCHEME].")
    ] = None,
    rounds: Annotated[int | None, typer.Option("--rounds", help="How many rounds.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Root of all randomness.")] = None,
    engine: EngineOption = None,
    executor: ExecutorOption = None,
    device: DeviceOption = None,
    precision: PrecisionOption = None,
    threads: ThreadsOption = None,
    workers: WorkersOption = None,
    ray_address: RayAddressOption = None,
    data_dir: DirOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on after the last checkpoint in the folder.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a run that the folder holds.")
    ] = False,
    track: Annotated[
        list[str] | None,
        typer.Option("--track", help="Also to tensorboard, mlflow or wandb; repeatable."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Train round by round; the clock is virtual, and says what the fleet would need."""
    from tiercut.cli.training_progress import watching_rounds
    from tiercut.data import load
    from tiercut.documents import to_json
    from tiercut.plan.plan import read_plan
    from tiercut.scenario import read_scenario
    from tiercut.train.folder import RunFolder
    from tiercut.train.loop import run
    from tiercut.train.overrides import override
    from tiercut.train.setting import build_setting, find_method
    from tiercut.train.trackers import find_tracker

    if resume and overwrite:
        raise InputError("give --resume to go on, or --overwrite to start again, not both")
    warn = partial(typer.echo, err=True)
    trackers = [find_tracker(name, warn) for name in dict.fromkeys(track or ())]
    wanted = override(
        read_scenario(scenario),
        seed=seed,
        training={"rounds": rounds},
        engine={
            "name": engine,
            "executor": executor,
            "device": device,
            "precision": precision,
            "threads": threads,
            "workers": workers,
            "address": ray_address,
        },
    )
    if wanted.engine.name != "ray" and (workers, ray_address) != (None, None):
        raise InputError("--workers and --ray-address are for --engine ray; add it, or leave them")
    planned = None if plan is None else read_plan(plan)
    folder = output or default_folder(wanted, find_method(wanted, scheme, planned)[0])
    RunFolder(folder).refuse_second(resume=resume, overwrite=overwrite)  # before data is read
    with counting("reading images") as count:
        read = partial(load, progress=count)
        setting = build_setting(wanted, scheme=scheme, plan=planned, data_dir=data_dir, load=read)
    with (
        watching_rounds() as progress,
        saying_how_to_go_on(folder),
        cluster_for(wanted.engine),
    ):
        summary = run(
            setting,
            folder,
            resume=resume,
            overwrite=overwrite,
            command=["tiercut", *sys.argv[1:]],
            observers=[progress, *trackers],
        )
    if json:
        typer.echo(to_json(summary.to_dict()), nl=False)
    else:
        show_summary(summary)


def default_folder(scenario: Scenario, scheme: Scheme) -> Path:
    """runs/NAME-SCHEME, with a name that any file system takes."""
    name = re.sub(r"[^\w.-]+", "-", f"{scenario.name}-{scheme.name}")
    return Path("runs") / name


def cluster_for(engine: EngineSection) -> AbstractContextManager[None]:
    """What an engine needs to be connected to."""
    from tiercut.cluster.connect import connected

    return connected(engine.address) if engine.name == "ray" else nullcontext()


@contextmanager
def saying_how_to_go_on(folder: Path) -> Iterator[None]:
    """Whoever stops a run is told how it goes on."""
    from tiercut.cli import Interrupted
    from tiercut.train.folder import RunFolder

    try:
        yield
    except Interrupted:
        if RunFolder(folder).manifest.exists():
            again = [word for word in sys.argv[1:] if word not in ("--overwrite", "--resume")]
            print(
                f"tiercut: `{shlex.join(['tiercut', *again, '--resume'])}` goes on after the last"
                f" checkpoint",
                file=sys.stderr,
            )
        raise


def show_summary(summary: Summary) -> None:
    """What a run came to, for a person."""
    from tiercut.units import show_size, show_time

    if summary.new_rounds == 0:
        typer.echo(f"the run in {summary.folder} is finished; more rounds would extend it")
    typer.echo(
        f"{summary.rounds} rounds: accuracy {summary.accuracy:.2%}, best"
        f" {summary.best_accuracy:.2%} in round {summary.best_round};"
        f" {show_time(summary.seconds)} on the virtual clock, {show_size(summary.bytes)} moved"
    )
    typer.echo(f"everything is in {summary.folder}")
