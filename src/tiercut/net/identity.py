"""Who a node is: its certificate and its key, and which certificates are refused.

A node's folder, as `tiercut certs issue` makes it:

ca.pem      the CA that all nodes trust
node.pem    the node's certificate, which says its name
node.key    the key to it, for nobody else
crl.pem     the list of certificates that the CA took back
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock

from tiercut.documents import show_value
from tiercut.errors import InputError, MissingError

try:
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
except ImportError as problem:
    raise MissingError(
        f"certificates need the package cryptography ({problem}); run `pip install 'tiercut[net]'`"
    ) from None

CA_FILE, CERTIFICATE_FILE, KEY_FILE, LIST_FILE = "ca.pem", "node.pem", "node.key", "crl.pem"

SERVER = "server"
"""The name of the one server."""

OPERATOR = "operator"
"""The name of a person who asks for the status, and takes part in nothing."""

LONGEST_NAME = 63
"""What a label of a host name may have: a node's name stands where TLS looks for one."""

MOST_KNOWN = 1000
"""Certificates that are kept in mind."""

_NAME = re.compile(
    r"(?![0-9.]*\.[0-9.]*\Z)"  # TLS would take it for an address
    rf"[A-Za-z0-9]([A-Za-z0-9._-]{{0,{LONGEST_NAME - 2}}}[A-Za-z0-9])?"
)
_MALFORMED = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.ExtensionNotFound,
)
"""What the library raises on bytes that are not what they should be."""


def check_name(name: str) -> None:
    """Refuse what cannot name a node, its folder and, in a certificate, its host."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{show_value(name)} cannot be a node's name; use at most {LONGEST_NAME} letters,"
            f" digits, '.', '_' and '-' with a letter or digit at both ends, and give addresses"
            f" with --address"
        )


# -------------------------------------------------------------------------------- reading files


def read_pem(path: Path) -> bytes:
    """The bytes of a certificate, a key or a list."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"{path}: there is no such file; put the whole folder there as `tiercut certs` made it"
        ) from None
    except OSError as problem:
        raise InputError(f"{path}: cannot be read: {problem.strerror}") from None


def parse_certificate(pem: bytes, source: str) -> x509.Certificate:
    """The one certificate in `pem`: TLS would trust all that a file holds, and we check one."""
    try:
        (certificate,) = x509.load_pem_x509_certificates(pem)
        _ = certificate.public_key(), certificate.subject  # the library reads them only when asked
    except _MALFORMED:
        raise InputError(
            f"{source}: this is not one certificate in PEM; put the file back as it was made"
        ) from None
    return certificate


def parse_key(pem: bytes, certificate: x509.Certificate, source: str) -> PrivateKeyTypes:
    """The key in `pem`, which must be that of `certificate`."""
    try:
        key = load_pem_private_key(pem, password=None)
    except _MALFORMED:
        raise InputError(
            f"{source}: this is not a key in PEM without a password; put the file back as it was"
            f" made"
        ) from None
    if key.public_key() != certificate.public_key():
        raise InputError(
            f"{source}: the key does not belong to the certificate beside it; put back the two"
            f" that were made together"
        )
    return key


# --------------------------------------------------------------------------------- a node's own


@dataclass(frozen=True)
class Credentials:
    """What a node shows to others, and the CA it holds theirs against; in PEM."""

    name: str
    ca: bytes
    certificate: bytes
    key: bytes = field(repr=False)  # messages and logs must never show it


def read_credentials(folder: Path) -> Credentials:
    """The credentials in a node's folder; refuses those that the other nodes would refuse."""
    paths = [folder / file for file in (CA_FILE, CERTIFICATE_FILE, KEY_FILE)]
    ca_pem, certificate_pem, key_pem = map(read_pem, paths)
    ca_source, source, key_source = map(str, paths)
    ca = parse_certificate(ca_pem, ca_source)
    certificate = parse_certificate(certificate_pem, source)
    parse_key(key_pem, certificate, key_source)
    if not _is_signed_by(certificate, ca):
        raise InputError(
            f"{source}: the certificate is not signed by {CA_FILE} beside it; copy the whole"
            f" folder again, or issue the node with that CA"
        )
    now = datetime.now(UTC)
    check_time(ca, now, ca_source, "make a new CA with `tiercut certs init`")
    check_time(certificate, now, source, "issue it anew with `tiercut certs issue --renew`")
    return Credentials(_name_of(certificate, source), ca_pem, certificate_pem, key_pem)


