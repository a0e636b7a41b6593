"""An own CA in a folder: one certificate for every node, and a list of those taken back.

ca.pem, ca.key    the CA; who has the key can make nodes
crl.pem           the certificates that were taken back, signed
index.json        every certificate ever issued
nodes/NAME/       what is copied to a device (tiercut.net.identity)
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import Field

from tiercut.documents import (
    Document,
    check,
    check_version,
    read_json,
    show_value,
    to_json,
    write_bytes,
    write_text,
)
from tiercut.errors import InputError, nearest
from tiercut.net.identity import (
    CA_FILE,
    CERTIFICATE_FILE,
    KEY_FILE,
    LIST_FILE,
    OPERATOR,
    SERVER,
    check_name,
    check_time,
    parse_certificate,
    parse_key,
    read_pem,
)

# What needs the library comes after identity, which says what to install where it is missing.
# isort: split
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tiercut.net.signing import SKEW, Authority, Issued, Node, make_authority, make_list, make_node

DAYS = 365
"""How long a certificate lives if nothing else is asked for."""


# ------------------------------------------------------------------------------------- the folder


class _Index(Document):
    version: int
    certificates: tuple[Issued, ...] = Field(strict=False)


@dataclass(frozen=True)
class _Folder:
    """The files of a CA."""

    path: Path

    @property
    def certificate(self) -> Path:
        return self.path / CA_FILE

    @property
    def key(self) -> Path:
        return self.path / "ca.key"

    @property
    def index(self) -> Path:
        return self.path / "index.json"

    @property
    def nodes(self) -> Path:
        return self.path / "nodes"

    def require(self) -> None:
        if not self.certificate.is_file() or not self.index.is_file():
            raise InputError(
                f"{self.path} is not the folder of a CA, which holds {CA_FILE} and"
                f" {self.index.name}; make one with `tiercut certs init`"
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Wait for other processes: a certificate that the index lost could not be taken back."""
        self.require()
        try:
            file = (self.path / ".lock").open("w")
        except OSError as problem:
            raise InputError(f"{self.path}: cannot be written: {problem.strerror}") from None
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)  # gone with the process
            yield

    def read_index(self) -> tuple[Issued, ...]:
        self.require()
        data = read_json(self.index)
        check_version(data, str(self.index), "certificate index")
        return check(_Index, data, str(self.index)).certificates

    def write_index(self, issued: Sequence[Issued]) -> None:
        index = _Index(version=1, certificates=tuple(issued))
        write_text(self.index, to_json(index.model_dump(mode="json")))

    def read_authority(self, now: datetime) -> Authority:
        certificate = parse_certificate(read_pem(self.certificate), str(self.certificate))
        key = parse_key(read_pem(self.key), certificate, str(self.key))
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise InputError(
                f"{self.key}: the key is not one that `tiercut certs init` makes; make a new CA"
            )
        check_time(
            certificate, now, str(self.certificate), "make a new CA with `tiercut certs init`"
        )
        return Authority(certificate, key)


