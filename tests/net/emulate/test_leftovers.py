"""Nothing is left of a network: after its end, after Ctrl-C, and after its maker was killed."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.net.emulate.instances import TRIO, shares, still_there
from tiercut.errors import MissingError
from tiercut.net.emulate.leftovers import sweep
from tiercut.net.emulate.network import EmulatedNetwork

pytestmark = pytest.mark.usefixtures("emulation")

WAIT = ["sh", "-c", "setsid sleep 1000 & echo $!; exec sleep 1000"]
"""A command and something that it starts in a session of its own."""

MAKER = """
import subprocess, time
from tests.net.emulate.instances import TRIO, shares
from tests.net.emulate.test_leftovers import WAIT
from tiercut.net.emulate.leftovers import passing_files
from tiercut.net.emulate.network import EmulatedNetwork

with passing_files() as files, EmulatedNetwork(TRIO, shares=shares()) as network:
    waiting = network.server.popen(WAIT, stdout=subprocess.PIPE, text=True)
    print(files, waiting.pid, waiting.stdout.readline().strip())
    print(*(h.namespace for h in network.hosts))
    print(flush=True)
    time.sleep(1000)
"""


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_an_end_takes_all_with_it():
    with EmulatedNetwork(TRIO, shares=shares()) as network:
        names = [host.namespace for host in network.hosts]
        with network.clients[0].popen(WAIT, stdout=subprocess.PIPE, text=True) as waiting:
            started = int(waiting.stdout.readline())
            assert still_there(names) == set(names)
            network.__exit__(None, None, None)
    assert waiting.returncode == -signal.SIGKILL
    assert not is_running(started)
    assert still_there(names) == set()


def test_a_failed_start_leaves_nothing():
    network = EmulatedNetwork(TRIO)
    taken = network.server.namespace
    subprocess.run(["ip", "netns", "add", taken], check=True)
    with pytest.raises(MissingError, match="File exists"):
        network.__enter__()
    assert still_there([host.namespace for host in network.hosts]) == set()


def made_elsewhere():
    """A process with a network: its files, the processes in it and the names of its parts."""
    maker = subprocess.Popen([sys.executable, "-c", MAKER], stdout=subprocess.PIPE, text=True)
    files, first, second = maker.stdout.readline().split()
    names = maker.stdout.readline().split()
    assert Path(files).stat().st_mode & 0o777 == 0o700
    assert still_there(names) == set(names)
    assert is_running(first)
    assert is_running(second)
    return maker, Path(files), (first, second), names


def test_ctrl_c_leaves_nothing():
    maker, files, inside, names = made_elsewhere()
    with maker:
        maker.send_signal(signal.SIGINT)
    assert not files.exists()
    assert not any(map(is_running, inside))
    assert still_there(names) == set()


def test_what_a_killed_maker_left_is_swept_away():
    maker, files, inside, names = made_elsewhere()
    sweep()
    assert still_there(names) == set(names), "its maker was alive"
    assert files.exists()
    with maker:
        maker.kill()
    sweep()
    assert not files.exists()
    assert not any(map(is_running, inside))
    assert still_there(names) == set()
