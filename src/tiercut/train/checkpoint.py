"""The engine's state in a file per checkpoint; the last one stays until the next is durable.

A checkpoint is a safetensors file, with everything else that the next round depends on as JSON in
its header. The two newest are kept: should one be damaged, the run goes on from the other.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, uint8

from tiercut.documents import Document, check, check_version
from tiercut.errors import InputError
from tiercut.plan.plan import PlanFile

KEPT = 2
KEY = "tiercut"
"""The header's entry that is ours."""
_NAME = re.compile(r"round-(\d+)\.safetensors")


class Header(Document):
    """Where a run stood when its state was saved."""

    version: int = 1
    round: int = Field(ge=0)
    seconds: float
    """On the virtual clock."""
    bytes: float
    identity: str
    """Of the run, see tiercut.train.identity."""
    engine: str
    plan: PlanFile
    """The one in force."""
    checksum: int = 0
    """CRC-32 of all tensors; counted when they are saved."""


def packed(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors as a file takes them: on the CPU, their values in order."""
    return {key: value.detach().cpu().contiguous() for key, value in tensors.items()}


def checksum(state: Mapping[str, Tensor]) -> int:
    """CRC-32 of some tensors, in the order of their names."""
    crc = 0
    for key in sorted(state):
        crc = zlib.crc32(state[key].reshape(-1).view(uint8).numpy().data, crc)
    return crc


def save_checkpoint(folder: Path, header: Header, state: Mapping[str, Tensor]) -> Path:
    """Write a checkpoint; when this returns it is on the disk, and only then older ones go."""
    path = folder / f"round-{header.round:06d}.safetensors"
    own = packed(state)
    counted = header.model_copy(update={"checksum": checksum(own)})
    save_tensors(path, own, counted.model_dump(mode="json"))
    for old in checkpoints(folder)[KEPT:]:
        old.unlink(missing_ok=True)
    return path


def save_tensors(path: Path, tensors: Mapping[str, Tensor], about: dict[str, Any]) -> None:
    """Write packed tensors beside `path`, make them durable, and give them the name."""
    unfinished = path.with_name(f".{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            save_file(dict(tensors), unfinished, {KEY: json.dumps(about)})
            _sync(unfinished)
            os.chmod(unfinished, 0o644)
            os.replace(unfinished, path)
            _sync(path.parent)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
    except OSError as problem:
        raise InputError(f"{path}: cannot be written: {problem.strerror}; {ADVICE}") from None
    except SafetensorError as problem:
        raise InputError(f"{path}: cannot be written: {problem}; {ADVICE}") from None


ADVICE = "make room, then go on from the last checkpoint with --resume"
"""To whoever has no room for a run's files."""


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, newest first."""
    if not folder.is_dir():
        return []
    found = {path: _NAME.fullmatch(path.name) for path in folder.iterdir()}
    rounds = {path: int(match[1]) for path, match in found.items() if match}
    return sorted(rounds, key=rounds.__getitem__, reverse=True)


def read_checkpoint(path: Path) -> tuple[Header, dict[str, Tensor]]:
    """A checkpoint whole, or an InputError that names the file."""
    try:
        with safe_open(path, "pt") as file:
            about = (file.metadata() or {}).get(KEY)
            state = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as problem:
        raise InputError(f"{path}: this checkpoint cannot be read: {problem}") from None
    try:
        data = json.loads(about or "null")
    except ValueError as problem:
        raise InputError(f"{path}: this checkpoint's header is not JSON: {problem}") from None
    check_version(data, str(path), "checkpoint")
    header = check(Header, data, str(path))
    if checksum(state) != header.checksum:
        raise InputError(f"{path}: this checkpoint is damaged: its checksum is wrong")
    return header, state
