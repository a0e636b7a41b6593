"""Emulated networks carry what they should at the rates they should, and lose what they should."""

import subprocess

import pytest

from tests.net.emulate.instances import (
    ASK,
    ECHO,
    KNOCK,
    RECEIVE,
    SEND,
    TRIO,
    access,
    between,
    heard,
    listening,
    python,
    said,
)
from tiercut.errors import InputError
from tiercut.net.emulate.network import EmulatedNetwork

pytestmark = pytest.mark.usefixtures("emulation")

LOW, HIGH = 0.7, 1.1
"""What of an asked rate must come in: headers cost 4.5 %, and the machine may be busy."""
PATIENCE = 30
"""Seconds to wait for what must come."""


def send_at_once(*transfers):
    """The rates at which (from, to, size) come in, all at the same time."""
    receiving = [listening(to, RECEIVE) for _, to, _ in transfers]
    sending = [
        python(host, SEND, to.address, port, size)
        for (host, to, size), (_, port) in zip(transfers, receiving, strict=True)
    ]
    for process in sending:
        said(process)
    return [float(said(process)) for process, _ in receiving]


def test_each_pair_has_its_own_rate():
    with EmulatedNetwork(TRIO) as network:
        a, b, c = network.clients
        fast, slow, up = send_at_once(
            (a, b, 600_000), (a, c, 300_000), (b, network.server, 600_000)
        )
    assert LOW * 1e6 < fast < HIGH * 1e6
    assert LOW * 5e5 < slow < HIGH * 5e5
    assert LOW * 1e6 < up < HIGH * 1e6


def test_independent_links_carry_both_ways_at_once():
    with EmulatedNetwork(between([[0, 1e6], [1e6, 0]], [1e6, 1e6])) as network:
        a, b = network.clients
        rates = send_at_once((a, b, 500_000), (b, a, 500_000))
    assert all(LOW * 1e6 < rate < HIGH * 1e6 for rate in rates)


def test_a_radio_is_shared_by_all_it_sends_and_receives():
    with EmulatedNetwork(access([1e6, 5e6, 5e6], [1e6, 5e6, 5e6])) as network:
        a, b, _ = network.clients
        rates = send_at_once((a, b, 300_000), (network.server, a, 300_000))
    assert LOW * 1e6 < sum(rates) < HIGH * 1e6


def test_a_server_has_no_radio():
    with EmulatedNetwork(access([1e6, 1e6], [1e6, 1e6])) as network:
        rates = send_at_once(*((host, network.server, 500_000) for host in network.clients))
    assert all(LOW * 1e6 < rate < HIGH * 1e6 for rate in rates)


def test_no_link_is_no_route():
    with EmulatedNetwork(TRIO) as network:
        _, b, c = network.clients
        assert said(python(b, KNOCK, c.address)) == "No route to host"
        assert said(python(b, KNOCK, "192.0.2.1")) == "Network is unreachable"


def test_cuts_are_silent_and_mended_connections_go_on():
    with EmulatedNetwork(TRIO) as network:
        a, b, _ = network.clients
        echoing, _ = listening(a, ECHO)
        with echoing, python(b, ASK, a.address, stdin=subprocess.PIPE) as asking:
            assert heard(asking, PATIENCE)
            a.cut()
            a.cut()
            assert not heard(asking, 0.3)
            assert said(python(b, KNOCK, a.address)) == "silence"
            a.mend()
            a.mend()
            assert heard(asking, PATIENCE)
            network.cut(b, a)
            assert not heard(asking, 0.3)
            assert said(python(network.server, KNOCK, a.address)) == "open"
            network.mend(a, b)
            assert heard(asking, PATIENCE)
            asking.stdin.close()
            a.stop()


def test_bytes_on_the_wire_are_counted():
    with EmulatedNetwork(TRIO) as network:
        a, b, c = network.clients
        send_at_once((a, b, 100_000))
        sent, received = a.traffic(), b.traffic()
        assert 100_000 < sent.sent < 115_000
        assert 100_000 < received.received < 115_000
        assert sent.received < 20_000
        assert c.traffic().sent == c.traffic().received == 0
        assert network.sent() == sum(host.traffic().sent for host in network.hosts)


@pytest.mark.usefixtures("throttling")
def test_what_a_host_runs_is_in_its_cgroup():
    with EmulatedNetwork(TRIO, shares=[0.1, 0.2, 0.3], server_share=0.4) as network:
        for host in network.hosts:
            command = ["sh", "-c", "grep -h tiercut /proc/self/cgroup /proc/$$/cgroup"]
            lines = said(host.popen(command, stdout=subprocess.PIPE, text=True)).splitlines()
            assert len(lines) == 2
            assert all(line.endswith(f"/{host.namespace}") for line in lines)


def test_shares_are_refused_where_they_cannot_hold():
    with pytest.raises(InputError, match="2 shares of a core were given for 3 clients"):
        EmulatedNetwork(TRIO, shares=[0.1, 0.1])
    for wrong in (0, -1, float("nan"), float("inf"), 1e-5):
        with pytest.raises(InputError, match=r"expected at least 0\.001"):
            EmulatedNetwork(TRIO, server_share=wrong)
    with pytest.raises(InputError, match=r"add up to 3000\.5 cores, and this machine has"):
        EmulatedNetwork(TRIO, shares=[1000] * 3, server_share=0.5)


def test_hosts_are_the_fleets():
    network = EmulatedNetwork(TRIO)
    assert [host.name for host in network.hosts] == ["a", "b", "c", "server"]
    assert network.server.name == "server"
    assert len({host.address for host in network.hosts}) == 4
