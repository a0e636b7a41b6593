"""A training run on real processes while they are killed, stopped and cut off, again and again.

    python -m tests.net.campaign --faults 200 --seed 0

The server and its devices are processes with certificates of their own. Between them are relays, so
that a link can be cut. Something fails every second or so; when all faults are done, a few more
rounds end the run. What must hold: it does end, no round takes longer than deadlines explain, every
round is there once, and what was learnt is what is learnt in peace.
"""

import argparse
import heapq
import itertools
import json
import os
import random
import sys
import tempfile
import textwrap
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from statistics import mean

import numpy as np

from tests.net.instances import STRONG, WEAK, in_pairs, make_known
from tests.net.processes import Program, free_port
from tests.net.relay import Relay
from tests.net.site import shards_of
from tiercut.data import load
from tiercut.documents import write_text
from tiercut.errors import TiercutError
from tiercut.net.certs import create_ca, issue
from tiercut.net.engine import LoopThread
from tiercut.scenario import read_scenario
from tiercut.train.checkpoint import checkpoints, read_checkpoint
from tiercut.train.folder import RunFolder
from tiercut.train.journal import read_records
from tiercut.train.loop import run
from tiercut.train.setting import build_setting

PEACEFUL = 40
"""Rounds of an undisturbed run: accuracy grows no more after half of them."""
EXAMPLES = 200
SCENARIO = f"""\
name = "campaign"
seed = {{seed}}

[model]
name = "small"

[fleet]
clients = {{devices}}
examples = {EXAMPLES}

[training]
batch = 20
epochs = 2
rounds = {PEACEFUL}
rate = 0.005

[plan]
cost = "network"

[engine]
threads = 1
"""
TICK = 0.05
"""Seconds between two looks at what happens."""
STUCK = 180.0
"""Seconds without a new round after which something hangs: a device that says nothing (10), a
server that waits for its devices (30), and the deadlines of some attempts, on a busy machine."""
PEACE = 3
"""Runs that nobody disturbs, which say how much accuracy differs from seed to seed."""
LAST = 5
"""Rounds after the last fault; accuracy is the mean over them."""
MANY = 10**6
"""Rounds that are never reached."""
PAUSE = (0.5, 2.0)
"""Seconds between two faults."""
OUTAGES = (0.5, 2.0, 4.0, 12.0)
"""Seconds that a device stands still or is cut off; the longest is found by silence."""
ROOM = 1.5
"""How many times the memory of its first rounds a server may need at the end."""


class Member:
    """A device, and the wires that lead to it and from it."""

    def __init__(self, camp, name):
        self._camp, self.name = camp, name
        own = f"127.0.0.1:{free_port()}"
        self._to_server = Relay(camp.loops, camp.address)
        self._to_it = Relay(camp.loops, own)
        self._words = (
            *("join", self._to_server.address, "--certs", camp.folder / "ca" / "nodes" / name),
            *("--data", camp.folder / f"{name}.npz", "--threads", 1),
            *("--listen", own, "--advertise", self._to_it.address),
        )
        self.start()

    def start(self):
        self.troubled = False
        self.program = Program(*self._words, said=self._camp.folder / f"{self.name}.txt")

    def kill(self):
        self.troubled = True
        self.program.kill()

    def freeze(self):
        self.troubled = True
        self.program.freeze()

    def thaw(self):
        self.program.thaw()
        self.troubled = False

    def cut(self):
        self.troubled = True
        self._to_server.cut()
        self._to_it.cut()

    def mend(self):
        self._to_server.mend()
        self._to_it.mend()
        self.troubled = False

    def shake(self):
        self._to_server.shake()
        self._to_it.shake()

    def end(self):
        self.program.kill()
        self._to_server.close()
        self._to_it.close()


@dataclass(frozen=True)
class Outcome:
    """What a campaign came to; `problems` are sentences, and there must be none."""

    seed: int
    faults: dict[str, int]
    seconds: float
    rounds: int
    restarted: int
    """Attempts at rounds that had to be given up."""
    lost: int
    """Clients that failed in rounds which went on without them."""
    longest: float
    """Seconds between two accepted rounds, at most."""
    devices: float
    """That took part in a round to its end, in the mean."""
    accuracy: float
    worst: float
    """The lowest accuracy after half of the faults."""
    undisturbed: tuple[float, ...]
    memory: tuple[float, float]
    """MB of the server that lived longest: in its first rounds, and at the end."""
    problems: tuple[str, ...]


