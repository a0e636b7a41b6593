"""Names tell whose maker is gone."""

import os
import subprocess

from tiercut.net.emulate.names import Names, is_abandoned


def test_names_are_of_one_network_alone():
    one, other = Names(), Names()
    assert len({one.of(0), one.of("server"), other.of(0), other.of("server")}) == 4


def test_what_we_made_is_not_abandoned():
    assert not is_abandoned(Names().of("server"))


def test_other_peoples_names_are_not_abandoned():
    for name in ("", "server", "tiercut", "tiercut-1-server", "a-tiercut-1-2-3-server"):
        assert not is_abandoned(name)


def test_the_maker_is_gone_when_its_number_is_free_or_anothers():
    with subprocess.Popen(["true"]) as process:
        pass
    assert is_abandoned(f"tiercut-{process.pid}-123-0-server")
    assert is_abandoned(f"tiercut-{os.getpid()}-1-0-server")


def test_the_maker_is_gone_though_nobody_took_note_of_its_end():
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    with open(f"/proc/{process.pid}/stat") as file:
        start = file.read().rpartition(")")[2].split()[19]
    name = f"tiercut-{process.pid}-{start}-0-server"
    assert not is_abandoned(name)
    process.stdin.close()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert is_abandoned(name)
    process.wait()
