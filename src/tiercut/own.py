"""A user's own object, named as `package.module:name` and imported from the working directory."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tiercut.errors import InputError, nearest


def find_own(spec: str, what: str, example: str) -> object:
    """The object that `spec` names; `what` it is to be, and an example, for the messages."""
    module_name, _, name = spec.partition(":")
    if not all(word.isidentifier() for word in (*module_name.split("."), name)):
        raise InputError(
            f"{spec!r} is no {what}; write your own as package.module:name, such as {example} for"
            f" {example.partition(':')[2]} in {example.partition(':')[0]}.py"
        )
    with working_directory_importable():
        members = _import_members(spec, module_name)
    if name not in members:
        raise InputError(
            f"{spec}: the module {module_name} has no {name!r}{nearest(name, members)}; name the"
            f" {what} in it, as in {example}"
        )
    return members[name]


@contextmanager
def working_directory_importable() -> Iterator[None]:
    """Let a user's own file be imported from where the command is run, as `python -m` does."""
    sys.path.insert(0, "")
    try:
        yield
    finally:
        sys.path.remove("")


def _import_members(spec: str, module_name: str) -> dict[str, object]:
    try:
        return vars(importlib.import_module(module_name))
    except Exception as problem:
        raise InputError(
            f"{spec}: the module {module_name} cannot be imported ({show_problem(problem)}); run"
            f" tiercut in the folder that holds it, or install it"
        ) from problem


def show_problem(problem: Exception) -> str:
    """An exception in a message: its kind and what it says."""
    return f"{type(problem).__name__}: {problem}"
