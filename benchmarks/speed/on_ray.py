"""What the engine `ray` costs and gains against `stacked`, and how many clients it takes.

    python benchmarks/speed/on_ray.py                  all of it, on this machine's cores
    python benchmarks/speed/on_ray.py --parts growth   only some of it, separated by commas
    python benchmarks/speed/on_ray.py --quick          small, to see that it runs

overhead   one worker with all cores against `stacked` with as many threads
scaling    two workers with one core each against one worker with one core
crowd      10,000 clients, 2 % of them in a round, with and without momentum: seconds and memory
growth     200 clients in a round out of 10,000, 100,000 and 1,000,000

Overhead and scaling train a model of the paper at its (h, v) by AA HSFL-ll, SGD with momentum, two
groups. Rounds of the two that are compared alternate, so that both see the same machine. Memory of
processes is PSS without what they see of Ray's store, which is counted once and apart. Results go
to ray.json beside this file.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from training import BATCH, CASES, make_task

from tiercut.cluster.connect import connected
from tiercut.cost import Placement
from tiercut.engines.build import Engine
from tiercut.engines.executor import Settings
from tiercut.engines.optimiser import Optimiser
from tiercut.engines.stacked import Stacked
from tiercut.engines.task import Examples, Round, Task, build_initial, everybody
from tiercut.engines.threads import Threads
from tiercut.schemes import find_scheme
from tiercut.seeds import Seeds

HERE = Path(__file__).parent
CPU = torch.device("cpu")
SMALL_BATCH = 4
SAMPLES = 8
"""Of each client in a crowd."""


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    model: str = "vgg11"
    clients: int = 8
    batches: int = 8
    epochs: int = 3
    repeats: int = 3
    crowd: int = 10_000
    share: float = 0.02
    rounds: int = 60
    sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    few_rounds: int = 8


QUICK = Effort("alexnet", 2, 1, 2, 1, 200, 0.1, 6, (200, 2000), 3)


def on_ray(task: Task, workers: int, cpus: int) -> Engine:
    """The engine on so many workers with so many cores each; with 0, cores are not reserved."""
    from tiercut.engines.ray.cluster import RayCluster
    from tiercut.engines.ray.crew import Crew
    from tiercut.engines.ray.engine import Sharded
    from tiercut.engines.ray.room import Room

    crew = Crew(RayCluster(Room(workers, cpus)), workers)
    return Sharded(task, Settings(CPU, "fp32", max(1, cpus)), Threads, crew)


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


# ------------------------------------------------------------------------- one against another


def compare(effort: Effort, engines: dict[str, Callable[[Task], Engine]]) -> dict[str, Any]:
    """Seconds of a round in each engine, in turn; the first of each warms up. Two groups."""
    task = replace(make_task(effort.model, effort.clients, effort.batches), epochs=effort.epochs)
    case, half = CASES[effort.model], effort.clients // 2
    where = Placement.three_tiers(case.h, case.v, np.arange(effort.clients) // half * half)
    built = {name: build(task) for name, build in engines.items()}
    found: dict[str, list[float]] = {name: [] for name in engines}
    for index in range(effort.repeats + 1):
        for name, engine in built.items():

            def one_round(engine: Engine = engine, index: int = index) -> None:
                engine.run_round(everybody(task, index, where))
                engine.weights()

            found[name].append(seconds(one_round))
    return {
        "model": effort.model,
        "clients": effort.clients,
        "batches": effort.batches,
        "epochs": effort.epochs,
        "seconds": {name: each[1:] for name, each in found.items()},
        "median": {name: statistics.median(each[1:]) for name, each in found.items()},
    }


def measure_overhead(effort: Effort, cores: int) -> dict[str, Any]:
    """`ray` with one worker against `stacked`."""
    found = compare(
        effort,
        {
            "stacked": lambda task: Stacked(task, Settings(CPU, "fp32", cores), Threads),
            "ray": lambda task: on_ray(task, 1, cores),
        },
    )
    return {**found, "overhead": found["median"]["ray"] / found["median"]["stacked"] - 1}


def measure_scaling(effort: Effort) -> dict[str, Any]:
    """Two workers against one, a core each; only one of the two engines works at a time."""
    found = compare(
        effort,
        {
            "1 worker": lambda task: on_ray(task, 1, 0),
            "2 workers": lambda task: on_ray(task, 2, 0),
        },
    )
    return {**found, "times": found["median"]["1 worker"] / found["median"]["2 workers"]}


# ----------------------------------------------------------------------------------- many clients


def make_crowd(clients: int, optimiser: Optimiser) -> Task:
    """Many clients with a few samples each, and the small model."""
    rng = np.random.default_rng(0)
    count = clients * SAMPLES
    return Task(
        model=build_initial("small", Seeds(0)),
        scheme=find_scheme("aa-hsfl-ll"),
        optimiser=optimiser,
        examples=Examples(
            rng.integers(0, 256, (count, 1, 8, 8), dtype=np.uint8), rng.integers(0, 10, count)
        ),
        clients=tuple(f"{n:07}" for n in range(clients)),
        shards=tuple(np.arange(count).reshape(clients, SAMPLES)),
        batch=SMALL_BATCH,
        epochs=2,
        seeds=Seeds(0),
    )


def draw_round(task: Task, index: int, taking_part: int) -> Round:
    """A round of some clients drawn at random, in groups of five."""
    count = len(task.clients)
    chosen = np.sort(np.random.default_rng(index).choice(count, taking_part, replace=False))
    served_by = np.arange(count)
    served_by[chosen] = chosen[np.arange(taking_part) // 5 * 5]
    present = np.zeros((task.epochs, count), dtype=np.bool_)
    present[:, chosen] = True
    return Round(index, Placement.three_tiers(2, 5, served_by), present)


def memory(pid: int | str) -> float:
    """MiB of a process: its own, and its part of files that it shares, such as libraries."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    sizes = dict(re.findall(r"^Pss_(Anon|File): +(\d+) kB", text, flags=re.MULTILINE))
    return sum(map(int, sizes.values())) / 1024


