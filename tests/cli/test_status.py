"""`tiercut status`: against a real server, on a terminal and elsewhere."""

import asyncio
import io
import json
import os
import pty
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from rich.console import Console

from tests.net.instances import DEVICES, REAL, device, make_known, status
from tests.net.processes import free_port
from tests.net.site import running, scenario
from tiercut.cli import status as verb
from tiercut.cli.status_table import draw_status
from tiercut.errors import InputError, MissingError


def drawn(found, width=160, note=None):
    file = io.StringIO()
    Console(file=file, width=width).print(draw_status(found, width, note))
    return file.getvalue()


# ------------------------------------------------------------------------------------- the table


def test_a_table_says_how_far_all_have_come():
    text = drawn(status())
    assert "field, aa-hsfl-ll: training round 12 of 40, epoch 2 of 3, 3 of 4 devices are" in text
    assert "round 11: accuracy 62.50%, predicted 10 s, measured 11.5 s, 2 attempts, 1 of 4" in text
    assert "lost (gone) 2, lost (late) 1, refused (caller) 7, rounds started again 2" in text
    rows = {line.split()[1]: line for line in text.splitlines() if line.startswith("│")}
    assert list(rows) == ["pi-1", "pi-2", "pi-3", "pi-4"]
    for said in ("10.0.0.5:7601", "1,200", "aggregator of 1", "training", "2 s ago", "2.5 MB"):
        assert said in rows["pi-1"]
    assert "client of pi-1" in rows["pi-2"]
    assert "lost: an epoch took longer than 9.0 s" in rows["pi-3"]
    assert "absent" in rows["pi-4"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"state": "gathering", "devices": ()}, "gathering, 0 of 4 devices are there"),
        ({"round": None, "epoch": None}, "between rounds, 11 of 40 are done"),
        ({"epoch": 3}, "epoch 3 of 3"),
        ({"last": status().last.model_copy(update={"real": None})}, "accuracy 62.50%, 1 of 4"),
    ],
)
def test_the_first_lines_tell_what_there_is_to_tell(changes, says):
    assert says in drawn(status(**changes))


def test_a_run_without_trouble_has_no_line_about_it():
    quiet = status(losses={}, refusals={}, restarts=0, last=None)
    assert "since" not in drawn(quiet)
    assert "accuracy" not in drawn(quiet)
    once = REAL.model_copy(update={"attempts": 1})
    smooth = status(last=status().last.model_copy(update={"real": once}))
    assert "attempts" not in drawn(smooth)


def test_a_narrow_terminal_has_no_addresses_and_no_device_can_write_to_it():
    assert "10.0.0.5" not in drawn(status(), width=80)
    hostile = device("[red]\x1b]0;x\x07\x9b31m", at="lost", reason="[/]\x9b31m")
    text = drawn(status(devices=(hostile, *DEVICES)))
    assert "\x1b" not in text
    assert "\x9b" not in text
    assert "[red]" in text


# ---------------------------------------------------------------------------------- the question


@pytest.fixture(scope="module")
def server():
    """One that waits for devices."""
    with running(scenario(), joining=False) as site:
        yield site


def test_it_tells_people_and_scripts(tiercut, as_json, server):
    ran = tiercut("status", server.address, "--insecure")
    assert ran.stdout == "net, aa-hsfl-ll: gathering, 0 of 3 devices are there\n"
    told = as_json("status", server.address, "--insecure")
    assert (told["version"], told["state"], told["devices"]) == (1, "gathering", [])


def test_what_cannot_be_asked_is_refused(refusal, server):
    assert "expected host:port" in refusal("status", "somewhere", "--insecure")
    assert "give --certs FOLDER" in refusal("status", server.address)
    assert "standard output is none" in refusal("status", server.address, "--insecure", "--watch")
    nobody = f"127.0.0.1:{free_port()}"
    assert "does not answer" in refusal("status", nobody, "--insecure", error=MissingError)


