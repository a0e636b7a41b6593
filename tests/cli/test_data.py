import socket
import urllib.request

import pytest

from tests.data.instances import write_mnist
from tiercut.errors import MissingError


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """No data set of the person who runs the tests is found, and no network."""
    monkeypatch.delenv("TIERCUT_DATA", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{taken.getsockname()[1]}"
    for variable in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(variable, nowhere)
    urllib.request.install_opener(None)  # it reads these variables once, when it is first needed
    yield
    urllib.request.install_opener(None)


@pytest.fixture
def scenario(tmp_path):
    def write(clients=12, **data):
        keys = "\n".join(f"{key} = {value!r}" for key, value in data.items())
        text = f'name = "x"\n[model]\nname = "small"\n[fleet]\nclients = {clients}\nexamples = 10\n'
        path = tmp_path / "scenario.toml"
        path.write_text(f"{text}[data]\n{keys}\n")
        return path

    return write


def test_the_known_sets_are_listed(tiercut, as_json, tmp_path):
    write_mnist(tmp_path / "sets" / "mnist")
    shown = tiercut("data", "list", "--data-dir", "sets").stdout
    assert all(name in shown for name in ("digits", "synthetic", "mnist", "cifar10", "cinic10"))
    assert "tiercut data get cifar10" in " ".join(shown.split())
    assert as_json("data", "list", "--data-dir", "sets") == {
        "folder": "sets",
        "built_in": ["digits", "synthetic"],
        "stored": {"mnist": "sets/mnist", "cifar10": None, "cinic10": None},
    }


def test_a_set_that_is_there_is_not_downloaded(tiercut, tmp_path, monkeypatch):
    write_mnist(tmp_path / "sets" / "mnist")
    monkeypatch.setenv("TIERCUT_DATA", "sets")
    assert "is there already" in tiercut("data", "get", "mnist").stderr


def test_without_a_network_a_download_says_what_to_do(refusal):
    message = refusal("data", "get", "cifar10", error=MissingError)
    assert "cifar-10-binary.tar.gz could not be downloaded" in message
    assert "get it from https://www.cs.toronto.edu/~kriz/cifar.html" in message


def test_a_set_without_an_address_is_refused(refusal):
    assert "'digits' cannot be downloaded" in refusal("data", "get", "digits")


def test_a_spread_is_shown(tiercut, as_json, scenario):
    path = scenario(partition="dirichlet", alpha=0.3)
    shown = tiercut("data", "show", path).stdout
    assert "12 clients with 10 to 10 examples, together 120 of 1,437" in shown
    spread = as_json("data", "show", path)
    assert (spread["data"], spread["partition"]) == ("digits", "dirichlet")
    assert spread["classes"] == list("0123456789")
    assert [client["examples"] for client in spread["clients"]] == [10] * 12
    assert all(sum(client["labels"]) == 10 for client in spread["clients"])
    assert 0 < spread["skew"] < 1


def test_many_clients_are_cut_short_for_people_only(tiercut, as_json, scenario):
    path = scenario(clients=100)
    assert "and 60 more clients" in tiercut("data", "show", path).stdout
    assert len(as_json("data", "show", path)["clients"]) == 100


def test_a_spread_is_plotted(tiercut, refusal, scenario, tmp_path):
    path = scenario()
    assert "wrote spread.svg" in tiercut("data", "show", path, "--plot", "spread.svg").stderr
    assert (tmp_path / "spread.svg").read_text().startswith("<?xml")
    assert ".svg or .png" in refusal("data", "show", path, "--plot", "spread.pdf")


def test_what_cannot_be_shown_is_refused(refusal, scenario):
    assert "lower examples" in refusal("data", "show", scenario(clients=200))
    message = refusal("data", "show", scenario(name="mnist"), error=MissingError)
    assert "tiercut data get mnist" in message