class Campaign:
    """One run and its faults."""

    def __init__(self, folder, *, faults, devices, seed, pause=PAUSE, outages=OUTAGES):
        self.folder, self._faults, self._seed = folder, faults, seed
        self._pause, self._outages = pause, outages
        self._random = random.Random(seed)
        self._scenario = folder / "scenario.toml"
        self._scenario.write_text(SCENARIO.format(devices=devices, seed=seed))
        self.run_folder = RunFolder(folder / "run")
        self.address = f"127.0.0.1:{free_port()}"
        self.loops = LoopThread()
        self._names = self._hand_out()
        in_turns = [WEAK if n % 2 else STRONG for n in range(devices)]  # so that some serve others
        make_known(self.run_folder.path, in_pairs(in_turns, EXAMPLES))
        self._problems = []
        self._done = Counter()
        self._later = []
        self._order = itertools.count()
        self._rounds = MANY
        self._half = 0
        """Rounds that there were after half of the faults."""
        self._lives = []
        """MB of the server after each round, for each time that it was started."""

    def _hand_out(self):
        work = read_scenario(self._scenario)
        shards = shards_of(work, load(work.data, None))
        create_ca(self.folder / "ca")
        issue(self.folder / "ca", ["server", *shards], addresses=["127.0.0.1"])
        for name, own in shards.items():
            np.savez(self.folder / f"{name}.npz", images=own.images, labels=own.labels)
        return list(shards)

    # ---------------------------------------------------------------------------------- the run

    def carry_out(self, tell=print):
        """Train to the end while faults happen."""
        began = time.monotonic()
        self._start_server()
        self._members = [Member(self, name) for name in self._names]
        try:
            longest = self._watch(tell)
            seconds = time.monotonic() - began
            self._check_ends()
        finally:
            self._end()
        self._check_words()
        records = self._check_rounds()
        return Outcome(
            seed=self._seed,
            faults=dict(self._done),
            seconds=seconds,
            rounds=len(records),
            restarted=sum(record.real.attempts - 1 for record in records),
            lost=sum(record.lost for record in records),
            longest=longest,
            devices=mean(record.clients - record.lost for record in records),
            accuracy=mean(record.accuracy for record in records[-LAST:]),
            worst=min(record.accuracy for record in records[self._half :]),
            undisturbed=(),
            memory=self._check_memory(),
            problems=tuple(self._problems),
        )

    def _start_server(self):
        self._server = Program(
            *("serve", self._scenario, "--certs", self.folder / "ca" / "nodes" / "server"),
            *("--listen", self.address, "-o", self.run_folder.path, "--resume"),
            *("--rounds", self._rounds),
            said=self.folder / "server.txt",
        )
        self._serving = True
        self._lives.append([])

    def _watch(self, tell):
        """Until the server is done; the longest time that a round took."""
        rounds, since, longest, next_fault = 0, time.monotonic(), 0.0, time.monotonic()
        while self._server.alive or not self._serving:
            time.sleep(TICK)
            now, found = time.monotonic(), self._count_rounds()
            if found != rounds:
                tell(f"round {found}, {self._done.total()} faults")
                longest, rounds, since = max(longest, now - since), found, now
                self._lives[-1].append(self._server_memory())
            if now - since > STUCK:
                self._problems.append(f"no round in {STUCK:.0f} s after round {rounds}")
                break
            self._end_faults(now)
            if self._done.total() == self._faults:
                self._bring_to_an_end()
            elif now >= next_fault and rounds and self._disturb(now):
                next_fault = now + self._random.uniform(*self._pause)
        return longest

    def _bring_to_an_end(self):
        """When nothing ails any device, start the server once more for a few rounds."""
        if self._rounds == MANY and not self._later:
            self._server.kill()
            self._rounds = self._count_rounds() + LAST
            self._start_server()

    def _count_rounds(self):
        path = self.run_folder.rounds
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def _end(self):
        """Leave no process behind."""
        self._server.kill()
        for member in self._members:
            member.end()
        self.loops.close()

    # ----------------------------------------------------------------------------------- faults

    def _disturb(self, now):
        """Let something fail; False where nothing can now."""
        calm = [member for member in self._members if not member.troubled]
        # In the second half one server sees everything, which is when its memory is looked at.
        early = self._done.total() < self._faults / 2
        kinds = ["device killed"] * 4 + ["device stopped", "link cut", "connections broken"] * 2
        kind = self._random.choice(kinds + ["server killed"] * 2 * early)
        if kind == "server killed":
            if not self._serving:
                return False
            self._serving = False
            self._server.kill()
            self._plan(now + self._random.uniform(0, 2), self._start_server)
        elif not calm:
            return False
        else:
            self._disturb_device(kind, self._random.choice(calm), now)
        self._done[kind] += 1
        self._half = self._count_rounds() if early else self._half
        return True

    def _disturb_device(self, kind, member, now):
        if not member.program.alive:
            self._problems.append(f"{member.name} ended by itself")
        if kind == "device killed":
            member.kill()
            self._plan(now + self._random.uniform(0, 3), member.start)
        elif kind == "device stopped":
            member.freeze()
            self._plan(now + self._random.choice(self._outages), member.thaw)
        elif kind == "link cut":
            member.cut()
            self._plan(now + self._random.choice(self._outages), member.mend)
        else:
            member.shake()

    def _plan(self, moment, action):
        heapq.heappush(self._later, (moment, next(self._order), action))

    def _end_faults(self, now):
        while self._later and self._later[0][0] <= now:
            heapq.heappop(self._later)[2]()

    # ----------------------------------------------------------------------------------- checks

    def _check_ends(self):
        """The server comes to its end and sends home the devices that nothing ails."""
        if self._server.alive or self._server.wait() != 0:
            self._problems.append("the server did not come to its end")
            return
        for member in self._members:
            if not member.troubled and member.program.wait() != 0:
                self._problems.append(f"{member.name} ended with an error")

    def _check_words(self):
        for path in self.folder.glob("*.txt"):
            said = path.read_text()
            for sign in ("Traceback", "this is a bug", "work failed"):
                if sign in said:
                    self._problems.append(f"{path.name} says {sign!r}")

    def _check_rounds(self):
        try:
            records = read_records(self.run_folder.rounds)  # each once, and in order
            newest, _ = read_checkpoint(checkpoints(self.run_folder.checkpoints)[0])
        except (TiercutError, IndexError) as problem:
            raise AssertionError(f"the run's folder is damaged: {problem}") from None
        if not len(records) == newest.round == self._rounds:
            self._problems.append(f"{len(records)} rounds, and the state is of {newest.round}")
        return records

    def _server_memory(self):
        """MB of the server, now."""
        with suppress(OSError):
            for line in Path(f"/proc/{self._server.pid}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) / 1e3
        return 0.0

    def _check_memory(self):
        life = max(self._lives, key=len)
        first, last = max(life[:3]), max(life[-3:])
        if last > ROOM * first:
            self._problems.append(f"the server's memory grew from {first:.0f} to {last:.0f} MB")
        return first, last


def train_in_peace(folder, *, devices, seeds):
    """The accuracies of runs that nobody disturbs, in simulation."""
    found = []
    for seed in seeds:
        path = folder / f"peace-{seed}.toml"
        path.write_text(SCENARIO.format(devices=devices, seed=seed))
        run(build_setting(read_scenario(path)), folder / f"peace-{seed}")
        records = read_records(RunFolder(folder / f"peace-{seed}").rounds)
        found.append(mean(record.accuracy for record in records[-LAST:]))
    return tuple(found)


def judge(outcome, peace):
    """The outcome beside what is learnt in peace."""
    problems = outcome.problems
    if outcome.accuracy < min(peace):
        problems += (f"accuracy {outcome.accuracy:.2%} is below all undisturbed runs",)
    return replace(outcome, undisturbed=peace, problems=problems)


def describe(outcome, command):
    """The outcome for people."""
    low, high = min(outcome.undisturbed), max(outcome.undisturbed)
    first, last = outcome.memory
    paragraphs = (
        f"Made by `{command}`: a server and its devices as processes with mutual TLS on one machine"
        f" with {os.cpu_count()} cores, CPU only. The seed draws what fails; what that hits depends"
        f" on the clock.",
        f"{outcome.rounds} rounds in {timedelta(seconds=round(outcome.seconds))}, each recorded"
        f" once, with {outcome.devices:.1f} devices in the mean. {outcome.restarted} attempts at"
        f" rounds were given up and started again; {outcome.lost} times a round went on without a"
        f" client that failed. The longest time between two accepted rounds was"
        f" {outcome.longest:.0f} s.",
        f"Accuracy, mean of the {LAST} rounds after the last fault: {outcome.accuracy:.2%}."
        f" Undisturbed, {PEACE} seeds: {low:.2%} to {high:.2%}. The lowest of any round in the"
        f" second half of the faults, some of which had a single device: {outcome.worst:.2%}.",
        f"Memory of the server that lived longest, through the second half: {first:.0f} MB in its"
        f" first rounds, {last:.0f} MB at the end.",
        f"Problems (hangs, tracebacks, rounds missing or twice, devices that ended):"
        f" {'; '.join(outcome.problems) or 'none'}.",
    )
    made, *rest = (textwrap.fill(text, 100, break_on_hyphens=False) for text in paragraphs)
    kinds = [*sorted(outcome.faults.items()), ("all", sum(outcome.faults.values()))]
    table = "\n".join(("| fault | times |", "|---|---|", *(f"| {k} | {n} |" for k, n in kinds)))
    return "\n\n".join(("# Faults", made, table, *rest)) + "\n"


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--devices", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="keep everything here")
    parser.add_argument("-o", "--output", type=Path, help="write the summary here")
    options = parser.parse_args(words)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="campaign-"))
    folder.mkdir(parents=True, exist_ok=True)
    seeds = range(options.seed, options.seed + PEACE)
    peace = train_in_peace(folder, devices=options.devices, seeds=seeds)
    size = {"faults": options.faults, "devices": options.devices}
    campaign = Campaign(folder, **size, seed=options.seed)
    outcome = campaign.carry_out(lambda line: print(line, file=sys.stderr))
    outcome = judge(outcome, peace)
    command = f"python -m tests.net.campaign --faults {options.faults} --seed {options.seed}"
    text = describe(outcome, command)
    print(text)
    print(json.dumps(asdict(outcome)))
    if options.output is not None:
        write_text(options.output, text)
    sys.exit(bool(outcome.problems))


if __name__ == "__main__":
    main()
