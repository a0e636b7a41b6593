"""A machine that cannot emulate networks says why, and what to do."""

import os

import pytest

from tiercut.errors import MissingError
from tiercut.net.emulate.obstacle import obstacle
from tiercut.net.emulate.tools import run


def test_missing_tools(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert obstacle() == (
        "ip is not on this machine, and emulated networks are made with it; install iproute2"
        " (emulation needs Linux)"
    )


@pytest.mark.usefixtures("emulation")
def test_missing_rights():
    os.seteuid(65534)
    try:
        found = obstacle()
    finally:
        os.seteuid(0)
    assert found == (
        "only root may make network namespaces, which emulated hosts are; run this as root"
    )


@pytest.mark.usefixtures("emulation")
def test_what_the_kernel_refuses_is_told():
    with pytest.raises(MissingError, match=r"`ip link add x type nonsense` failed: .*as root"):
        run(["ip", "link", "add", "x", "type", "nonsense"])
    with pytest.raises(MissingError, match="`false` failed: exit code 1"):
        run(["false"])
