"""The system's tools: `ip` and `tc` by whole batches, `nsenter` to step into a namespace."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from tiercut.errors import MissingError

NAMESPACES = Path("/var/run/netns")
"""Where `ip netns` keeps the namespaces that have a name."""

TOOLS = {"ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux", "tee": "coreutils"}
"""What is called here, and the package that brings it."""


def require_tools() -> None:
    """Refuse to start where the tools, or the right to use them, are missing."""
    for tool, package in TOOLS.items():
        if shutil.which(tool) is None:
            raise MissingError(
                f"{tool} is not on this machine, and emulated networks are made with it; install"
                f" {package} (emulation needs Linux)"
            )
    if os.geteuid() != 0:
        raise MissingError(
            "only root may make network namespaces, which emulated hosts are; run this as root"
        )


def ip(lines: Iterable[str], namespace: str | None = None) -> None:
    """Carry out a batch of `ip` commands, in a namespace or where this process is."""
    run(["ip", *_inside(namespace), "-batch", "-"], lines)


def tc(lines: Iterable[str], namespace: str) -> None:
    """Carry out a batch of `tc` commands in a namespace."""
    run(["tc", *_inside(namespace), "-batch", "-"], lines)


def _inside(namespace: str | None) -> list[str]:
    return [] if namespace is None else ["-n", namespace]


def enter(namespace: str) -> list[str]:
    """What to put before a command so that it runs in a namespace.

    `ip netns exec` would also hide the cgroups, because it mounts /sys anew.
    """
    return ["nsenter", f"--net={NAMESPACES / namespace}", "--"]


def run(command: Sequence[str], lines: Iterable[str] = ()) -> str:
    """What a tool writes when it is given `lines` to read; refuses what it refuses."""
    said = subprocess.run(
        command,
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,  # Ctrl-C is for us, not for a tool in the middle of its batch
    )
    if said.returncode != 0:
        problem = "; ".join(said.stderr.strip().splitlines()) or f"exit code {said.returncode}"
        raise MissingError(
            f"this machine does not let us emulate a network: `{' '.join(command)}` failed:"
            f" {problem}; run this as root on a Linux with network namespaces, veth, htb and u32"
        )
    return said.stdout
