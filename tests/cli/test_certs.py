"""Certificates from the command line: what is said, and what scripts can read."""

import os

import pytest


@pytest.fixture
def ca(tiercut):
    """A CA with a server and a device, in the folder `ca`."""
    tiercut("certs", "init", "ca")
    tiercut("certs", "issue", "ca", "server", "pi-1", "--address", "10.0.0.1", "--address", "lab")


def test_making_a_ca_says_how_to_keep_it(tiercut):
    ran = tiercut("certs", "init", "ca")
    assert ran.stdout == ""
    assert ran.stderr.startswith("made a CA in ca; ")
    assert "ca.key" in os.listdir("ca")


def test_issuing_says_where_the_folders_are(tiercut, ca):
    one = tiercut("certs", "issue", "ca", "pi-2")
    assert one.stderr.startswith("wrote ca/nodes/pi-2; copy each to its device")
    two = tiercut("certs", "issue", "ca", "pi-2", "pi-3", "--renew", "--days", 7)
    assert two.stderr.startswith("wrote 2 folders in ca/nodes; ")
    assert sorted(os.listdir("ca/nodes/pi-3")) == ["ca.pem", "crl.pem", "node.key", "node.pem"]


def test_revoking_says_where_the_list_must_go(tiercut, ca):
    said = tiercut("certs", "revoke", "ca", "pi-1").stderr
    assert said.startswith("took back 1 certificate of pi-1; copy ca/crl.pem over the server's")
    assert "took back 0 certificates" in tiercut("certs", "revoke", "ca", "pi-1").stderr


def test_what_was_issued_is_listed(tiercut, as_json, ca):
    tiercut("certs", "revoke", "ca", "pi-1")
    shown = tiercut("certs", "list", "ca").stdout
    assert all(word in shown for word in ("server", "valid", "pi-1", "revoked", "10.0.0.1"))
    server, device = as_json("certs", "list", "ca")["certificates"]
    assert (server["name"], server["state"], server["revoked"]) == ("server", "valid", None)
    assert (device["name"], device["state"]) == ("pi-1", "revoked")
    assert device["addresses"] == ["10.0.0.1", "lab"]
    assert device["serial"] != server["serial"]
    assert set(device) == {"name", "serial", "addresses", "expires", "revoked", "state"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("init ca", "a CA is never overwritten"),
        ("issue ca pi-1", "pi-1 has a certificate already"),
        ("issue ca ../x", "cannot be a node's name"),
        ("issue ca pi-2 --days 0", "--days is 0; expected at least 1"),
        ("issue ca pi-2 --address pi:8443", "is no address of a node"),
        ("issue ca pi-2 --address server", "choose another name or address"),
        ("issue . pi-2", "is not the folder of a CA"),
        ("revoke ca pi-2", "did you mean 'pi-1'?"),
        ("list nowhere", "nowhere is not the folder of a CA"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(refusal, ca, words, sentence):
    assert sentence in refusal("certs", *words.split())


def test_the_brackets_in_the_help_are_shown(tiercut):
    assert "[with --renew: as before]" in " ".join(
        tiercut("certs", "issue", "--help").stdout.split()
    )
