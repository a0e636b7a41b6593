"""gRPC's own lines become entries of the log, and whatever else is written there passes."""

import io
import json
import os
import subprocess
import sys

from tiercut.net import grpc_log
from tiercut.net.grpc_log import hearing_grpc
from tiercut.net.logs import Log

REFUSED = (
    "I1115 20:32:35.504291   23209 ssl_transport_security.cc:2563] Handshake failed with error"
    " SSL_ERROR_SSL: error:1000007d:SSL routines:OPENSSL_internal:"
)
GOODBYE = "I1115 18:45:49.414704     771 chttp2_transport.cc:1403] ipv4:127.0.0.1:41023: Got goaway"
ODD = "E1115 20:32:37.864460   23211 ssl_transport_security.cc:3238] No match found for: client-2"


def hear(*lines):
    """What the log has of some lines on standard error."""
    heard = io.StringIO()
    with hearing_grpc(Log(heard)):
        os.write(2, "".join(f"{line}\n" for line in lines).encode())
    entries = [json.loads(line) for line in heard.getvalue().splitlines()]
    return [{**entry, "time": None} for entry in entries]


def entry(event, **fields):
    return {"time": None, "level": "warning", "event": event, **fields}


def test_a_failed_handshake_is_an_entry_with_its_reason(capfd):
    found = hear(f"{REFUSED}CERTIFICATE_VERIFY_FAILED: certificate has expired", f"{REFUSED}EOF")
    assert found == [
        entry("handshake failed", reason="CERTIFICATE_VERIFY_FAILED: certificate has expired"),
        entry("handshake failed", reason="EOF"),
    ]
    assert capfd.readouterr().err == ""


def test_other_warnings_are_entries_and_gossip_is_none():
    assert hear(GOODBYE, ODD) == [entry("gRPC", words="No match found for: client-2")]


def test_whatever_is_not_grpcs_passes(capfd):
    assert hear("Traceback", "{}", "") == []
    assert capfd.readouterr().err == "Traceback\n{}\n\n"


def test_nobody_waits_for_a_child_that_may_still_write(capfd):
    with hearing_grpc(Log(io.StringIO())):
        child = subprocess.Popen(["sleep", "60"])
        os.write(2, b"half a line")
    child.kill()
    child.wait()
    assert capfd.readouterr().err == "half a line"


CHILD = f"""
import os, sys
from tiercut.net.grpc_log import hearing_grpc
from tiercut.net.logs import Log
with hearing_grpc(Log(stderr=True)):
    print("terminal", sys.stderr.isatty(), file=sys.stderr)
    os.write(2, b"{GOODBYE}\\n{ODD}\\n")
print("after", file=sys.stderr)
"""


def test_in_a_program_the_log_and_what_python_says_are_left():
    run = subprocess.run(
        [sys.executable, "-c", CHILD], stderr=subprocess.PIPE, check=True, text=True
    )
    first, second, last = run.stderr.splitlines()
    assert (first, last) == ("terminal False", "after")
    assert json.loads(second)["words"] == "No match found for: client-2"


LOUD = """
import os
from tiercut.net.grpc_log import hearing_grpc
from tiercut.net.logs import Log
with hearing_grpc(Log()):
    os.write(2, b"something else\\n")
"""


def test_a_reader_that_has_gone_ends_nothing():
    reader, writer = os.pipe()
    os.close(reader)
    subprocess.run([sys.executable, "-c", LOUD], stderr=writer, check=True)
    os.close(writer)


def test_without_standard_error_there_is_nothing_to_hear(monkeypatch):
    closed = os.dup(2)
    os.close(closed)
    monkeypatch.setattr(grpc_log, "STDERR", closed)
    with hearing_grpc(Log()):
        pass


def test_a_terminal_is_still_one():
    ours, theirs = os.openpty()
    subprocess.run([sys.executable, "-c", CHILD], stderr=theirs, check=True)
    os.close(theirs)
    assert b"terminal True" in os.read(ours, 1000)
    os.close(ours)
