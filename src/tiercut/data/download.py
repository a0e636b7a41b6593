"""A known data set from its official address: resumed where it broke off, and checked.

A file is fetched into NAME.part and takes its own name only once its checksum is right; an archive
is unpacked beside its place and then moved there. Whatever breaks, no half of a set is left where
a whole one is expected.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import tarfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tiercut import __version__
from tiercut.data.addresses import ADDRESSES, Package, Remote
from tiercut.data.progress import Progress, silent
from tiercut.errors import InputError, MissingError, nearest

CHUNK = 2**18
ATTEMPTS = 3
"""How often each address is tried; a broken transfer goes on where it broke off."""
TIMEOUT = 60.0
"""Seconds without a byte after which a transfer counts as broken."""


class _BrokenError(Exception):
    """A transfer did not come to its end."""


def get(
    name: str,
    folder: Path,
    *,
    addresses: Mapping[str, Package] = ADDRESSES,
    progress: Progress = silent,
) -> Path:
    """Download the set `name` into `folder`; returns the folder that it is in."""
    if name not in addresses:
        raise InputError(
            f"{name!r} cannot be downloaded{nearest(name, addresses)}; expected"
            f" {', '.join(addresses)}"
        )
    package = addresses[name]
    place = folder / package.folder
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for remote in package.files:
        if remote.name.endswith(".tar.gz"):
            _refuse_to_replace(place)
            archive = _fetch(remote, folder, package.page, progress)
            _unpack(archive, place, package.inside)
        else:
            with _writing(place):
                place.mkdir(exist_ok=True)
            _fetch(remote, place, package.page, progress)
    return place


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise InputError(
            f"{path}: cannot be written: {problem.strerror}; name another folder with --data-dir"
        ) from None


# ------------------------------------------------------------------------------------ one file


def _fetch(remote: Remote, folder: Path, page: str, progress: Progress) -> Path:
    """The file in `folder`, whole and checked."""
    target = folder / remote.name
    if target.is_file() and _md5(target) == remote.md5:
        return target
    part = folder / f"{remote.name}.part"
    _transfer(remote, part, page, progress)
    found = _md5(part)
    if found != remote.md5:
        part.unlink()
        raise MissingError(
            f"{remote.name} arrived with the MD5 checksum {found}; expected {remote.md5}. The file"
            f" was removed: run the command again, or get it from {page}"
        )
    with _writing(target):
        os.replace(part, target)
    return target


def _transfer(remote: Remote, part: Path, page: str, progress: Progress) -> None:
    """Bring all bytes into `part`, from the first address that gives them."""
    problem = ""
    for url in remote.urls * ATTEMPTS:
        try:
            _continue(url, part, progress)
            return
        except _BrokenError as broken:
            problem = f"{url}: {broken}"
    kept = " What arrived is kept: run the command again to go on." if part.exists() else ""
    raise MissingError(
        f"{remote.name} could not be downloaded ({problem}).{kept} You can also get it from {page}"
        f" and put it into {part.parent}"
    )


def _continue(url: str, part: Path, progress: Progress) -> None:
    """Fetch what `part` lacks; from the start, if the server does not do parts."""
    there = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": f"tiercut/{__version__}"}
    if there:
        headers["Range"] = f"bytes={there}-"
    with _network():
        try:
            response = urllib.request.urlopen(
                urllib.request.Request(url, headers=headers), timeout=TIMEOUT
            )
        except urllib.error.HTTPError as refusal:
            refusal.close()
            if refusal.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and there:
                return  # nothing is lacking; the checksum says whether that is true
            raise
    with response:
        if response.status != http.HTTPStatus.PARTIAL_CONTENT:
            there = 0
        length = response.headers.get("Content-Length")
        total = there + int(length) if length and length.isdigit() else None
        _save(response, part, there, total, progress)


def _save(
    response: http.client.HTTPResponse,
    part: Path,
    there: int,
    total: int | None,
    progress: Progress,
) -> None:
    done = there
    with _writing(part), part.open("ab" if there else "wb") as file:
        while True:
            with _network():
                chunk = response.read(CHUNK)
            if not chunk:
                break
            file.write(chunk)
            done += len(chunk)
            progress(done, total or done)
    if total is not None and done < total:
        raise _BrokenError(f"the connection ended after {done:,} of {total:,} bytes")


@contextmanager
def _network() -> Iterator[None]:
    """Tell failures of the network from those of the disk, which are OSErrors both."""
    try:
        yield
    except urllib.error.HTTPError as refusal:
        raise _BrokenError(f"the server answers {refusal.code} {refusal.reason}") from None
    except urllib.error.URLError as problem:
        raise _BrokenError(f"cannot be reached: {problem.reason}") from None
    except (OSError, http.client.HTTPException) as problem:
        raise _BrokenError(f"the connection broke: {problem or type(problem).__name__}") from None


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


# ------------------------------------------------------------------------------------- archives


def _refuse_to_replace(place: Path) -> None:
    if place.exists():
        raise InputError(f"{place}: is there already and is no whole data set; move it away first")


def _unpack(archive: Path, place: Path, inside: str) -> None:
    """Unpack an archive's folder `inside` to `place`, whole or not at all, and remove it."""
    staging = place.with_name(f".{place.name}.unpacking")
    try:
        with _writing(staging):
            shutil.rmtree(staging, ignore_errors=True)  # of a command that was interrupted
            staging.mkdir()
            _extract(archive, staging)
            os.replace(staging / inside, place)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    archive.unlink()


def _extract(archive: Path, folder: Path) -> None:
    try:
        with tarfile.open(archive) as file:
            file.extractall(folder, filter="data")  # refuses whatever would land elsewhere
    except (tarfile.TarError, EOFError, zlib.error) as problem:
        raise InputError(
            f"{archive}: cannot be unpacked ({problem}); remove it and run the command again"
        ) from None
