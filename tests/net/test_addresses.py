"""Addresses are host:port, and a device finds the one of its own that others can call."""

import pytest

from tiercut.errors import InputError
from tiercut.net.addresses import check_advertised, split_address, towards


def test_an_address_is_host_and_port():
    assert split_address("10.0.0.5:7600", "--listen") == ("10.0.0.5", 7600)
    assert split_address("[::1]:0", "--listen") == ("[::1]", 0)
    assert split_address("pi.local:7601", "--listen") == ("pi.local", 7601)


@pytest.mark.parametrize("text", ["", "host", "host:", "host:x", "host:70000", "::1:7600", "h:²"])
def test_what_is_no_address_is_refused_with_its_option(text):
    with pytest.raises(InputError, match="--listen is"):
        split_address(text, "--listen")


@pytest.mark.parametrize("text", ["0.0.0.0:7601", "[::]:7601", "host:0"])
def test_nobody_can_call_anywhere(text):
    with pytest.raises(InputError, match="that others can call"):
        check_advertised(text)


def test_the_own_end_of_a_link_is_found():
    assert check_advertised("pi.local:7601") == "pi.local:7601"
    assert towards("127.0.0.1:7600") == "127.0.0.1"
    assert towards("[::1]:7600") == "[::1]"


def test_a_server_without_a_way_is_refused_with_a_remedy():
    with pytest.raises(InputError, match=r"there is no way to no\.such\.host\.invalid:1"):
        towards("no.such.host.invalid:1")
