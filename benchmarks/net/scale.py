"""A server and many light devices on one machine: what it needs, and how long a round takes.

    python benchmarks/net/scale.py

`tiercut serve` runs as it is, in a process of its own, with mutual TLS. The devices are those of
`tiercut join`, many of them in each of a few processes, with a small model and a few digits each.
Memory is the largest that each process ever held. All of them share the cores of one machine, which
no plan knows of: predicted seconds mean nothing here, and deadlines are far away (`--patience`).
Results go to scale.json beside this file.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from unittest.mock import patch

import grpc
import torch

from tiercut.data.own import load_own
from tiercut.documents import read_json
from tiercut.net import bench
from tiercut.net.certs import create_ca, issue
from tiercut.net.device import Device, Place
from tiercut.net.identity import LIST_FILE, SERVER, Revoked, read_credentials
from tiercut.net.logs import Log
from tiercut.net.streams import MutualTLS
from tiercut.net.throughput import measure_throughput
from tiercut.train.folder import RunFolder
from tiercut.train.journal import read_records

P = ParamSpec("P")
T = TypeVar("T")

HERE = Path(__file__).parent
GOAL = 4.0
"""GiB that the server may need."""
SCENARIO = """
name = "scale"
[model]
name = "small"
[fleet]
clients = {clients}
examples = {examples}
[training]
batch = 3
epochs = 2
rounds = {rounds}
rate = 0.05
optimiser = "sgd"
[plan]
cost = "network"
"""
TIERCUT = str(Path(sys.executable).parent / "tiercut")
LOOK = 0.1
"""Seconds between two looks at the memory of those who may end any time."""
LEAVING = 30.0
"""Seconds that all have to end when the first has ended."""


# ----------------------------------------------------------------------------------- the devices


def be_devices(names: Sequence[str], server: str, folder: Path) -> None:
    """Run some devices in this process, until the server sends them home."""
    torch.set_num_threads(1)
    # They are one machine and share a thread: measured once, or all would wait for one another.
    with patch.object(bench, "measure_throughput", once(measure_throughput)):
        asyncio.run(_run_all(names, server, folder))


def once(work: Callable[P, T]) -> Callable[P, T]:
    """Something that is done at the first call, and has the same result ever after."""
    results: list[T] = []

    def answer(*arguments: P.args, **options: P.kwargs) -> T:
        if not results:
            results.append(work(*arguments, **options))
        return results[0]

    return answer


async def _run_all(names: Sequence[str], server: str, folder: Path) -> None:
    with (folder / f"{names[0]}.jsonl").open("w") as file, ThreadPoolExecutor(1) as thread:
        log = Log(file)
        await asyncio.gather(*(_device(name, server, folder, log, thread).run() for name in names))


def _device(name: str, server: str, folder: Path, log: Log, thread: ThreadPoolExecutor) -> Device:
    home, data = folder / "ca" / "nodes" / name, folder / "shards" / f"{name}.npz"
    own = read_credentials(home)
    return Device(
        MutualTLS(own, Revoked(home / LIST_FILE, own.ca, log.warn)),
        Place(server, "127.0.0.1:0"),
        lambda classes, shape: load_own(data, classes=classes, shape=shape),
        log,
        shared=thread,
    )


# ------------------------------------------------------------------------------------ measuring


class Watch:
    """The largest memory that some processes ever held, and the most threads."""

    def __init__(self, *processes: int) -> None:
        self.gib = dict.fromkeys(processes, 0.0)
        self.threads = dict.fromkeys(processes, 0)

    def look(self) -> None:
        """See how much it is by now; who has ended keeps what it had."""
        for process in self.gib:
            try:
                lines = Path(f"/proc/{process}/status").read_text().splitlines()
            except (FileNotFoundError, ProcessLookupError):
                continue
            found = dict(line.split(":", 1) for line in lines)
            if "VmHWM" in found:
                self.gib[process] = int(found["VmHWM"].split()[0]) / 2**20
                self.threads[process] = max(self.threads[process], int(found["Threads"]))


def watch(server: subprocess.Popen[bytes], devices: Sequence[BaseProcess]) -> dict[str, Any]:
    """Wait for everybody, and say how much memory they took."""
    pids = [process.pid for process in devices if process.pid is not None]
    watching = Watch(server.pid, *pids)
    first_end = None
    while True:
        here = [server.poll() is None, *(process.is_alive() for process in devices)]
        if not any(here):
            break
        if not all(here):
            first_end = first_end or time.monotonic()
            if time.monotonic() > first_end + LEAVING:
                server.kill()
                sys.exit("not all of them end; --keep FOLDER keeps what they say")
        watching.look()
        time.sleep(LOOK)
    return {
        "server_exit": server.wait(),
        "server_GiB": watching.gib[server.pid],
        "server_threads": watching.threads[server.pid],
        "device_processes_GiB": [watching.gib[pid] for pid in pids],
    }


def run(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Train with everybody; what it took."""
    scenario = folder / "scenario.toml"
    scenario.write_text(SCENARIO.format(**vars(options)))
    split = [TIERCUT, "data", "split", str(scenario), "-o", str(folder / "shards"), "--json"]
    made = json.loads(subprocess.run(split, check=True, capture_output=True).stdout)
    names = [share["name"] for share in made["clients"]]
    create_ca(folder / "ca")
    issue(folder / "ca", [SERVER, *names])
    place = f"127.0.0.1:{options.port}"
    serve = [TIERCUT, "serve", str(scenario), "--listen", place, "-o", str(folder / "run")]
    serve += ["--certs", str(folder / "ca" / "nodes" / SERVER), "--patience", str(options.patience)]
    with (folder / "serve.err").open("w") as errors:
        server = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=errors)
    spawn = multiprocessing.get_context("spawn")
    devices = [
        spawn.Process(
            target=be_devices, args=(names[k :: options.processes], place, folder), daemon=True
        )
        for k in range(options.processes)
    ]
    for process in devices:
        process.start()
    return {**watch(server, devices), **read_run(RunFolder(folder / "run"))}


