"""What a CA signs: its own certificate, those of nodes, and the list of those taken back."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID
from pydantic import AwareDatetime, Field

from tiercut.documents import Document, show_value
from tiercut.errors import InputError

CA_DAYS = 3650
"""How long a CA lives; a new one means a new certificate for every node."""

SKEW = timedelta(minutes=10)
"""How far a device's clock may be behind when its certificate is new."""

_HOST = re.compile(
    r"(?=.{1,253}\Z)"
    r"([A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?\.)*"
    r"(?![0-9]+\Z)[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?"  # 10.0.0.300 is a mistyped address
)


class Issued(Document):
    """A certificate as the index knows it."""

    name: str
    serial: str = Field(pattern=r"^[0-9a-f]{1,40}$")
    addresses: tuple[str, ...] = Field(strict=False)
    expires: AwareDatetime = Field(strict=False)
    revoked: AwareDatetime | None = Field(strict=False)

    def state(self, now: datetime) -> Literal["valid", "expired", "revoked"]:
        """What nodes make of it at a moment."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if now > self.expires else "valid"


@dataclass(frozen=True)
class Authority:
    """A CA and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


@dataclass(frozen=True)
class Node:
    """A new certificate, its key, and what the index is to know of it."""

    issued: Issued
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def make_authority(now: datetime) -> Authority:
    """A CA with a key of its own, by which it signs itself."""
    key = _make_key()
    name = _common_name(f"tiercut CA {secrets.token_hex(4)}")  # two CAs are told apart
    certificate = (
        _begin(name, key, now - SKEW, now + timedelta(days=CA_DAYS))
        .issuer_name(name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(key, SHA256())
    )
    return Authority(certificate, key)


def make_node(
    authority: Authority, name: str, addresses: tuple[str, ...], since: datetime, until: datetime
) -> Node:
    """A certificate for both ends of a connection: an aggregator is server and client at once."""
    key = _make_key()
    both = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH])
    known_as = [x509.DNSName(name), *(_alternative_name(a) for a in addresses if a != name)]
    certificate = (
        _begin(_common_name(name), key, since, until)
        .issuer_name(authority.certificate.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(both, critical=False)
        .add_extension(x509.SubjectAlternativeName(known_as), critical=False)
        .add_extension(_signer_id(authority), critical=False)
        .sign(authority.key, SHA256())
    )
    issued = Issued(
        name=name,
        serial=f"{certificate.serial_number:x}",
        addresses=addresses,
        expires=certificate.not_valid_after_utc,
        revoked=None,
    )
    return Node(issued, certificate, key)


def make_list(authority: Authority, issued: Sequence[Issued], now: datetime) -> bytes:
    """The signed list; its number is how many it holds, since none ever leaves it."""
    revoked = [entry for entry in issued if entry.revoked is not None]
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(authority.certificate.subject)
        .last_update(now - SKEW)
        .next_update(authority.certificate.not_valid_after_utc)  # a list holds until the next
        .add_extension(x509.CRLNumber(len(revoked)), critical=False)
        .add_extension(_signer_id(authority), critical=False)
    )
    for entry in revoked:
        builder = builder.add_revoked_certificate(_entry(entry))
    return builder.sign(authority.key, SHA256()).public_bytes(Encoding.PEM)


def _begin(
    subject: x509.Name, key: ec.EllipticCurvePrivateKey, since: datetime, until: datetime
) -> x509.CertificateBuilder:
    public = key.public_key()
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(since)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _make_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _common_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def _usage(*, signs: bool) -> x509.KeyUsage:
    """A CA signs certificates and lists, a node signs what a connection begins with."""
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _signer_id(authority: Authority) -> x509.AuthorityKeyIdentifier:
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())


def _alternative_name(address: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(address))
    except ValueError:
        pass
    if not _HOST.fullmatch(address):
        raise InputError(
            f"{show_value(address)} is no address of a node; write a host name or an IP address,"
            f" without a port"
        )
    return x509.DNSName(address)


def _entry(issued: Issued) -> x509.RevokedCertificate:
    assert issued.revoked is not None
    builder = x509.RevokedCertificateBuilder().serial_number(int(issued.serial, 16))
    return builder.revocation_date(issued.revoked).build()