def test_one_sentence_and_nothing_of_grpc(command):
    ran = command("status", f"127.0.0.1:{free_port()}", "--insecure")
    assert ran.returncode == 5
    assert ran.stderr.startswith("tiercut: 127.0.0.1:")
    assert len(ran.stderr.splitlines()) == 1


def test_asking_does_not_load_torch(server):
    script = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from tiercut.cli import app\n"
        f"ran = CliRunner().invoke(app, ['status', {server.address!r}, '--insecure'])\n"
        "assert ran.exit_code == 0, ran.output\n"
        "print('torch' in sys.modules)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout == "False\n"


# -------------------------------------------------------------------------------------- watching


def followed(answers, monkeypatch):
    """What is shown when a server gives these answers, one after another."""
    monkeypatch.setattr(verb, "EVERY", 0.0)
    left, shown = iter(answers), []

    async def ask():
        answer = next(left)
        if isinstance(answer, Exception):
            raise answer
        return answer

    asyncio.run(verb._follow(ask, lambda status, note: shown.append((status.done, note))))
    return shown


def test_a_watcher_waits_for_a_server_that_comes_back_and_ends_with_it(monkeypatch):
    away = MissingError("it does not answer")
    answers = [status(done=1), away, status(done=2), status(done=3, state="over")]
    assert followed(answers, monkeypatch) == [(1, None), (1, str(away)), (2, None), (3, None)]
    ended = [status(done=40), away]
    assert followed(ended, monkeypatch) == [(40, None)]


def test_a_watcher_does_not_wait_for_what_was_never_there(monkeypatch):
    with pytest.raises(MissingError):
        followed([MissingError("nobody")], monkeypatch)
    with pytest.raises(InputError):
        followed([status(), InputError("it refuses")], monkeypatch)


@pytest.mark.parametrize("for_scripts", [True, False])
def test_a_run_is_watched_to_its_end(tiercut, tmp_path, monkeypatch, for_scripts):
    monkeypatch.setattr(verb, "EVERY", 0.05)
    file = io.StringIO()
    console = Console(force_terminal=True, width=160, file=file)
    monkeypatch.setattr("rich.console.Console", lambda **_: console)
    folder = make_known(tmp_path / "run")
    with running(scenario(4, rounds=1)) as site, ThreadPoolExecutor(1) as pool:
        training = pool.submit(site.train, folder, resume=True)
        more = ("--json",) if for_scripts else ()
        ran = tiercut("status", site.address, "--insecure", "--watch", *more)
        training.result(timeout=60)
    if for_scripts:
        last = json.loads(ran.stdout.splitlines()[-1])
        assert (last["state"], last["done"]) == ("over", 1)
    else:
        assert ": over, 4 of 4 devices are there" in file.getvalue()


def words(server, *more):
    return [sys.executable, "-m", "tiercut", "status", server.address, "--insecure", *more]


def test_scripts_can_watch_and_ctrl_c_ends_it(server):
    with subprocess.Popen(
        words(server, "--watch", "--json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as watching:
        lines = [json.loads(watching.stdout.readline()) for _ in range(2)]
        watching.send_signal(signal.SIGINT)
        _, said = watching.communicate(timeout=60)
    assert [line["state"] for line in lines] == ["gathering", "gathering"]
    assert watching.returncode == 130
    assert said == "tiercut: interrupted; nothing that was already written is lost\n"


def test_on_a_terminal_a_table_lives_and_ctrl_c_ends_it(server):
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        words(server, "--watch"), stdin=theirs, stdout=theirs, stderr=theirs
    ) as watching:
        os.close(theirs)
        text = b""
        while text.count(b"0 of 3 devices") < 2:
            text += os.read(ours, 4096)
        watching.send_signal(signal.SIGINT)
        while not text.rstrip().endswith(b"written is lost"):
            text += os.read(ours, 4096)
    os.close(ours)
    assert watching.returncode == 130
    assert b"Traceback" not in text