def check_time(certificate: x509.Certificate, now: datetime, source: str, remedy: str) -> None:
    """Refuse a certificate that does not hold now; `remedy` says what to do about an old one."""
    problem = _untimely(certificate, now)
    if problem is not None:
        since, until = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        raise InputError(
            f"{source}: the certificate is {problem}: it holds from {since:%Y-%m-%d %H:%M} to"
            f" {until:%Y-%m-%d %H:%M}, and the clock says {now:%Y-%m-%d %H:%M} (UTC); set the clock"
            f" if it is wrong, else {remedy}"
        )


def _untimely(certificate: x509.Certificate, now: datetime) -> str | None:
    if now < certificate.not_valid_before_utc:
        return "not yet valid"
    return "expired" if now > certificate.not_valid_after_utc else None


def _is_signed_by(certificate: x509.Certificate, ca: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(ca)
    except (InvalidSignature, *_MALFORMED):
        return False
    return True


def _read_signed(ca: x509.Certificate, pem: bytes) -> x509.Certificate | str:
    """A certificate of the CA, or what it is instead."""
    try:
        certificate = parse_certificate(pem, "the peer")
    except InputError:
        return "not a certificate"
    return certificate if _is_signed_by(certificate, ca) else "not of this CA"


def _name_of(certificate: x509.Certificate, source: str) -> str:
    attributes = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    names = [str(attribute.value) for attribute in attributes]
    if len(names) != 1 or not _NAME.fullmatch(names[0]):
        raise InputError(
            f"{source}: the certificate does not name a node; use one that `tiercut certs issue`"
            f" made"
        )
    return names[0]


# ------------------------------------------------------------------------------- the list of the CA


@dataclass(frozen=True)
class _List:
    """A revocation list; the CA counts them."""

    number: int
    serials: frozenset[int]


class Revoked:
    """Which certificates are refused, by a list that is read again whenever its file changes.

    A file that is damaged, gone, not of the CA or older than the list in force changes nothing: the
    list in force stays, and `warn` is told. Threads may share it.
    """

    def __init__(self, path: Path, ca: bytes, warn: Callable[[str], None]) -> None:
        self._path = path
        self._ca = parse_certificate(ca, CA_FILE)
        self._warn = warn
        self._lock = Lock()
        self._stamp = _stamp(path)
        self._list = _read_list(path, self._ca)
        # A peer is asked again and again, and its signature stays what it is.
        self._signed = lru_cache(MOST_KNOWN)(partial(_read_signed, self._ca))

    def refuses(self, certificate_pem: bytes) -> str | None:
        """Why a certificate is refused, in a few words; None if it is not."""
        certificate = self._signed(certificate_pem)
        if isinstance(certificate, str):
            return certificate
        if certificate.serial_number in self._in_force().serials:
            return "revoked"
        return _untimely(certificate, datetime.now(UTC))

    def _in_force(self) -> _List:
        with self._lock:
            stamp = _stamp(self._path)
            if stamp != self._stamp:
                self._stamp = stamp  # even if the file is wrong: it is reported once
                self._list = self._newer()
            return self._list

    def _newer(self) -> _List:
        """The list in the file, or the one in force where the file holds no newer one."""
        try:
            found = _read_list(self._path, self._ca)
            if found.number < self._list.number:
                raise InputError(
                    f"{self._path}: the list is number {found.number}, and number"
                    f" {self._list.number} was read before; copy the CA's newest {LIST_FILE} here"
                )
        except InputError as problem:
            self._warn(f"{problem}; the list that was read before stays in force")
            return self._list
        return found


def _stamp(path: Path) -> tuple[int, ...] | None:
    """What changes with a file; the time of its status too, since copies can keep their age."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _read_list(path: Path, ca: x509.Certificate) -> _List:
    pem = read_pem(path)
    try:
        found = x509.load_pem_x509_crl(pem)
        signed = _is_list_of(found, ca)
        number = found.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number
        serials = frozenset(entry.serial_number for entry in found)
    except _MALFORMED:
        raise InputError(
            f"{path}: this is not a revocation list in PEM; copy the CA's {LIST_FILE} here"
        ) from None
    if not signed:
        raise InputError(
            f"{path}: the list is not signed by this CA; copy the CA's {LIST_FILE} here"
        )
    return _List(number, serials)


def _is_list_of(found: x509.CertificateRevocationList, ca: x509.Certificate) -> bool:
    key = ca.public_key()
    if not isinstance(key, EllipticCurvePublicKey):  # the only kind that our CAs have
        return False
    return found.issuer == ca.subject and found.is_signature_valid(key)
