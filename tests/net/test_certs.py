"""Certificates: only who was issued one gets in, nobody in another's name, and not once revoked."""

import json
import os
import shutil
import socket
import ssl
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tiercut.errors import InputError
from tiercut.net.certs import create_ca, issue, read_issued, revoke
from tiercut.net.identity import OPERATOR, SERVER, Revoked, check_name, read_credentials
from tiercut.net.signing import CA_DAYS

relaxed = settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

NODE_FILES = ["ca.pem", "crl.pem", "node.key", "node.pem"]


def moved(days):
    """The moment that many days from now."""
    return datetime.now(UTC) + timedelta(days=days)


def message(function, *arguments, **options):
    with pytest.raises(InputError) as refused:
        function(*arguments, **options)
    return str(refused.value)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def certificate_of(folder):
    return x509.load_pem_x509_certificate((folder / "node.pem").read_bytes())


def everything_in(folder):
    """What each file below a folder holds; the lock holds nothing."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {path: path.read_bytes() for path in files}


@pytest.fixture
def ca(tmp_path):
    """A CA that is older than this test, so that certificates of the past can be made."""
    create_ca(tmp_path / "ca", now=moved(-100))
    return tmp_path / "ca"


@pytest.fixture
def node(ca):
    """The folder of a node called pi-1."""
    return issue(ca, ["pi-1"])[0]


@pytest.fixture(scope="module")
def spare(tmp_path_factory):
    """A CA with one node whose certificate was taken back, for tests that damage copies."""
    ca = tmp_path_factory.mktemp("spare") / "ca"
    create_ca(ca)
    issue(ca, ["pi-1"])
    revoke(ca, "pi-1")
    return ca


# ------------------------------------------------------------------------------------ making a CA


def test_a_new_ca_is_closed_to_others(tmp_path):
    create_ca(tmp_path / "deep" / "ca")
    folder = tmp_path / "deep" / "ca"
    assert mode(folder) == 0o700
    assert mode(folder / "ca.key") == 0o600
    assert sorted(os.listdir(folder)) == ["ca.key", "ca.pem", "crl.pem", "index.json"]
    assert read_issued(folder) == ()


def test_an_empty_folder_becomes_a_closed_one(tmp_path):
    tmp_path.chmod(0o755)
    create_ca(tmp_path)
    assert mode(tmp_path) == 0o700


def test_a_ca_is_never_overwritten(ca):
    before = everything_in(ca)
    assert "a CA is never overwritten; give a new folder" in message(create_ca, ca)
    assert everything_in(ca) == before


def test_a_ca_cannot_be_made_below_a_file(tmp_path):
    (tmp_path / "file").write_text("x")
    assert "cannot be read" in message(create_ca, tmp_path / "file")
    assert "cannot be written" in message(create_ca, tmp_path / "file" / "ca")


LIMITED = """
import resource, sys
from pathlib import Path
from tiercut.errors import InputError
from tiercut.net import certs
resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
try:
    getattr(certs, sys.argv[1])(Path(sys.argv[2]), *(word.split(",") for word in sys.argv[3:]))
except InputError as problem:
    print(problem)