def find_stations() -> set[str]:
    """The processes of workers, those of an earlier engine too that have not ended yet."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(b"ray::Station"):
                found.add(path.parent.name)
        except OSError:
            continue  # it ended meanwhile
    return found


def store_memory() -> float:
    """MiB that Ray's object store holds."""
    import ray

    name = "object_store_memory"
    return (ray.cluster_resources()[name] - ray.available_resources().get(name, 0.0)) / 2**20


MEMORIES = ("driver", "workers", "store")


def train_some(task: Task, taking_part: int, rounds: int, cores: int) -> dict[str, Any]:
    """Seconds and memory, round by round."""
    before = find_stations()
    engine = on_ray(task, cores, 1)
    stations = find_stations() - before
    found: dict[str, list[float]] = {name: [] for name in ("seconds", *MEMORIES)}
    for index in range(rounds):
        plan = draw_round(task, index, taking_part)
        found["seconds"].append(seconds(lambda plan=plan: engine.run_round(plan)))
        found["driver"].append(memory("self"))
        found["workers"].append(sum(map(memory, stations)))
        found["store"].append(store_memory())
    third = max(1, rounds // 3)
    return {
        "clients": len(task.clients),
        "taking_part": taking_part,
        "rounds": rounds,
        "seconds_per_round": statistics.median(found["seconds"][1:]),
        **{
            f"{name}_{when}": max(values)
            for name in MEMORIES
            for when, values in (
                ("first_third", found[name][:third]),
                ("last_third", found[name][-third:]),
            )
        },
        "by_round": found,
    }


def measure_crowd(effort: Effort, cores: int) -> dict[str, Any]:
    """Without moments nothing is kept of a client; with momentum there is a buffer for each."""
    taking_part = int(effort.crowd * effort.share)
    optimisers = {"sgd": Optimiser("sgd", 0.05), "momentum": Optimiser("sgd", 0.05, momentum=0.9)}
    return {
        name: train_some(make_crowd(effort.crowd, each), taking_part, effort.rounds, cores)
        for name, each in optimisers.items()
    }


def measure_growth(effort: Effort, cores: int) -> dict[str, Any]:
    """The same number in a round, out of more and more."""
    taking_part = min(200, effort.sizes[0] // 10)
    sgd = Optimiser("sgd", 0.05)
    return {
        str(count): train_some(make_crowd(count, sgd), taking_part, effort.few_rounds, cores)
        for count in effort.sizes
    }


# ------------------------------------------------------------------------------------- the report


def table(results: dict[str, Any]) -> str:
    """The results as a page."""
    lines = [
        f"# Engine `ray`\n\n`{results['command']}`, {results['device']}, torch {results['torch']},"
        f" ray {results['ray']}.\n"
    ]
    for part, ratio, say in (
        ("overhead", "overhead", "overhead of `ray` with one worker: {:+.1%} (goal: below 10 %)"),
        ("scaling", "times", "two workers with a core each: {:.2f} times one (goal: 1.6)"),
    ):
        if part in results:
            found = results[part]
            lines.append(f"## {part}\n")
            lines.append(
                f"{found['model']}, {found['clients']} clients, {found['epochs']} epochs of"
                f" {found['batches']} batches of {BATCH}; {say.format(found[ratio])}.\n"
            )
            lines.append("| engine | seconds a round, median | all |\n|---|---|---|")
            for name, median in found["median"].items():
                each = ", ".join(f"{s:.2f}" for s in found["seconds"][name])
                lines.append(f"| {name} | {median:.2f} | {each} |")
            lines.append("")
    for part in ("crowd", "growth"):
        if part in results:
            lines.append(f"## {part}\n")
            lines.append(
                "Memory in MiB, the largest of the first and of the last third of the rounds.\n\n"
                "| | clients | in a round | rounds | seconds a round | driver | workers | store |\n"
                "|---|---|---|---|---|---|---|---|"
            )
            for name, found in results[part].items():
                lines.append(
                    f"| {name} | {found['clients']:,} | {found['taking_part']:,}"
                    f" | {found['rounds']} | {found['seconds_per_round']:.2f}"
                    f" | {' | '.join(_change(found, name) for name in MEMORIES)} |"
                )
            lines.append("")
    return "\n".join(lines)


def _change(found: dict[str, Any], name: str) -> str:
    return f"{found[f'{name}_first_third']:.0f}, {found[f'{name}_last_third']:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default="overhead,scaling,crowd,growth")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("-o", "--output", type=Path, default=None)
    options = parser.parse_args()
    effort = QUICK if options.quick else Effort()
    cores = torch.get_num_threads()
    with connected():
        import ray

        measures: dict[str, Callable[[], dict[str, Any]]] = {
            "overhead": lambda: measure_overhead(effort, cores),
            "scaling": lambda: measure_scaling(effort),
            "crowd": lambda: measure_crowd(effort, cores),
            "growth": lambda: measure_growth(effort, cores),
        }
        results: dict[str, Any] = {
            "command": " ".join(["python", "benchmarks/speed/on_ray.py", *sys.argv[1:]]),
            "device": f"{cores} cores, CPU",
            "torch": torch.__version__,
            "ray": ray.__version__,
            "python": platform.python_version(),
        }
        for part in options.parts.split(","):
            results[part] = measures[part]()
            print(part, {k: v for k, v in results[part].items() if k != "seconds"}, flush=True)
    text = table(results)
    print(text)
    if options.output or not options.quick:
        path = options.output or HERE / "ray.json"
        path.write_text(json.dumps(results, indent=2) + "\n")
        path.with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()
