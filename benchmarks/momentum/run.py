"""What momentum between rounds brings to models on several hosts, and to one at the server.

    python benchmarks/momentum/run.py --data-dir DIR

Trains SFL, cut after the first of twelve layers, so that nearly all of it is one model, and AA
HSFL-ll, cut after the seventh, with those layers on nine aggregators; each with two learning rates,
with and without momentum between rounds. Writes rounds.jsonl of every run beside this file, and
the page. A run that is there is kept.
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tiercut.cli.training_progress import watching_rounds
from tiercut.errors import TiercutError
from tiercut.plan.plan import PlanFile
from tiercut.scenario import read_scenario
from tiercut.train.loop import run
from tiercut.train.setting import build_setting

HERE = Path(__file__).parent
CLIENTS, GROUPS = 30, 9
PLANS = {
    "sfl": PlanFile(version=1, scheme="sfl", cut_layer=1, aggregator_of=tuple(range(CLIENTS))),
    "aa-hsfl-ll": PlanFile(
        version=1,
        aggregator_layer=2,
        cut_layer=7,
        aggregator_of=tuple(n % GROUPS for n in range(CLIENTS)),
    ),
}
TITLES = {"sfl": "SFL", "aa-hsfl-ll": "AA HSFL-ll"}
RATES, MOMENTA = (1e-3, 3e-3), (0.0, 0.8)
PASS = 4
"""Rounds in a pass over the data."""
SHOWN = range(2, 13, 2)
"""The passes after which the page tells the accuracy."""


@dataclass(frozen=True)
class Variant:
    """One run."""

    scheme: str
    rate: float
    momentum: float

    @property
    def file(self) -> Path:
        """Its rounds."""
        return HERE / f"{self.scheme}-{self.rate:g}-{self.momentum:g}.jsonl"

    def train(self, data_dir: Path) -> None:
        """Train it, and keep its rounds."""
        scenario = read_scenario(HERE / "scenario.toml")
        own = {"rate": self.rate, "outer_momentum": self.momentum}
        training = scenario.training.model_copy(update=own)
        scenario = scenario.model_copy(update={"training": training})
        setting = build_setting(scenario, plan=PLANS[self.scheme], data_dir=data_dir)
        with tempfile.TemporaryDirectory() as folder:
            with watching_rounds() as watcher:
                run(setting, Path(folder) / "run", observers=[watcher])
            shutil.copy(Path(folder) / "run/rounds.jsonl", self.file)

    def accuracies(self) -> list[float]:
        """After every pass, in percent."""
        rounds = [json.loads(line) for line in self.file.read_text().splitlines()]
        return [100 * one["accuracy"] for one in rounds[PASS - 1 :: PASS]]

    def row(self) -> str:
        """Its line of the table."""
        found = self.accuracies()
        cells = " | ".join(f"{found[number - 1]:.1f}" for number in SHOWN)
        return f"| {TITLES[self.scheme]} | {self.rate:g} | {self.momentum:g} | {cells} |"


VARIANTS = [Variant(*each) for each in itertools.product(PLANS, RATES, MOMENTA)]


def table() -> str:
    """Test accuracies after some of the passes."""
    head = " | ".join(f"pass {number}" for number in SHOWN)
    line = "|---" * (3 + len(SHOWN)) + "|"
    rows = [variant.row() for variant in VARIANTS]
    return "\n".join([f"| scheme | rate | outer momentum | {head} |", line, *rows])


def main() -> None:
    """Train what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data-dir", type=Path, required=True, help="where CIFAR-10 lies")
    data_dir = parser.parse_args().data_dir
    sys.path.insert(0, str(HERE))  # where the model is
    for number, variant in enumerate(VARIANTS, start=1):
        if not variant.file.exists():
            print(f"{number} of {len(VARIANTS)}: {variant.file.name}", file=sys.stderr)
            variant.train(data_dir)
    print(table())
    print(f"\n{platform.platform()}, {platform.processor() or platform.machine()}")


if __name__ == "__main__":
    try:
        main()
    except TiercutError as problem:
        sys.exit(str(problem))
