import json

import pytest

from tiercut.fleet import read_fleet


def sample(tiercut, *options):
    return json.loads(tiercut("fleet", "sample", *options).stdout)


def test_the_fleet_has_every_promised_key(fleet):
    made = json.loads(fleet.read_text())
    assert set(made) == {"version", "server", "clients", "links"}
    assert made["server"] == {"throughput": 200e9}
    assert [set(client) for client in made["clients"]] == [{"name", "throughput", "examples"}] * 8
    assert len(made["links"]["to_server"]) == len(made["links"]["between"]) == 8


def test_a_fleet_with_access_rates_has_no_matrix(tiercut):
    links = sample(tiercut, "-n", 5, "--links", "access")["links"]
    assert set(links) == {"to_server", "access"}


def test_the_same_seed_gives_the_same_fleet(tiercut):
    assert sample(tiercut, "-n", 5, "--seed", 4) == sample(tiercut, "-n", 5, "--seed", 4)
    assert sample(tiercut, "-n", 5, "--seed", 4) != sample(tiercut, "-n", 5, "--seed", 5)


def test_the_options_say_what_is_drawn(tiercut):
    strength = ("--strong", 0.5, "--gamma", 3, "--weak", "1 GFLOP/s", "--server", "5 GHz")
    links = ("--rates", "1 MB/s", "2 MB/s", "--examples", 70)
    made = sample(tiercut, "-n", 4, *strength, *links)
    throughputs = sorted(client["throughput"] for client in made["clients"])
    assert throughputs == [1e9, 1e9, 3e9, 3e9]
    assert made["server"]["throughput"] == 10e9
    assert all(1e6 <= rate <= 2e6 for rate in made["links"]["to_server"])
    assert {client["examples"] for client in made["clients"]} == {70}


def test_every_client_can_draw_its_own_throughput(tiercut):
    made = sample(tiercut, "-n", 30, "--throughput", "2 GFLOP/s", "20 GFLOP/s")
    throughputs = [client["throughput"] for client in made["clients"]]
    assert len(set(throughputs)) == 30
    assert all(2e9 <= throughput <= 20e9 for throughput in throughputs)


def test_what_is_written_is_what_is_printed_and_can_be_read(tiercut, fleet):
    printed = sample(tiercut, "--clients", 8, "--seed", 3)
    assert printed == json.loads(fleet.read_text()) == read_fleet(fleet).to_dict()


def test_a_fleet_file_is_summarised(tiercut, as_json, fleet):
    shown = tiercut("fleet", "show", fleet).stdout
    assert "8 clients with 4,000 examples" in shown
    assert "links between clients: between" in shown
    summary = as_json("fleet", "show", fleet)
    assert (summary["clients"], summary["examples"], summary["links"]) == (8, 4000, "between")
    assert summary["throughput"] == sorted(summary["throughput"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("-n", 0), "clients is 0; expected"),
        (("-n", 2, "--links", "acess"), "did you mean 'access'"),
        (("-n", 2, "--rates", "0 Mbps", "5 Mbps"), "expected greater than 0"),
        (("-n", 2, "--rates", "9 Mbps", "5 Mbps"), "expected low, high"),
        (("-n", 2, "--weak", "2 GHx"), "did you mean 'GHz'"),
        (("-n", 2, "--strong", 2), "less than or equal to 1"),
        (("-n", 2, "--gamma", 0.5), "greater than or equal to 1"),
        (("-n", 2, "--seed", -1), "the seed is -1"),
        (("-n", 2, "--examples", 0), "examples is 0"),
    ],
)
def test_an_impossible_fleet_is_refused(refusal, options, sentence):
    assert sentence in refusal("fleet", "sample", *options)
