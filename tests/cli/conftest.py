"""The command line in this process and in one of its own, and files for it to read."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tiercut.cli import app
from tiercut.errors import InputError
from tiercut.models.profile import shipped_profile


def run_well(*words):
    """Run `tiercut WORDS` in this process; it must succeed."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, f"{words}: {result.output} {result.exception!r}"
    return result


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Files without a folder of their own are written into an empty one."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def tiercut():
    """Run `tiercut WORDS` in this process, where it must succeed."""
    return run_well


@pytest.fixture(scope="session")
def as_json():
    """The JSON value that `tiercut WORDS --json` prints; there must be nothing else."""
    return lambda *words: json.loads(run_well(*words, "--json").stdout)


@pytest.fixture(scope="session")
def refusal():
    """The one sentence with which `tiercut WORDS` refuses to go on."""

    def run(*words, error=InputError):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert type(result.exception) is error, f"{words}: {result.output} {result.exception!r}"
        message = str(result.exception)
        assert message
        assert "\n" not in message
        assert result.stdout == ""
        return message

    return run


FEW = """
name = "few examples"
[model]
name = "small"
[fleet]
clients = 5
examples = 26
[training]
batch = 4
epochs = 1
rounds = 2
rate = 1e-3
{training}
[plan]
{plan}
[engine]
threads = 1
device = "cpu"
{rest}
"""


@pytest.fixture
def scenario_with(tmp_path):
    """The file of a scenario of few examples, with further lines in some of its sections."""

    def write(training="", plan="", rest=""):
        path = tmp_path / "scenario.toml"
        path.write_text(FEW.format(training=training, plan=plan, rest=rest))
        return path

    return write


@pytest.fixture
def command(tmp_path):
    """Run `tiercut WORDS` in a process of its own, in an empty folder."""

    def run(*words, **options):
        return subprocess.run(
            [sys.executable, "-m", "tiercut", *map(str, words)],
            **{"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 60, **options},
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Where the files below are; read them, and write elsewhere."""
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="session")
def fleet(folder):
    """The file of a fleet of eight clients, client-1 to client-8."""
    path = folder / "fleet.json"
    run_well("fleet", "sample", "--clients", 8, "--seed", 3, "-o", path)
    return path


@pytest.fixture(scope="session")
def profile(folder):
    """The file of VGG-11's profile."""
    path = folder / "vgg11.json"
    path.write_text(json.dumps(shipped_profile("vgg11").to_dict()))
    return path


@pytest.fixture(scope="session")
def inputs(fleet, profile):
    """The options that name both files."""
    return ("--fleet", fleet, "--profile", profile)


@pytest.fixture(scope="session")
def plan(folder, inputs):
    """The file of a plan for them, with cuts 7 and 8 to choose from."""
    path = folder / "plan.json"
    run_well("plan", *inputs, "--cuts", "7,8", "-o", path)
    return path


@pytest.fixture
def edited(tmp_path):
    """A copy of a JSON file after `change` was done to its value."""

    def edit(path, change):
        value = json.loads(path.read_text())
        change(value)
        copy = tmp_path / f"edited-{path.name}"
        copy.write_text(json.dumps(value))
        return copy

    return edit
