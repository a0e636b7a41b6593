"""How fast all clients train at once, against the naive loop, in one run.

    python benchmarks/speed/training.py --device cpu            two cores: fp32 and bf16
    python benchmarks/speed/training.py --device cuda           one GPU: graph and folded

Every line is measured here and now, on noise of the model's own input shape, batch 32, SGD with
momentum, AA HSFL-ll at the paper's (h, v), full batches only. A step is a whole training step of
all clients: gather, three sub-models forward and backward, update. On a CPU, whose speed drifts,
the naive loop and the variants take turns, and a ratio is the median over the turns. The roof of a
CPU is the rate of a large matrix product on its cores, measured here; of a GPU, see `Case`. Results
go to training-cpu.json or training-cuda.json beside this file.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from naive import Naive, state_dict_average

from tiercut.cost import Placement
from tiercut.engines.build import find_executor
from tiercut.engines.executor import Settings
from tiercut.engines.mixing import Mixing
from tiercut.engines.optimiser import Optimiser
from tiercut.engines.stacked import Stacked
from tiercut.engines.task import Examples, Task, build_initial, everybody
from tiercut.models.trace import trace
from tiercut.schemes import find_scheme
from tiercut.seeds import Seeds

HERE = Path(__file__).parent
BATCH = 32
NAIVE_BATCHES = 2
TURNS = 5
"""How often the naive loop and the variants take turns on a CPU."""


@dataclass(frozen=True)
class Case:
    """A model at the paper's size: clients on a GPU, clients on a CPU, h, v and a GPU's roof."""

    gpu_clients: int
    cpu_clients: int
    h: int
    v: int
    roof: float
    """Seconds of a step in bf16 at the measured ceilings of an H200 (the spec's engine page)."""
    goals: dict[str, float]


CASES = {
    "alexnet": Case(100, 8, 3, 5, 3.7e-3, {"folded": 45, "threads fp32": 1.15, "threads bf16": 2}),
    "vgg11": Case(
        100, 8, 3, 8, 8.9e-3, {"folded": 32, "graph": 18, "threads fp32": 1.15, "threads bf16": 2}
    ),
    "vgg19": Case(30, 4, 5, 15, 6.2e-3, {"folded": 20, "threads fp32": 1.15, "threads bf16": 2}),
    "resnet101": Case(
        30, 2, 5, 26, 28.5e-3, {"folded": 12, "threads fp32": 1.15, "threads bf16": 2}
    ),
}


def make_task(name: str, clients: int, batches: int) -> Task:
    model = build_initial(name, Seeds(0))
    rng = np.random.default_rng(0)
    count = clients * batches * BATCH
    images = rng.integers(0, 256, (count, *model.input_shape), dtype=np.uint8)
    return Task(
        model=model,
        scheme=find_scheme("aa-hsfl-ll"),
        optimiser=Optimiser("sgd", 0.01, momentum=0.9),
        examples=Examples(images, rng.integers(0, 10, count)),
        clients=tuple(f"{n:04}" for n in range(clients)),
        shards=tuple(np.array_split(np.arange(count), clients)),
        batch=BATCH,
        epochs=1,
        seeds=Seeds(0),
    )


def placed(clients: int, case: Case) -> Placement:
    groups = max(1, clients // 5)
    return Placement.three_tiers(case.h, case.v, [n % groups for n in range(clients)])


def timed(device: torch.device, work: Callable[[], object]) -> float:
    """Wall seconds, with the device idle before and after."""
    _wait(device)
    start = time.perf_counter()
    work()
    _wait(device)
    return time.perf_counter() - start


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def memory(device: torch.device) -> float:
    """GiB reserved on the device since the last clean-up; 0 on a CPU."""
    return torch.cuda.max_memory_reserved(device) / 2**30 if device.type == "cuda" else 0.0


def clean(device: torch.device) -> None:
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)


def prepare_naive(name: str, case: Case, clients: int, device: torch.device) -> Callable[[], float]:
    """The naive loop, warm: gives the seconds of a step of all clients."""
    naive = Naive(make_task(name, clients, NAIVE_BATCHES), case.h, case.v, device)
    naive.epoch()
    return lambda: timed(device, naive.epoch) / NAIVE_BATCHES


@dataclass
class Prepared:
    """An engine after its first round, which includes compiling and capturing."""

    engine: Stacked
    clients: int
    batches: int
    first_round: float

    @property
    def trainer(self) -> Any:
        """The one executor."""
        (only,) = self.engine._executors.values()
        return only

    def step(self) -> float:
        """Seconds of a step of all clients, in a stretch of batches."""
        present = np.ones(self.clients, dtype=np.bool_)
        work = partial(self.trainer.train, self.engine.feed, range(self.batches), present)
        return timed(self.engine.settings.device, work) / self.batches


def prepare_engine(
    name: str, case: Case, clients: int, executor: str, settings: Settings, batches: int
) -> Prepared:
    task = make_task(name, clients, batches)
    start = time.perf_counter()
    engine = Stacked(task, settings, find_executor(executor, settings, task))
    engine.run_round(everybody(task, 0, placed(clients, case)))
    _wait(settings.device)
    return Prepared(engine, clients, batches, time.perf_counter() - start)


Lines = dict[str, dict[str, float]]
"""What was found of the naive loop and of every variant."""


def measure_in_turns(
    name: str, case: Case, clients: int, variants: Sequence[str], threads: int, batches: int
) -> Lines:
    """On a CPU: the naive loop and the variants in turn, and the median of what each turn says."""
    device = torch.device("cpu")
    lines: Lines = {"naive": {}}
    steps = {"naive": prepare_naive(name, case, clients, device)}
    for variant in variants:
        executor, precision = variant.split()
        settings = Settings(device, precision, threads)
        ready = prepare_engine(name, case, clients, executor, settings, batches)
        lines[variant] = {"first_round": ready.first_round}
        steps[variant] = ready.step
    # The first turn does not count: until then the process has not got the memory that all need.
    turns = [{key: step() for key, step in steps.items()} for _ in range(1 + TURNS)][1:]
    for key, line in lines.items():
        ratios = [turn["naive"] / turn[key] for turn in turns]
        line |= {
            "seconds": statistics.median(turn[key] for turn in turns),
            "times_naive": statistics.median(ratios),
            "least": min(ratios),
            "most": max(ratios),
        }
    return lines


def measure_one_by_one(
    name: str,
    case: Case,
    clients: int,
    variants: Sequence[str],
    device: torch.device,
    threads: int,
    batches: int,
) -> Lines:
    """On a GPU: one after another, so that each has the memory to itself."""
    clean(device)
    step = prepare_naive(name, case, clients, device)
    seconds = statistics.median(step() for _ in range(3))
    lines: Lines = {"naive": {"seconds": seconds, "times_naive": 1.0, "GiB": memory(device)}}
    del step
    for variant in variants:
        executor, precision = variant.split()
        settings = Settings(device, precision, threads)
        line = measure_engine(name, case, clients, executor, settings, batches)
        lines[variant] = {**line, "times_naive": seconds / line["seconds"]}
    return lines


def measure_engine(
    name: str, case: Case, clients: int, executor: str, settings: Settings, batches: int
) -> dict[str, float]:
    """On a GPU: the median over repeats."""
    clean(settings.device)
    ready = prepare_engine(name, case, clients, executor, settings, batches)
    repeats = [ready.step() for _ in range(3)]
    seconds = statistics.median(repeats)
    replays = {}
    if executor == "folded":
        course = ready.trainer._course._step

        def replay() -> None:
            for _ in range(batches):
                course.run()

        tensor_work = statistics.median(timed(settings.device, replay) for _ in range(3)) / batches
        replays = {"other_work": 1 - tensor_work / seconds}
    task = ready.engine.task
    again = partial(ready.engine.run_round, everybody(task, 1, placed(clients, case)))
    return {
        "seconds": seconds,
        "spread": (max(repeats) - min(repeats)) / seconds,
        "first_round": ready.first_round,
        "round_per_batch": timed(settings.device, again) / batches,
        **replays,
        "GiB": memory(settings.device),
    }


def measure_memory(name: str, case: Case, settings: Settings) -> dict[str, float]:
    """GiB of the fast path for a quarter, a half and all of the clients."""
    counts = [case.gpu_clients // 4, case.gpu_clients // 2, case.gpu_clients]
    return {str(n): measure_engine(name, case, n, "folded", settings, 2)["GiB"] for n in counts}


def measure_ceiling(precision: str) -> float:
    """FLOP/s of a large product on all cores: no convolution of that precision runs much faster."""
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    first, second = (torch.randn(2048, 2048).to(dtype) for _ in range(2))
    seconds = [timed(torch.device("cpu"), lambda: first @ second) for _ in range(7)]
    return 2 * 2048**3 / min(seconds[1:])


def find_roof(
    name: str, case: Case, clients: int, precision: str, seconds: float, on_gpu: bool
) -> dict[str, float]:
    """The share of what the hardware could do at best, where that is known."""
    if not on_gpu:
        work = 3 * trace(build_initial(name, Seeds(0))).flops.sum() * BATCH * clients
        return {"roof": float(work / seconds / measure_ceiling(precision))}
    return {"roof": case.roof / seconds} if precision == "bf16" else {}


def measure_averaging(name: str, case: Case, device: torch.device) -> dict[str, float]:
    """All parameters of all clients, in 20 groups: one product per tensor against state_dicts."""
    clean(device)
    clients = case.gpu_clients if device.type == "cuda" else case.cpu_clients
    model = build_initial(name, Seeds(0)).to(device)
    group = np.arange(clients) % max(1, clients // 5)
    mixing = Mixing.of(group, np.ones(clients), device)
    assert mixing is not None
    stacks = [p.detach().unsqueeze(0).repeat(clients, *[1] * p.dim()) for p in model.parameters()]

    def ours() -> None:
        for stack in stacks:
            mixing.average(stack)

    ours()
    fast = statistics.median(timed(device, ours) for _ in range(5))
    stacks.clear()
    clean(device)
    models = [build_initial(name, Seeds(0)).to(device) for _ in range(clients)]
    groups = [np.flatnonzero(group == g).tolist() for g in range(group.max() + 1)]
    state_dict_average(models, groups)
    slow = statistics.median(
        timed(device, lambda: state_dict_average(models, groups)) for _ in range(3)
    )
    return {"seconds": fast, "state_dict_seconds": slow, "times": slow / fast}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--models", default=",".join(CASES))
    parser.add_argument("--variants", default="")
    parser.add_argument("--batches", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="two clients, for the tests")
    parser.add_argument("-o", "--output", type=Path, default=None)
    options = parser.parse_args()
    device = torch.device(options.device)
    on_gpu = device.type == "cuda"
    variants = (
        options.variants.split(",")
        if options.variants
        else (["graph bf16", "folded bf16"] if on_gpu else ["threads fp32", "threads bf16"])
    )
    threads = torch.get_num_threads()
    results: dict[str, Any] = {
        "command": f"python benchmarks/speed/training.py --device {options.device}",
        "device": torch.cuda.get_device_name() if on_gpu else f"CPU, {threads} threads",
        "torch": torch.__version__,
        "python": platform.python_version(),
        "models": {},
    }
    for name in options.models.split(","):
        case = CASES[name]
        clients = 2 if options.quick else case.gpu_clients if on_gpu else case.cpu_clients
        batches = options.batches or (8 if on_gpu else 2)
        if on_gpu:
            lines = measure_one_by_one(name, case, clients, variants, device, threads, batches)
        else:
            lines = measure_in_turns(name, case, clients, variants, threads, batches)
        for variant, line in lines.items():
            if variant != "naive":
                precision = variant.split()[1]
                line.update(find_roof(name, case, clients, precision, line["seconds"], on_gpu))
            report(name, variant, clients, line, case)
        results["models"][name] = {"clients": clients, **lines}
    if on_gpu and not options.quick and "vgg11" in results["models"]:
        found = measure_memory("vgg11", CASES["vgg11"], Settings(device, "bf16", threads))
        results["memory_of_vgg11_by_clients_GiB"] = found
        print("GiB by clients", found)
    averaged = "alexnet" if options.quick else "vgg11" if on_gpu else "alexnet"
    results["averaging"] = {averaged: measure_averaging(averaged, CASES[averaged], device)}
    print("averaging", json.dumps(results["averaging"]))
    if not options.quick or options.output:
        path = options.output or HERE / f"training-{device.type}.json"
        path.write_text(json.dumps(results, indent=2) + "\n")
        path.with_suffix(".md").write_text(table(results))
        print(f"wrote {path.name} and its table")


def table(results: dict[str, Any]) -> str:
    """The results as a page."""
    rows = [
        f"# Training all clients at once, against the naive loop\n\n`{results['command']}`, batch"
        f" {BATCH}, {results['device']}, torch {results['torch']}.\n\n"
        "| model | N | variant | ms/step | samples/s | x naive | goal | of the roof | other work |"
        " GiB | first round, s |\n|---|---|---|---|---|---|---|---|---|---|---|"
    ]
    for name, found in results["models"].items():
        clients, goals = found["clients"], CASES[name].goals
        for variant, line in found.items():
            if variant != "clients":
                seconds = line["seconds"]
                goal = goals.get(variant, goals.get(variant.split()[0]))
                cells = (
                    name,
                    clients,
                    variant,
                    f"{seconds * 1e3:.1f}",
                    f"{clients * BATCH / seconds:,.0f}",
                    show_ratio(line),
                    goal if goal and variant != "naive" else "",
                    f"{line['roof']:.0%}" if "roof" in line else "",
                    f"{line['other_work']:.1%}" if "other_work" in line else "",
                    f"{line['GiB']:.1f}" if "GiB" in line else "",
                    f"{line['first_round']:.1f}" if "first_round" in line else "",
                )
                rows.append("| " + " | ".join(map(str, cells)) + " |")
    rows.append("")
    for name, found in results["averaging"].items():
        rows.append(
            f"Averaging all parameters of {name}, five a group: {found['seconds'] * 1e3:.1f} ms,"
            f" {found['times']:.0f} times faster than a loop over state_dicts."
        )
    if "memory_of_vgg11_by_clients_GiB" in results:
        by_clients = results["memory_of_vgg11_by_clients_GiB"].items()
        listed = ", ".join(f"{size:.1f} GiB for {n}" for n, size in by_clients)
        rows.append(f"Memory of VGG-11 grows with the clients: {listed}.")
    return "\n".join(rows) + "\n"


def show_ratio(line: dict[str, float]) -> str:
    """How many times as fast as the naive loop, with the range over turns."""
    if line.get("least") == line.get("most"):
        return f"{line['times_naive']:.2f}"
    return f"{line['times_naive']:.2f} ({line['least']:.2f} to {line['most']:.2f})"


def report(name: str, variant: str, clients: int, found: dict[str, float], case: Case) -> None:
    seconds = found["seconds"]
    line = f"{name:10} N={clients:<4} {variant:13} {seconds * 1e3:9.2f} ms/step"
    line += f" {clients * BATCH / seconds:10.0f} samples/s  x{found['times_naive']:6.2f}"
    line += f" ({found['least']:.2f} to {found['most']:.2f})" if "least" in found else ""
    goal = case.goals.get(variant, case.goals.get(variant.split(maxsplit=1)[0]))
    line += f" (goal {goal:g})" if goal and variant != "naive" else ""
    line += f"  {found['GiB']:.1f} GiB" if "GiB" in found else ""
    line += f"  {found['roof']:.0%} of the roof" if "roof" in found else ""
    line += f"  other work {found['other_work']:.1%}" if "other_work" in found else ""
    line += f"  first round {found['first_round']:.1f} s" if "first_round" in found else ""
    print(line, flush=True)


if __name__ == "__main__":
    main()