def _make_private(folder: Path) -> None:
    """Make a folder that is closed to other people."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as problem:
        raise InputError(f"{folder}: cannot be written: {problem.strerror}") from None


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    """Write a key; its folder is closed to others already."""
    write_bytes(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    path.chmod(0o600)


# -------------------------------------------------------------------------------------- the verbs


def create_ca(folder: Path, *, now: datetime | None = None) -> None:
    """Make a CA in a new or empty folder."""
    now = now or datetime.now(UTC)
    _check_empty(folder)
    _make_private(folder)
    home = _Folder(folder)
    authority = make_authority(now)
    _write_key(home.key, authority.key)
    home.write_index(())
    _write_list(make_list(authority, (), now), [folder])
    write_bytes(home.certificate, authority.certificate.public_bytes(Encoding.PEM))


def _check_empty(folder: Path) -> None:
    try:
        empty = not folder.exists() or not any(folder.iterdir())
    except OSError as problem:
        raise InputError(f"{folder}: cannot be read: {problem.strerror}") from None
    if not empty:
        raise InputError(
            f"{folder} holds files already, and a CA is never overwritten; give a new folder, or"
            f" remove this one if nothing in it is needed"
        )


def read_issued(folder: Path) -> tuple[Issued, ...]:
    """Every certificate that a CA issued, oldest first."""
    return _Folder(folder).read_index()


def issue(
    folder: Path,
    names: Sequence[str],
    *,
    addresses: Sequence[str] = (),
    days: int = DAYS,
    renew: bool = False,
    now: datetime | None = None,
) -> tuple[Path, ...]:
    """Make the folder of each node; `addresses` are where others reach it, beside its name.

    A name that has a certificate gets another only to `renew` it, and keeps its addresses unless
    new ones are given. The older certificate stays valid.
    """
    now = now or datetime.now(UTC)
    home = _Folder(folder)
    with home.locked():
        authority, issued = home.read_authority(now), home.read_index()
        until = _end(authority, days, now)
        orders = [_order(name, addresses, issued, renew) for name in dict.fromkeys(names)]
        nodes = [make_node(authority, *order, now - SKEW, until) for order in orders]
        after = (*issued, *(node.issued for node in nodes))
        _check_owners(after)
        home.write_index(after)  # first: what is given out can be taken back
        folders = tuple(_write_node(home, authority, node) for node in nodes)
        _write_list(make_list(authority, after, now), [folder, *folders])
    return folders


def revoke(folder: Path, name: str, *, now: datetime | None = None) -> int:
    """Put a name's valid certificates on the list; how many there were.

    The list is made from the index each time, so that doing it again mends what a crash left.
    """
    now = now or datetime.now(UTC)
    home = _Folder(folder)
    with home.locked():
        authority, issued = home.read_authority(now), home.read_index()
        _check_known(name, issued, folder)
        after = tuple(_without(entry, name, now) for entry in issued)
        home.write_index(after)
        copies = [copy.parent for copy in home.nodes.glob(f"*/{LIST_FILE}")]
        _write_list(make_list(authority, after, now), [folder, *copies])
    return sum(old is not new for old, new in zip(issued, after, strict=True))


def _without(entry: Issued, name: str, now: datetime) -> Issued:
    if entry.name != name or entry.state(now) != "valid":
        return entry
    return entry.model_copy(update={"revoked": now})


def _write_list(pem: bytes, folders: Sequence[Path]) -> None:
    for folder in folders:
        write_bytes(folder / LIST_FILE, pem)


def _write_node(home: _Folder, authority: Authority, node: Node) -> Path:
    folder = home.nodes / node.issued.name
    _make_private(folder)
    _write_key(folder / KEY_FILE, node.key)
    write_bytes(folder / CERTIFICATE_FILE, node.certificate.public_bytes(Encoding.PEM))
    write_bytes(folder / CA_FILE, authority.certificate.public_bytes(Encoding.PEM))
    return folder


# ------------------------------------------------------------------------------ what may be asked


def _end(authority: Authority, days: int, now: datetime) -> datetime:
    left = (authority.certificate.not_valid_after_utc - now).days
    if not 1 <= days <= left:
        raise InputError(
            f"--days is {days}; expected at least 1 and at most {left}, which the CA itself has"
            f" left; make a new CA with `tiercut certs init` for more"
        )
    return now + timedelta(days=days)


def _order(
    name: str, addresses: Sequence[str], issued: Sequence[Issued], renew: bool
) -> tuple[str, tuple[str, ...]]:
    """A name with its addresses, if it may have a certificate."""
    check_name(name)
    earlier = [entry for entry in issued if entry.name == name]
    if earlier and not renew:
        raise InputError(
            f"{name} has a certificate already; issue another with --renew, and take the old one"
            f" back with `tiercut certs revoke` first if it was lost"
        )
    if earlier and not addresses:
        return name, earlier[-1].addresses
    return name, tuple(dict.fromkeys(addresses))


def _check_owners(issued: Sequence[Issued]) -> None:
    """Refuse what would let a node answer in the name of another."""
    owners = {SERVER: SERVER, OPERATOR: OPERATOR}
    for entry in issued:
        owner = owners.setdefault(entry.name.lower(), entry.name)
        if owner != entry.name:
            raise InputError(
                f"{entry.name} and {owner} differ in their capitals only, and TLS takes them for"
                f" one; choose another name"
            )
    for entry in issued:
        for address in entry.addresses:
            owner = owners.get(address.lower(), entry.name)
            if owner != entry.name:
                raise InputError(
                    f"{address} is an address of {entry.name} and the name of another node;"
                    f" choose another name or address"
                )


def _check_known(name: str, issued: Sequence[Issued], folder: Path) -> None:
    names = {entry.name for entry in issued}
    if name not in names:
        raise InputError(
            f"{folder}: nothing was issued to {show_value(name)}{nearest(name, names)}; `tiercut"
            f" certs list` shows the names"
        )
