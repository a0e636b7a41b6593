"""A scheme of your own: a value that says what is averaged over whom, and when.

This one is AA HSFL-ll with one shared model on every host. Replicas of one layer that lie on one
machine are averaged after every batch, which sends nothing. Run this file, or from this folder:

    tiercut train ../scenarios/demo.toml --scheme own_scheme:SCHEME
"""

import tempfile
from dataclasses import replace
from pathlib import Path

from tiercut.cost import scheme_named
from tiercut.scenario import read_scenario
from tiercut.schemes import Average, Over, Part, Scheme
from tiercut.schemes.scheme import AT_ROUND_END
from tiercut.train.loop import run
from tiercut.train.overrides import override
from tiercut.train.setting import build_setting
from tiercut.units import show_size, show_time

SCENARIO = Path(__file__).resolve().parent.parent / "scenarios" / "demo.toml"

SCHEME = Scheme(
    # What is computed where and sent to whom is AA HSFL-ll's; only the name is new.
    cost=replace(scheme_named("aa-hsfl-ll"), name="shared-hsfl", title="Shared HSFL"),
    solver="exact",
    averages=(
        Average(Part.AGGREGATOR, Over.GROUP, "batch"),
        Average(Part.SERVER, Over.ALL, "batch"),
        *AT_ROUND_END,
    ),
)


def main() -> None:
    """Train the scheme and the one it came from, on the same data from the same weights."""
    scenario = override(read_scenario(SCENARIO), training={"rounds": 3}, engine={"threads": 1})
    for name in (f"{Path(__file__).stem}:SCHEME", "aa-hsfl-ll"):
        with tempfile.TemporaryDirectory() as folder:
            summary = run(build_setting(scenario, scheme=name), Path(folder) / "run")
        print(
            f"{name:20} {summary.accuracy:.1%} after {summary.rounds} rounds,"
            f" {show_time(summary.seconds)} and {show_size(summary.bytes)}"
        )


if __name__ == "__main__":
    main()