"""


def without_room(*words):
    """What is said where no file may grow beyond 500 bytes."""
    command = [sys.executable, "-c", LIMITED, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_ca_that_finds_no_room_is_no_ca(tmp_path):
    folder = tmp_path / "ca"
    assert without_room("create_ca", folder) == (
        f"{folder / 'ca.pem'}: cannot be written: File too large\n"
    )
    assert "is not the folder of a CA" in message(issue, folder, ["pi-1"])
    assert "remove this one" in message(create_ca, folder)


# ---------------------------------------------------------------------------------------- issuing


def test_a_node_gets_what_it_needs_and_nobody_else_its_key(ca):
    folders = issue(ca, ["server", "pi-1"])
    assert folders == (ca / "nodes" / "server", ca / "nodes" / "pi-1")
    for folder in folders:
        assert sorted(os.listdir(folder)) == NODE_FILES
        assert (mode(folder), mode(folder / "node.key")) == (0o700, 0o600)
        assert (folder / "ca.pem").read_bytes() == (ca / "ca.pem").read_bytes()
        assert (folder / "crl.pem").read_bytes() == (ca / "crl.pem").read_bytes()
    keys = {(folder / "node.key").read_bytes() for folder in folders}
    assert len(keys) == 2


def test_a_certificate_says_who_where_and_how_long(ca):
    addresses = ["192.168.1.10", "fe80::1", "pi.local", "pi-1"]
    (folder,) = issue(ca, ["pi-1"], addresses=addresses, days=30)
    found = certificate_of(folder)
    assert found.subject.rfc4514_string() == "CN=pi-1"
    assert isinstance(found.public_key().curve, ec.SECP256R1)
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["pi-1", "pi.local"]
    assert names.get_values_for_type(x509.IPAddress) == list(map(ip_address, addresses[:2]))
    assert not found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert timedelta() < moved(0) - found.not_valid_before_utc < timedelta(hours=1)
    assert timedelta() < moved(30) - found.not_valid_after_utc < timedelta(hours=1)


def test_the_index_knows_every_certificate(ca):
    issue(ca, ["pi-1"], addresses=["pi.local"])
    issue(ca, ["pi-2"])
    first, second = read_issued(ca)
    assert (first.name, first.addresses, first.revoked) == ("pi-1", ("pi.local",), None)
    found = certificate_of(ca / "nodes" / "pi-2")
    assert (second.name, int(second.serial, 16)) == ("pi-2", found.serial_number)
    assert second.expires == found.not_valid_after_utc


def test_a_second_certificate_is_only_for_renewal(ca, node):
    before = everything_in(ca)
    assert "pi-1 has a certificate already; issue another with --renew" in message(
        issue, ca, ["pi-2", "pi-1"]
    )
    assert everything_in(ca) == before


def test_a_renewal_keeps_the_addresses_and_takes_nothing_back(ca):
    (folder,) = issue(ca, ["pi-1"], addresses=["pi.local"])
    old = (folder / "node.pem").read_bytes()
    assert issue(ca, ["pi-1", "pi-2"], renew=True)[0] == folder
    assert read_credentials(folder).certificate != old
    assert reader(ca)[0].refuses(old) is None
    assert [entry.addresses for entry in read_issued(ca)] == [("pi.local",), ("pi.local",), ()]
    issue(ca, ["pi-1"], renew=True, addresses=["10.0.0.1"])
    assert read_issued(ca)[-1].addresses == ("10.0.0.1",)


HOSTILE_NAMES = (
    *("", ".", "..", "../x", "a/b", "/etc", "-a", "a-", ".a", "a.", "a b", "a\n", "a\0", "*"),
    *("é", "\uff41", "\udc80", "a,CN=b", "*.local", "1.2.3.4", "999.1.1.1", "1.2"),
    *("a" * 64, pytest.param("a" * 100_000, id="very long")),
)
NO_ADDRESSES = (
    *("", "pi.local:8443", "*.local", "10.0.0.300", "10.0.0", "é.local", "a..b", "-a", "a b"),
    *("10.0.0.1/8", "https://pi", "a." * 127 + "a", "a" * 64, "pi\n"),
)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_hostile_name_is_refused_and_nothing_is_written(ca, name):
    before = everything_in(ca.parent)
    said = message(issue, ca, ["pi-1", name])
    assert "cannot be a node's name; use at most 63 letters" in said
    assert len(said) < 300
    assert said.isprintable()
    assert everything_in(ca.parent) == before


@given(st.text() | st.from_regex(r"[A-Za-z0-9._-]{1,70}", fullmatch=True))
@relaxed
def test_a_name_that_is_accepted_is_one_folder_and_plain(tmp_path, name):
    try:
        check_name(name)
    except InputError:
        return
    assert (tmp_path / name).resolve().parent == tmp_path.resolve()
    assert len(name) <= 63
    assert name.isascii()
    assert name.replace(".", "").replace("_", "").replace("-", "").isalnum()


@pytest.mark.parametrize("name", [SERVER, OPERATOR, "1", "a" * 63, "Pi_1.attic-2", "node.1"])
def test_a_plain_name_is_accepted(name):
    check_name(name)


@pytest.mark.parametrize("address", NO_ADDRESSES)
def test_an_address_that_is_none_is_refused(ca, address):
    said = message(issue, ca, ["pi-1"], addresses=[address])
    assert "is no address of a node; write a host name or an IP address, without a port" in said
    assert read_issued(ca) == ()


@pytest.mark.parametrize(
    ("names", "addresses"),
    [
        (["Pi-1"], []),
        (["Server"], []),
        (["a", "A"], []),
        (["a"], ["server"]),
        (["a"], ["Operator"]),
        (["a"], ["PI-1"]),
        (["attic"], []),
        (["a", "b"], ["b"]),
    ],
)
def test_no_node_can_answer_in_the_name_of_another(ca, names, addresses):
    issue(ca, ["pi-1"], addresses=["attic"])
    before = everything_in(ca)
    assert "choose another name" in message(issue, ca, names, addresses=addresses)
    assert everything_in(ca) == before


@pytest.mark.parametrize("days", [-1, 0, CA_DAYS, 10**12])
def test_no_certificate_outlives_its_ca(ca, days):
    said = message(issue, ca, ["pi-1"], days=days)
    assert f"--days is {days}; expected at least 1 and at most {CA_DAYS - 101}" in said


def test_an_expired_ca_issues_nothing(tmp_path):
    create_ca(tmp_path / "ca", now=moved(-CA_DAYS - 1))
    said = message(issue, tmp_path / "ca", ["pi-1"])
    assert "ca.pem: the certificate is expired" in said
    assert "make a new CA with `tiercut certs init`" in said


def test_what_is_given_out_can_be_taken_back_even_if_writing_fails(ca):
    (ca / "nodes").write_text("in the way")
    assert "cannot be written" in message(issue, ca, ["pi-1"])
    assert [entry.name for entry in read_issued(ca)] == ["pi-1"]
    assert revoke(ca, "pi-1") == 1


def test_an_index_that_finds_no_room_issues_nothing(ca):
    before = everything_in(ca)
    assert without_room("issue", ca, "a,b,c,d") == (
        f"{ca / 'index.json'}: cannot be written: File too large\n"
    )
    assert everything_in(ca) == before


def test_a_folder_that_cannot_be_locked_is_left_alone(ca):
    (ca / ".lock").mkdir()
    before = everything_in(ca)
    assert message(issue, ca, ["pi-1"]) == f"{ca}: cannot be written: Is a directory"
    assert everything_in(ca) == before


def test_nothing_is_lost_when_many_issue_at_once(ca):
    names = [f"pi-{n}" for n in range(12)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda name: issue(ca, [name]), names))
    assert sorted(entry.name for entry in read_issued(ca)) == sorted(names)


# --------------------------------------------------------------------------------- damaged folders


def issue_one(ca):
    return issue(ca, ["new"])


def revoke_one(ca):
    return revoke(ca, "pi-1")


@pytest.mark.parametrize("verb", [read_issued, issue_one, revoke_one])
def test_a_folder_without_a_ca_is_refused_and_left_alone(tmp_path, verb):
    for folder in (tmp_path, tmp_path / "nothing"):
        assert "is not the folder of a CA" in message(verb, folder)
        assert list(tmp_path.iterdir()) == []


@given(st.data())
@relaxed
def test_a_half_written_index_is_refused_and_left_alone(spare, tmp_path_factory, data):
    ca = shutil.copytree(spare, tmp_path_factory.mktemp("half") / "ca")
    whole = (ca / "index.json").read_bytes()
    (ca / "index.json").write_bytes(whole[: data.draw(st.integers(0, len(whole) - 3))])
    before = everything_in(ca)
    for verb in (read_issued, issue_one, revoke_one):
        assert message(verb, ca).startswith(f"{ca / 'index.json'}: ")
    assert everything_in(ca) == before


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("serial", "xyz"),
        ("serial", 5),
        ("expires", "soon"),
        ("expires", "2030-01-01T00:00:00"),
        ("revoked", [1]),
        ("addresses", "pi"),
        ("name", None),
        ("extra", 1),
    ],
)
def test_an_index_with_a_wrong_value_is_refused_by_its_key(ca, node, key, value):
    index = json.loads((ca / "index.json").read_text())
    index["certificates"][0][key] = value
    (ca / "index.json").write_text(json.dumps(index))
    assert f"certificates[0].{key}" in message(read_issued, ca)


@pytest.mark.parametrize("file", ["ca.key", "ca.pem"])
def test_a_ca_whose_key_is_not_its_own_is_refused(ca, tmp_path, file):
    create_ca(tmp_path / "other")
    shutil.copy(tmp_path / "other" / file, ca / file)
    assert "the key does not belong to the certificate beside it" in message(issue, ca, ["a"])


def test_a_ca_without_its_key_issues_nothing_and_still_lists(ca, node):
    (ca / "ca.key").unlink()
    assert "ca.key: there is no such file" in message(revoke, ca, "pi-1")
    assert len(read_issued(ca)) == 1


def test_a_ca_of_another_kind_is_refused(ca):
    key = rsa.generate_private_key(65537, 2048)
    write_key(ca / "ca.key", key)
    name = x509.Name([])
    write_certificate(ca / "ca.pem", sign(name, name, key.public_key(), key))
    assert "the key is not one that `tiercut certs init` makes" in message(issue, ca, ["a"])


# --------------------------------------------------------------------------- a node's credentials


def sign(subject, issuer, public, key):
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer)
    builder = builder.public_key(public).serial_number(x509.random_serial_number())
    return builder.not_valid_before(moved(-1)).not_valid_after(moved(1)).sign(key, SHA256())


def write_certificate(path, certificate):
    path.write_bytes(certificate.public_bytes(Encoding.PEM))


def write_key(path, key, encryption=None):
    encryption = encryption or NoEncryption()
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))


def test_credentials_are_what_is_in_the_folder(node):
    found = read_credentials(node)
    assert found.name == "pi-1"
    files = [(node / file).read_bytes() for file in ("ca.pem", "node.pem", "node.key")]
    assert [found.ca, found.certificate, found.key] == files
    assert "PRIVATE" not in repr(found)


@pytest.mark.parametrize("file", ["ca.pem", "node.pem", "node.key"])
def test_a_missing_file_is_named(node, file):
    (node / file).unlink()
    assert message(read_credentials, node).startswith(f"{node / file}: there is no such file; put")
    (node / file).mkdir()
    assert f"{node / file}: cannot be read" in message(read_credentials, node)


def test_a_key_of_another_node_is_refused(ca, node):
    (other,) = issue(ca, ["pi-2"])
    shutil.copy(other / "node.key", node)
    assert "node.key: the key does not belong to the certificate" in message(read_credentials, node)


def test_a_key_with_a_password_is_refused(node):
    key = load_pem_private_key((node / "node.key").read_bytes(), None)
    write_key(node / "node.key", key, BestAvailableEncryption(b"secret"))
    assert "this is not a key in PEM without a password" in message(read_credentials, node)


def test_a_certificate_of_another_ca_is_refused(node, tmp_path):
    create_ca(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "ca.pem", node)
    assert "node.pem: the certificate is not signed by ca.pem" in message(read_credentials, node)


def test_two_certificates_in_a_file_are_refused(node):
    with (node / "ca.pem").open("ab") as file:
        file.write((node / "node.pem").read_bytes())
    assert "ca.pem: this is not one certificate in PEM" in message(read_credentials, node)


@pytest.mark.parametrize(
    ("at", "said"), [(-50, "node.pem: the certificate is expired"), (50, "not yet valid")]
)
def test_a_certificate_that_does_not_hold_now_is_refused(ca, at, said):
    (folder,) = issue(ca, ["pi-1"], days=1, now=moved(at))
    refused = message(read_credentials, folder)
    assert said in refused
    assert "set the clock if it is wrong, else issue it anew" in refused


def test_credentials_of_an_expired_ca_are_refused(tmp_path):
    create_ca(tmp_path / "ca", now=moved(-CA_DAYS - 50))
    (folder,) = issue(tmp_path / "ca", ["pi-1"], now=moved(-CA_DAYS))
    said = message(read_credentials, folder)
    assert "ca.pem: the certificate is expired" in said


@pytest.mark.parametrize("names", [[], ["../x"], ["pi-1", "server"]])
def test_a_certificate_without_a_name_of_a_node_is_refused(ca, node, names):
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name) for name in names])
    issuer = x509.load_pem_x509_certificate((ca / "ca.pem").read_bytes()).subject
    key = load_pem_private_key((ca / "ca.key").read_bytes(), None)
    public = certificate_of(node).public_key()
    write_certificate(node / "node.pem", sign(subject, issuer, public, key))
    assert "node.pem: the certificate does not name a node" in message(read_credentials, node)


def test_a_certificate_whose_own_key_is_no_point_of_the_curve_is_refused(node):
    whole = certificate_of(node).public_bytes(Encoding.DER)
    start = whole.index(b"\x03\x42\x00\x04") + 4  # a point that is not compressed
    damaged = whole[:start] + bytes(64) + whole[start + 64 :]
    (node / "node.pem").write_text(ssl.DER_cert_to_PEM_cert(damaged))
    assert "node.pem: this is not one certificate in PEM" in message(read_credentials, node)


@st.composite
def damage(draw, data):
    """Some bytes of a file changed, or its end gone."""
    data = bytearray(data)
    for place in draw(st.lists(st.integers(0, len(data) - 1), max_size=3)):
        data[place] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)) | st.just(len(data)))])


@pytest.mark.parametrize("file", ["ca.pem", "node.pem", "node.key"])
@given(data=st.data())
@settings(parent=relaxed, max_examples=100)
@pytest.mark.filterwarnings("ignore::cryptography.utils.CryptographyDeprecationWarning")
def test_damaged_credentials_are_refused_with_a_sentence(spare, tmp_path, file, data):
    for name in NODE_FILES:
        shutil.copy(spare / "nodes" / "pi-1" / name, tmp_path)
    (tmp_path / file).write_bytes(data.draw(damage((tmp_path / file).read_bytes())))
    try:
        found = read_credentials(tmp_path).name
    except InputError as problem:
        found = str(problem)
    assert found == "pi-1" or found.startswith(str(tmp_path))


# -------------------------------------------------------------------------------- taking them back


def reader(ca):
    """The list of a CA as its server reads it, and what it has complained about."""
    complaints = []
    return Revoked(ca / "crl.pem", (ca / "ca.pem").read_bytes(), complaints.append), complaints


def test_every_valid_certificate_of_a_name_is_taken_back(ca, node):
    issue(ca, ["old"], days=1, now=moved(-50))
    first = (node / "node.pem").read_bytes()
    issue(ca, ["pi-1", "pi-2", "old"], renew=True)
    seen, complaints = reader(ca)
    assert revoke(ca, "pi-1") == 2
    assert revoke(ca, "old") == 1
    assert seen.refuses(first) == "revoked"
    assert seen.refuses((node / "node.pem").read_bytes()) == "revoked"
    assert seen.refuses((ca / "nodes" / "pi-2" / "node.pem").read_bytes()) is None
    assert complaints == []
    states = [(entry.name, entry.state(moved(0))) for entry in read_issued(ca)]
    assert states == [
        ("pi-1", "revoked"),
        ("old", "expired"),
        ("pi-1", "revoked"),
        ("pi-2", "valid"),
        ("old", "revoked"),
    ]


def test_the_copies_in_the_folders_of_nodes_follow(ca, node):
    issue(ca, ["server", "copied-away"])
    shutil.rmtree(ca / "nodes" / "copied-away")
    revoke(ca, "pi-1")
    assert (ca / "nodes" / "server" / "crl.pem").read_bytes() == (ca / "crl.pem").read_bytes()
    assert not (ca / "nodes" / "copied-away").exists()


def test_a_name_that_was_never_issued_is_refused(ca, node):
    said = message(revoke, ca, "pi-2")
    assert said.startswith(f"{ca}: nothing was issued to \"pi-2\" (did you mean 'pi-1'?)")


def test_revoking_again_mends_the_list_that_a_crash_left_behind(ca, node):
    old = (ca / "crl.pem").read_bytes()
    revoke(ca, "pi-1")
    (ca / "crl.pem").write_bytes(old)
    assert revoke(ca, "pi-1") == 0
    assert reader(ca)[0].refuses((node / "node.pem").read_bytes()) == "revoked"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=8))
@relaxed
def test_refused_is_what_was_revoked_and_nothing_else(tmp_path_factory, steps):
    """One reader follows issues and revocations in any order."""
    ca = tmp_path_factory.mktemp("steps") / "ca"
    create_ca(ca)
    seen, complaints = reader(ca)
    accepted = {}
    for name, take_back in steps:
        if not take_back:
            (folder,) = issue(ca, [name], renew=True)
            accepted[(folder / "node.pem").read_bytes()] = name
        elif name in accepted.values():
            revoke(ca, name)
            accepted = {pem: None if who == name else who for pem, who in accepted.items()}
        for pem, who in accepted.items():
            assert seen.refuses(pem) == (None if who else "revoked")
    assert complaints == []


def test_certificates_of_another_time_or_ca_are_refused(ca, tmp_path):
    seen, _ = reader(ca)
    create_ca(tmp_path / "other")
    (stranger,) = issue(tmp_path / "other", ["pi-1"])
    (late,) = issue(ca, ["late"], days=1, now=moved(-50))
    (early,) = issue(ca, ["early"], now=moved(50))
    assert seen.refuses((stranger / "node.pem").read_bytes()) == "not of this CA"
    assert seen.refuses((late / "node.pem").read_bytes()) == "expired"
    assert seen.refuses((early / "node.pem").read_bytes()) == "not yet valid"
    for junk in (b"", b"\xff" * 1000, b"-----BEGIN CERTIFICATE-----\nAAAA\n"):
        assert seen.refuses(junk) == "not a certificate"


def other_list(ca):
    """A list that another CA signed."""
    create_ca(ca.parent / "other")
    return (ca.parent / "other" / "crl.pem").read_bytes()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda _: None, "there is no such file"),
        (lambda _: b"", "not a revocation list in PEM"),
        (lambda ca: (ca / "crl.pem").read_bytes()[:-100], "not a revocation list in PEM"),
        (lambda ca: (ca / "ca.pem").read_bytes(), "not a revocation list in PEM"),
        (other_list, "not signed by this CA"),
    ],
)
def test_a_wrong_list_changes_nothing_and_is_reported_once(ca, node, make, said):
    pem = (node / "node.pem").read_bytes()
    revoke(ca, "pi-1")
    seen, complaints = reader(ca)
    right, wrong = (ca / "crl.pem").read_bytes(), make(ca)
    (ca / "crl.pem").unlink()
    if wrong is not None:
        (ca / "crl.pem").write_bytes(wrong)
    assert [seen.refuses(pem), seen.refuses(pem)] == ["revoked", "revoked"]
    (complaint,) = complaints
    assert said in complaint
    assert complaint.endswith("; the list that was read before stays in force")
    assert said in message(reader, ca)
    (ca / "crl.pem").write_bytes(right)
    assert seen.refuses(pem) == "revoked"
    assert len(complaints) == 1


def test_an_older_list_does_not_replace_a_newer_one(ca, node):
    empty = (ca / "crl.pem").read_bytes()
    revoke(ca, "pi-1")
    seen, complaints = reader(ca)
    (ca / "crl.pem").write_bytes(empty)
    assert seen.refuses((node / "node.pem").read_bytes()) == "revoked"
    (complaint,) = complaints
    assert "the list is number 0, and number 1 was read before" in complaint


def test_a_list_is_not_believed_without_a_ca_of_ours(ca, node):
    """A list that an RSA key signed, though it bears the name of the CA in its file."""
    key = rsa.generate_private_key(65537, 2048)
    name = x509.load_pem_x509_certificate((ca / "ca.pem").read_bytes()).subject
    write_certificate(ca / "ca.pem", sign(name, name, key.public_key(), key))
    assert "not signed by this CA" in message(reader, ca)


@given(data=st.data())
@settings(parent=relaxed, max_examples=100)
def test_no_damage_to_the_list_lets_anybody_back_in(spare, tmp_path, data):
    shutil.copy(spare / "crl.pem", tmp_path)
    complaints = []
    ca = (spare / "ca.pem").read_bytes()
    seen = Revoked(tmp_path / "crl.pem", ca, complaints.append)
    wrong = data.draw(damage((spare / "crl.pem").read_bytes()))
    (tmp_path / "crl.pem").write_bytes(wrong)
    pem = (spare / "nodes" / "pi-1" / "node.pem").read_bytes()
    assert seen.refuses(pem) == "revoked"


# ---------------------------------------------------------------------------- real TLS connections


def context(folder, purpose):
    """Both sides check each other as strictly as the library can, the list included."""
    made = ssl.SSLContext(purpose)
    made.load_cert_chain(folder / "node.pem", folder / "node.key")
    made.load_verify_locations(folder / "ca.pem")
    made.load_verify_locations(folder / "crl.pem")
    made.verify_mode = ssl.CERT_REQUIRED
    made.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_CRL_CHECK_LEAF
    return made


def connect(server, client, host):
    """What server and client make of each other over a real connection: a name, or a refusal."""
    ours, theirs = socket.socketpair()
    with ThreadPoolExecutor(2) as pool:
        accepting = pool.submit(shake, context(server, ssl.PROTOCOL_TLS_SERVER), ours, None)
        asking = pool.submit(shake, context(client, ssl.PROTOCOL_TLS_CLIENT), theirs, host)
    return [end.exception() or end.result() for end in (accepting, asking)]


def shake(made, end, host):
    end.settimeout(30)
    with made.wrap_socket(end, server_side=host is None, server_hostname=host) as secure:
        secure.sendall(b"x")
        secure.recv(1)  # in TLS 1.3 a refusal arrives with the first bytes
        return dict(part[0] for part in secure.getpeercert()["subject"])["commonName"]


def test_nodes_of_one_ca_meet_by_name_and_by_address(ca):
    server, client = issue(ca, ["server", "b_c"], addresses=["127.0.0.1", "pi.local"])
    for host in ("server", "127.0.0.1", "pi.local"):
        assert connect(server, client, host) == ["b_c", "server"]
    assert connect(client, server, "b_c") == ["server", "b_c"]


def test_nobody_answers_under_a_wrong_name(ca):
    server, client = issue(ca, ["server", "pi-1"])
    _, refusal = connect(client, server, "server")
    assert "certificate is not valid for 'server'" in str(refusal)


def test_a_stranger_and_a_revoked_node_are_turned_away(ca, tmp_path):
    server, client = issue(ca, ["server", "pi-1"])
    create_ca(tmp_path / "other")
    (stranger,) = issue(tmp_path / "other", ["pi-1"])
    for file in ("ca.pem", "crl.pem"):
        shutil.copy(ca / file, stranger)
    refusal, left = connect(server, stranger, "server")
    assert isinstance(refusal, ssl.SSLCertVerificationError)
    assert isinstance(left, OSError)
    revoke(ca, "pi-1")
    refusal, left = connect(server, client, "server")
    assert "certificate revoked" in str(refusal)
    assert isinstance(left, OSError)


# ----------------------------------------------------------------------------------- the library


@pytest.mark.parametrize("module", ["certs", "identity"])
def test_without_the_library_it_says_what_to_install(module):
    script = (
        "import sys\n"
        "sys.modules['cryptography'] = None\n"
        "from tiercut.errors import MissingError\n"
        "try:\n"
        f"    import tiercut.net.{module}\n"
        "except MissingError as problem:\n"
        "    print(problem)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "certificates need the package cryptography" in ran.stdout
    assert ran.stdout.endswith("run `pip install 'tiercut[net]'`\n")
