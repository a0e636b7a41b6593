"""Programs get ready with the whole machine, and are held to their shares from then on."""

import pytest

from tests.net.emulate.instances import TRIO, shares
from tiercut.net.emulate.network import EmulatedNetwork
from tiercut.net.emulate.rehearsal import Program, ProgramFailed, rehearse
from tiercut.net.emulate.throttle import find_throttle

pytestmark = pytest.mark.usefixtures("emulation")

SAY = 'echo "$OMP_NUM_THREADS threads, ready" >&2; '
UNTIL = "while ! test -e {}; do sleep 0.01; done"


def cast(tmp_path, network, server, device):
    """Programs of a shell for the server and all devices."""
    programs = [
        Program(["sh", "-c", script], tmp_path / "logs" / host.name, "ready", share=0.1)
        for host, script in zip(
            network.hosts, [*(device for _ in network.clients), server], strict=True
        )
    ]
    return programs[-1], programs[:-1]


@pytest.mark.usefixtures("throttling")
def test_hosts_are_throttled_when_they_are_ready(tmp_path):
    begun, over, seen = tmp_path / "begun", tmp_path / "over", []
    with EmulatedNetwork(TRIO, shares=shares(), server_share=0.5) as network:
        throttle = find_throttle()

        def look():
            held = [bool(throttle.running(host.namespace)) for host in network.hosts]
            seen.append(held)
            begun.touch()
            if all(held):
                over.touch()

        wait = SAY + UNTIL.format(over)
        server = f"{UNTIL.format(begun)}; {wait}"
        rehearse(network, *cast(tmp_path, network, server, wait), look)
        assert seen[0] == [False] * 4
        assert [False, False, False, True] in seen, "the server comes first"
        assert (tmp_path / "logs" / "a").read_text() == "1 threads, ready\n"


def test_a_program_that_fails_ends_it_with_its_own_words(tmp_path):
    with EmulatedNetwork(TRIO) as network:
        fails = SAY + "echo '{}' >&2; echo 'tiercut: no such thing' >&2; exit 3"
        wait = SAY + UNTIL.format(tmp_path / "never")
        with pytest.raises(ProgramFailed, match=r"^server stopped with exit code 3: no such thing"):
            rehearse(network, *cast(tmp_path, network, fails, SAY), lambda: None)
        with pytest.raises(ProgramFailed, match=r"^[abc] stopped with exit code 3: no such thing"):
            rehearse(network, *cast(tmp_path, network, wait, fails), lambda: None)


def test_a_program_that_fails_in_silence_has_a_log_to_look_at(tmp_path):
    with (
        EmulatedNetwork(TRIO) as network,
        pytest.raises(ProgramFailed, match=r"exit code 1: .*logs/server has all that it said"),
    ):
        rehearse(network, *cast(tmp_path, network, "exit 1", SAY), lambda: None)