def read_run(folder: RunFolder) -> dict[str, Any]:
    """What a finished run says of itself."""
    moments: dict[str, list[datetime]] = {}
    for line in folder.log.read_text().splitlines():
        event = json.loads(line)
        moments.setdefault(event["event"], []).append(datetime.fromisoformat(event["time"]))
    listening, joined, measured = (
        moments[kind][-1] for kind in ("listening", "joined", "measured")
    )
    records = read_records(folder.rounds)
    return {
        "joining_seconds": (joined - listening).total_seconds(),
        "measuring_seconds": (measured - joined).total_seconds(),
        "planner_seconds": read_json(folder.plan)["wall_seconds"],
        "rounds": [
            {
                "clients": record.clients,
                "lost": record.lost,
                "aggregators": record.aggregators,
                "attempts": record.real.attempts,
                **record.real.measured.model_dump(),
            }
            for record in records
            if record.real is not None
        ],
    }


def table(results: dict[str, Any]) -> str:
    """The results as a page."""
    devices = ", ".join(f"{one:.2f}" for one in results["device_processes_GiB"])
    rows = [
        f"# Many devices at one server\n\n`{results['command']}`, {results['device']}, grpcio"
        f" {results['grpcio']}, torch {results['torch']}: {results['devices']} devices in"
        f" {results['processes']} processes, mutual TLS, all on this machine; load average"
        f" {results['load_before']:.1f} before it.\n\n"
        f"The server held {results['server_GiB']:.2f} GiB at most (goal: under {GOAL:g} GiB), with"
        f" {results['server_threads']} threads; the processes of the devices {devices} GiB.\n\n"
        f"All had joined after {results['joining_seconds']:.1f} s and were measured after another"
        f" {results['measuring_seconds']:.1f} s; the planner took"
        f" {results['planner_seconds']:.1f} s.\n\n"
        f"| round | devices | lost | aggregators | attempts | seconds | down | training | up |\n"
        f"|---|---|---|---|---|---|---|---|---|"
    ]
    for number, found in enumerate(results["rounds"], start=1):
        cells = [number, *(found[key] for key in ("clients", "lost", "aggregators", "attempts"))]
        cells += [f"{found[key]:.2f}" for key in ("round", "download", "training", "upload")]
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--examples", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--patience", type=float, default=5000.0, help="as of `tiercut serve`")
    parser.add_argument("--port", type=int, default=7600)
    parser.add_argument("--keep", type=Path, default=None, help="run in this folder, and keep it")
    parser.add_argument("-o", "--output", type=Path, default=HERE / "scale.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        results = {
            "command": "python benchmarks/net/scale.py",
            "device": f"{os.cpu_count()} cores, CPU",
            "grpcio": grpc.__version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
            "devices": options.clients,
            "processes": options.processes,
            "load_before": os.getloadavg()[0],
            **run(folder, options),
        }
    options.output.write_text(json.dumps(results, indent=2) + "\n")
    options.output.with_suffix(".md").write_text(table(results))
    print(table(results))


if __name__ == "__main__":
    main()
