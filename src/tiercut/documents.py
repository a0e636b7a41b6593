"""Reading and writing the program's plain files (TOML in, JSON out), so that nothing is lost.

Every file tiercut reads goes through here: a wrong file gives an InputError that names the file,
the key, what was found, what was expected, and the nearest valid spelling. Every file it writes is
written beside its target and then renamed, so that a crash leaves the old file or the new one.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from tiercut.errors import InputError, nearest

MOST_PROBLEMS_SHOWN = 5

_PREFIX = re.compile(r"^(Value error, |Assertion failed, |[A-Z][a-z]+ should (be|have) )")
_EXPECTED = {"path_type": "a path", "tuple_type": "a list", "model_type": "a table of keys"}
"""What to say where pydantic's own words speak of Python rather than of the file."""


class Document(BaseModel):
    """A checked, frozen value read from a file; unknown keys, NaN and infinity are refused."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, strict=True, arbitrary_types_allowed=True
    )


D = TypeVar("D", bound=Document)


def read_json(path: Path) -> Any:
    """The JSON value in `path`."""
    try:
        return json.loads(_read_bytes(path))
    except (ValueError, RecursionError) as problem:  # also of numbers with thousands of digits
        raise InputError(f"{path}: this is not JSON: {problem}") from None


def read_toml(path: Path) -> dict[str, Any]:
    """The TOML table in `path`."""
    try:
        return tomllib.loads(_read_bytes(path).decode())
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{path}: this is not TOML: {problem}") from None


def read_lines(path: Path, model: type[D]) -> list[D]:
    """The lines of a file of one JSON object each, as values; none where there is no file.

    What follows the last line's end is left out: a line that is torn, or on its way.
    """
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise InputError(f"{path}: cannot be read: {problem.strerror}") from None
    return [_read_line(line, model, f"{path}: line {n}") for n, line in enumerate(lines, start=1)]


def _read_line(line: bytes, model: type[D], source: str) -> D:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{source}: this is not JSON: {problem}") from None
    return check(model, data, source)


def _read_bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        siblings = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InputError(f"{path}: there is no such file{nearest(path.name, siblings)}") from None
    except OSError as problem:
        raise InputError(f"{path}: cannot be read: {problem.strerror}") from None
    except ValueError as problem:  # a NUL in the path
        raise InputError(f"{str(path)!r}: cannot be read: {problem}") from None
    if not data.strip():
        raise InputError(f"{path}: the file is empty")
    return data


def check(model: type[D], data: Any, source: str) -> D:
    """`data` as a `model`, or an InputError that names `source` and every wrong key."""
    try:
        return model.model_validate(data)
    except ValidationError as invalid:
        problems = [f"{source}: {_explain(model, e)}" for e in _own_errors(invalid)]
        more = len(problems) - MOST_PROBLEMS_SHOWN
        if more > 0:
            problems[MOST_PROBLEMS_SHOWN:] = [f"{source}: and {more} more problems like these"]
        raise InputError("\n".join(problems)) from None


def _own_errors(invalid: ValidationError) -> list[ErrorDetails]:
    """The problems, less those that only say that a list lacks the items found wrong in it."""
    errors = invalid.errors(include_url=False)
    wrong_inside = {e["loc"][:end] for e in errors for end in range(len(e["loc"]))}
    return [e for e in errors if e["type"] != "too_short" or e["loc"] not in wrong_inside]


def _explain(model: type[BaseModel], error: ErrorDetails) -> str:
    """One problem as a sentence: the key, what was found, what was expected."""
    location = error["loc"]
    key = show_key(location) or "the file"
    kind = error["type"]
    if kind == "extra_forbidden":
        valid = _fields_at(model, location[:-1])
        return f"unknown key {key}{nearest(str(location[-1]), valid)}; expected {_or(valid)}"
    if kind == "missing":
        return f"{key} is missing"
    expected = _EXPECTED.get(kind) or _PREFIX.sub("", error["msg"].replace(" after validation", ""))
    if kind == "value_error":
        return expected if not location else f"{key}: {expected}"
    hint = ""
    if kind in ("literal_error", "enum") and isinstance(error["input"], str):
        hint = nearest(error["input"], expected.replace(" or ", ", ").replace("'", "").split(", "))
    return f"{key} is {show_value(error['input'])}; expected {expected}{hint}"


def show_key(location: Sequence[str | int]) -> str:
    """A key's path as people write it: clients[3].throughput."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def show_value(value: Any, most: int = 60) -> str:
    """A found value, short enough for an error message."""
    try:
        text = json.dumps(value, default=repr)
    except ValueError:  # Python writes no whole number of more than 4300 digits
        return "a number too long to show"
    return text if len(text) <= most else text[: most - 3] + "..."


def _or(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f" or {words[-1]}"


def _fields_at(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The valid keys of the (possibly nested) table at `location`."""
    here: Any = model
    for part in location:
        if isinstance(part, str) and part in here.model_fields:
            here = _model_inside(here.model_fields[part].annotation)
    return list(here.model_fields)


def _model_inside(annotation: Any) -> Any:
    """The pydantic model in an annotation such as `Model | None` or `list[Model]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inside = (_model_inside(a) for a in getattr(annotation, "__args__", ()))
    return next((m for m in inside if m is not None), None)


def check_version(data: Any, source: str, kind: str, version: int = 1) -> None:
    """Refuse a file that is no object, or whose schema version this program does not know."""
    if not isinstance(data, Mapping):
        raise InputError(f"{source}: a {kind} is a JSON object; found {show_value(data)}")
    found = data.get("version")
    if found != version or isinstance(found, bool):
        raise InputError(
            f"{source}: version is {show_value(found)}; this tiercut reads version {version} of a"
            f" {kind}"
        )


def to_json(value: Any) -> str:
    """JSON for files and for scripts that read standard output."""
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` whole or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path` whole or not at all, even if the process or the machine dies now."""
    try:
        if path.exists() and not path.is_file():  # /dev/stdout, a pipe: written to, never replaced
            path.write_bytes(data)
            return
        target = Path(os.path.realpath(path))  # where a link points to, so that the link stays
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as problem:
        raise InputError(f"{path}: cannot be written: {problem.strerror}") from None
