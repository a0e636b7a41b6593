"""From a module to a short list of instructions over folded activations."""

from __future__ import annotations

from torch import nn

from tiercut.engines.folded.instructions import Plan
from tiercut.engines.folded.joining import join_tails
from tiercut.engines.folded.tracing import read_forward
from tiercut.errors import InputError


def unsupported(module: nn.Module) -> str | None:
    """Say in a sentence what in `module` cannot be folded, or nothing where all of it can."""
    try:
        plan(module)
    except InputError as error:
        return str(error)
    return None


def plan(module: nn.Module, tap: int | None = None) -> Plan:
    """Plan a chain; `tap` is how many of its first layers the next chain stands on."""
    return join_tails(*read_forward(module, tap))
