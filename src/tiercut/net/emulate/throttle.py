"""A share of a core for each host: cgroups with a quota of processor time."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tiercut.errors import MissingError
from tiercut.net.emulate.names import Names

MOUNTS = Path("/proc/mounts")
"""Where the kernel lists its file systems, cgroups among them."""
PERIOD_US = 5_000
"""How often a quota is filled anew. What a host leaves of it is lost, and it starts the next period
with all of it: the shorter they are, the less a host that pauses often runs ahead of its share."""
SMALLEST_QUOTA_US = 1_000
"""The kernel's own limit; smaller shares have a longer period instead."""
LONGEST_PERIOD_US = 1_000_000
"""The kernel's own limit too."""
SMALLEST_SHARE = SMALLEST_QUOTA_US / LONGEST_PERIOD_US
MOST_WEIGHT = {1: ("cpu.shares", 262_144), 2: ("cpu.weight", 10_000)}
"""The kernel's own limits: a host gets its share also where other programs are busy. It cannot take
more than its quota from them."""


@dataclass(frozen=True)
class Throttle:
    """Where cgroups are made, in the form that this kernel has them (version 1 or 2)."""

    root: Path
    version: int

    def add(self, name: str, share: float) -> None:
        """Make a cgroup whose processes together get so much of a core."""
        folder = self.root / name
        quota, period = quota_and_period(share)
        try:
            if self.version == 2:
                (self.root / "cgroup.subtree_control").write_text("+cpu")
            folder.mkdir()
            if self.version == 2:
                (folder / "cpu.max").write_text(f"{quota} {period}")
            else:
                (folder / "cpu.cfs_period_us").write_text(str(period))
                (folder / "cpu.cfs_quota_us").write_text(str(quota))
            file, weight = MOST_WEIGHT[self.version]
            (folder / file).write_text(str(weight))
        except OSError as problem:
            raise MissingError(
                f"{folder}: the processor cannot be throttled here: {problem.strerror}; give the"
                f" hosts no shares, or run this where cgroups can be written"
            ) from None

    def members(self, name: str) -> Path:
        """The file of a cgroup that takes and lists the numbers of its processes."""
        return self.root / name / "cgroup.procs"

    def running(self, name: str) -> set[int]:
        """The processes in a cgroup; none where there is no such cgroup."""
        try:
            return set(map(int, self.members(name).read_text().split()))
        except OSError:
            return set()

    def has(self, name: str) -> bool:
        """Whether there is a cgroup of this name."""
        return (self.root / name).is_dir()

    def names(self) -> list[str]:
        """The names of all cgroups here."""
        return [path.name for path in self.root.iterdir() if path.is_dir()]

    def remove(self, name: str) -> None:
        """Remove a cgroup, if it is there and killed processes have left it."""
        with suppress(OSError):
            (self.root / name).rmdir()


def quota_and_period(share: float) -> tuple[int, int]:
    """Microseconds of processor time, and in how many of them they may be used."""
    quota = max(round(share * PERIOD_US), SMALLEST_QUOTA_US)
    return quota, round(quota / share)


def find_throttle(mounts: Path = MOUNTS) -> Throttle | None:
    """How this machine throttles, if it can."""
    for line in mounts.read_text().splitlines():
        _, root, kind, options, *_ = line.split()
        if kind == "cgroup" and "cpu" in options.split(","):
            return Throttle(Path(root), 1)
        if kind == "cgroup2" and "cpu" in _controllers(Path(root)):
            return Throttle(Path(root), 2)
    return None


def _controllers(root: Path) -> list[str]:
    return (root / "cgroup.controllers").read_text().split()


def require_throttle(mounts: Path = MOUNTS) -> Throttle:
    """How this machine throttles; refuses where it cannot."""
    throttle = find_throttle(mounts)
    if throttle is None:
        raise MissingError(
            "this machine has no cgroups that throttle processors (no cpu controller is mounted);"
            " mount one, or give the hosts no shares"
        )
    return throttle


def throttle_obstacle() -> str | None:
    """Why processors cannot be throttled here, as a sentence; none where they can."""
    name = Names().of("trial")
    try:
        throttle = require_throttle()
        throttle.add(name, 0.5)
    except MissingError as problem:
        return str(problem)
    throttle.remove(name)
    return None
