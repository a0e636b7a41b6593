"""Whatever goes wrong, there is one sentence and an exit code, and never a traceback."""

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.cli.test_replan import remove
from tiercut import __version__
from tiercut.errors import InfeasibleError


def assert_explained(ran, code):
    """One message on standard error, in lines that start with the program's name."""
    assert ran.returncode == code, ran.stderr
    assert ran.stdout == ""
    assert ran.stderr.strip()
    assert all(line.startswith("tiercut: ") for line in ran.stderr.splitlines()), ran.stderr


# ------------------------------------------------------------------------------------ the options


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--cuts 99", "cut layer 99 is outside 3 to 8"),
        ("--cuts 2", "cut layer 2 is outside 3 to 8"),
        ("--cuts 9", "cut layer 9 is outside 3 to 8"),
        ("--cuts 8-7", "no candidate cut layer"),
        ("--cuts seven", "is no list of layers"),
        ("--solver exat", "did you mean 'exact'"),
        ("--cost netwrk", "did you mean 'network'"),
        ("--batch 0", "batch is 0"),
        ("--batch -3", "batch is -3"),
        ("--epochs 0", "epochs is 0"),
        ("--aggregators 0", "expected 1 to 8"),
        ("--aggregators 9", "expected 1 to 8"),
        ("--aggregators 2 --lambda 20%", "not both"),
        ("--lambda 0", "above 0, up to 1"),
        ("--lambda 101%", "above 0, up to 1"),
        ("--lambda lots", "fraction"),
        ("--aggregator-layer 1", "from 2 to 7"),
        ("--aggregator-layer 8", "from 2 to 7"),
        ("--cuts 4 --aggregator-layer 4", "from 2 to 3"),
        ("--allow client-9", "did you mean 'client-"),
        ("--forbid client-1", "write NAME:NAME"),
        ("--forbid client-1:nobody", "no client 'nobody'"),
        ("--time-limit=-1", "expected 0 s or more"),
        ("--time-limit soon", "time"),
        ("--time-limit inf", "time"),
        ("--slack=-1%", "expected 0% or more"),
        ("--slack 1% --solver paper", "--solver exact"),
        ("--cuts 7 --pareto frontier.txt", ".svg or .png"),
        ("--solver sfl --aggregators 2", "no aggregators"),
        ("--solver dtfl --lambda 20%", "no aggregators"),
        ("--solver locsfl --aggregator-layer 2", "no aggregators"),
        ("--solver locsfl --allow client-1", "no aggregators"),
        ("--solver sfl --forbid client-1:client-2", "no aggregators"),
        ("--solver sfl --pareto frontier.svg", "no aggregators"),
        ("--solver sfl --slack 1%", "--slack"),
    ],
)
def test_a_wrong_option_of_plan_is_refused(refusal, inputs, options, sentence):
    assert sentence in refusal("plan", *inputs, *options.split())


def test_what_nobody_can_satisfy_is_infeasible(refusal, inputs, fleet):
    names = [client["name"] for client in json.loads(fleet.read_text())["clients"]]
    apart = [w for n in names[1:] for w in ("--forbid", f"{names[0]}:{n}")]
    words = ("plan", *inputs, "--cuts", "7", "--aggregators", 1, *apart)
    assert "fixed" in refusal(*words, error=InfeasibleError)


@pytest.mark.parametrize("verb", ["cost", "timeline"])
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--scheme aa-hsfl", "did you mean 'aa-hsfl-ll'"),
        ("--cost papr", "did you mean 'paper'"),
        ("--batch 0", "batch is 0"),
    ],
)
def test_a_wrong_option_of_cost_and_timeline_is_refused(
    refusal, inputs, plan, verb, options, sentence
):
    assert sentence in refusal(verb, *inputs, "--plan", plan, *options.split())


@pytest.mark.parametrize("words", [("plan",), ("replan", "PLAN"), ("cost", "--plan", "PLAN")])
def test_without_scenario_and_files_there_is_nothing_to_do(refusal, plan, fleet, words):
    words = [plan if word == "PLAN" else word for word in words]
    sentence = "give a scenario file, or both --fleet and --profile"
    assert refusal(*words) == refusal(*words, "--fleet", fleet) == sentence


# -------------------------------------------------------------------------------------- the files


def cut_links(fleet):
    fleet["links"]["between"][1] = fleet["links"]["between"][1][:-1]


def lopsided(fleet):
    fleet["links"]["between"][0][1] *= 2


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (remove(set(range(1, 8))), "the fleet has one client"),
        (lambda f: f["links"]["to_server"].__setitem__(2, 0), "links.to_server[2] is 0"),
        (lambda f: f["links"]["to_server"].__setitem__(2, -1), "links.to_server[2] is -1"),
        (lambda f: f["links"]["to_server"].__setitem__(0, None), "links.to_server[0] is null"),
        (lambda f: f["links"]["to_server"].__setitem__(0, "fast"), 'links.to_server[0] is "fast"'),
        (lambda f: f["links"]["to_server"].pop(), "expected 8 numbers"),
        (lambda f: f["links"]["between"][0].__setitem__(1, 0), "write null where there is no"),
        (cut_links, "links.between[1] has 7 entries"),
        (lopsided, "not symmetric"),
        (lambda f: f["links"].pop("between"), "neither of between and access"),
        (lambda f: f["links"].update(access=[1] * 8), "both of between and access"),
        (lambda f: f["clients"][1].update(throughput=0), "clients[1].throughput is 0"),
        (lambda f: f["clients"][1].update(examples=0), "clients[1].examples is 0"),
        (lambda f: f["clients"][1].update(name="client-1"), "both named 'client-1'"),
        (lambda f: f["clients"][1].update(thruput=1), "did you mean 'throughput'"),
        (lambda f: f.pop("server"), "server is missing"),
        (lambda f: f.update(version=2), "version is 2"),
    ],
)
def test_a_wrong_fleet_is_refused(refusal, fleet, edited, change, sentence):
    said = refusal("plan", "--fleet", edited(fleet, change), "--profile", "vgg11", "--cuts", 7)
    assert sentence in said


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda p: p["layers"].__delitem__(slice(3, None)), "heads has 9 entries"),
        (lambda p: p["layers"][0].update(activation_bytes=0), "activation_bytes is 0"),
        (lambda p: p["layers"][0].update(flops=-1), "flops is -1"),
        (lambda p: p["layers"][1].update(index=1), "layers[1].index is 1"),
        (lambda p: p["layers"][1].pop("name"), "layers[1].name is missing"),
    ],
)
def test_a_wrong_profile_is_refused(refusal, fleet, profile, edited, change, sentence):
    words = ("plan", "--fleet", fleet, "--profile", edited(profile, change))
    assert sentence in refusal(*words)


def test_a_model_of_three_layers_has_no_feasible_cut(refusal, fleet, profile, edited):
    def shorten(value):
        del value["layers"][3:], value["heads"]

    said = refusal("plan", "--fleet", fleet, "--profile", edited(profile, shorten))
    assert "the model has 3 layers" in said
    assert "needs at least 4" in said


def test_two_tiers_make_do_with_two_layers_and_one_client(as_json, fleet, profile, edited):
    def shorten(value):
        del value["layers"][2:], value["heads"]

    files = ("--fleet", edited(fleet, remove(set(range(1, 8)))), "--profile")
    made = as_json("plan", *files, edited(profile, shorten), "--solver", "locsfl")
    assert (made["cut_layer"], made["aggregator_of"]) == (1, [0])


@pytest.mark.parametrize("verb", ["cost", "timeline"])
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda p: (p["aggregator_of"].pop(), p["clients"].pop()), "7 clients and the fleet has 8"),
        (lambda p: p["clients"].__setitem__(1, "somebody"), "'somebody'"),
        (lambda p: p["clients"].reverse(), "'client-8'"),
        (lambda p: p["aggregator_of"].__setitem__(0, 8), "aggregator_of[0] is 8"),
        (lambda p: p["aggregator_of"].__setitem__(0, -1), "aggregator_of[0] is -1"),
        (lambda p: p.update(aggregator_of=[1, 2, 2, 2, 2, 2, 2, 2]), "must serve itself"),
        (lambda p: p.update(cut_layer=9), "the cut layer is 9"),
        (lambda p: p.update(aggregator_layer=8), "the aggregator layer is 8"),
        (lambda p: p.update(aggregator_layer=None), "aggregator_layer is missing"),
        (lambda p: p.update(cut_layer=None), "neither cut_layer nor cut_layers"),
        (lambda p: p.update(scheme="aa-hsfl"), "did you mean 'aa-hsfl-ll'"),
        (lambda p: p.update(cost="papre"), "did you mean 'paper'"),
        (lambda p: p.update(batch=0), "batch is 0"),
        (lambda p: p.pop("aggregator_of"), "aggregator_of is missing"),
        (lambda p: p.pop("version"), "version is null"),
    ],
)
def test_a_plan_that_disagrees_is_refused(refusal, inputs, plan, edited, verb, change, sentence):
    assert sentence in refusal(verb, *inputs, "--plan", edited(plan, change))


def test_a_plan_too_deep_for_the_model_is_refused(refusal, fleet, plan):
    said = refusal("cost", "--fleet", fleet, "--profile", "small", "--plan", plan)
    assert "the cut layer is 7; a model of 7 layers" in said


def test_a_plan_over_a_missing_link_is_refused(refusal, fleet, profile, plan, edited):
    served_by = json.loads(plan.read_text())["aggregator_of"]
    n, k = next((n, k) for n, k in enumerate(served_by) if n != k)

    def unlink(value):
        between = value["links"]["between"]
        between[n][k] = between[k][n] = None

    words = ("cost", "--plan", plan, "--profile", profile, "--fleet", edited(fleet, unlink))
    assert "no link between them" in refusal(*words)


@pytest.mark.parametrize(
    "content", ["", "{", "[1]", "null", "\x00", "NaN", '"x"', "1e999", "[" * 9999]
)
@pytest.mark.parametrize("place", ["--fleet", "--profile", "--plan"])
def test_a_file_of_something_else_is_refused(refusal, inputs, plan, tmp_path, place, content):
    path = tmp_path / "odd.json"
    path.write_text(content)
    options = {"--fleet": inputs[1], "--profile": inputs[3], "--plan": plan, place: path}
    assert "odd.json" in refusal("cost", *(word for pair in options.items() for word in pair))


@pytest.mark.parametrize("place", ["--fleet", "--profile", "--plan"])
def test_a_missing_file_is_named_and_a_close_one_offered(refusal, inputs, plan, place):
    options = {"--fleet": inputs[1], "--profile": inputs[3], "--plan": plan}
    options[place] = options[place].with_suffix(".jsn")
    said = refusal("cost", *(word for pair in options.items() for word in pair))
    assert f"there is no such file (did you mean '{options[place].stem}.json'?)" in said


def test_a_missing_scenario_is_refused(refusal, tmp_path):
    assert "there is no such file" in refusal("plan", tmp_path / "nope.toml")


def test_a_folder_is_no_file(refusal, inputs, tmp_path):
    assert "cannot be read" in refusal("cost", *inputs, "--plan", tmp_path)


@pytest.mark.parametrize("option", ["-o", "--picture", "--pareto"])
def test_an_unwritable_output_is_refused(refusal, inputs, fleet, option):
    target = fleet / "below-a-file.svg"
    assert "cannot be written" in refusal("plan", *inputs, "--cuts", 7, option, target)


# ---------------------------------------------------------------------------- exit codes, processes


@pytest.mark.parametrize(
    "words", [("plan", "--nope"), ("nope",), ("plan", "--fleet"), ("plan", "--batch", "x")]
)
def test_misuse_of_the_command_line_ends_with_2(command, words):
    ran = command(*words)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "Error: " in ran.stderr
    assert "Traceback" not in ran.stderr


def test_wrong_input_ends_with_3(command, inputs):
    assert_explained(command("plan", *inputs, "--solver", "exat"), 3)


def test_several_problems_of_a_file_are_several_lines(command, fleet, edited):
    def spoil(value):
        del value["server"]
        value["clients"][0]["examples"] = 0

    ran = command("fleet", "show", edited(fleet, spoil))
    assert_explained(ran, 3)
    assert len(ran.stderr.splitlines()) == 2


def test_an_infeasible_problem_ends_with_4(command, inputs):
    ran = command("plan", *inputs, "--cuts", "7,8", "--solver", "paper-literal", "--json")
    assert_explained(ran, 4)


def test_an_explained_error_has_no_traceback_even_when_debugging(command, inputs):
    debugging = {**os.environ, "TIERCUT_DEBUG": "1"}
    assert_explained(command("plan", *inputs, "--cuts", "99", env=debugging), 3)


BUG = (
    "import sys\n"
    "from tiercut import cli\n"
    "def broken(): raise ZeroDivisionError('by design')\n"
    "cli.app.command('broken')(broken)\n"
    "sys.argv = ['tiercut', 'broken']\n"
    "cli.main()\n"
)


@pytest.mark.parametrize("debugging", ["", "1"])
def test_a_bug_ends_with_70_and_shows_its_traceback_on_request_only(debugging):
    ran = subprocess.run(
        [sys.executable, "-c", BUG],
        env={**os.environ, "TIERCUT_DEBUG": debugging},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 70
    assert "tiercut: this is a bug" in ran.stderr
    assert "ZeroDivisionError: by design" in ran.stderr
    assert ("Traceback" in ran.stderr) == bool(debugging)


def test_help_and_version_succeed(command):
    assert command("--version").stdout == f"tiercut {__version__}\n"
    ran = command("plan", "--help")
    assert ran.returncode == 0
    assert "--aggregator-layer" in ran.stdout


def test_with_json_nothing_but_json_is_printed(command, inputs):
    ran = command("plan", *inputs, "--cuts", "7", "--json")
    assert ran.returncode == 0
    assert json.loads(ran.stdout)["version"] == 1


@pytest.mark.parametrize("style", [("--json",), ()])
def test_a_reader_that_goes_away_is_no_error(command, inputs, style):
    reading, writing = os.pipe()
    os.close(reading)
    options = {"capture_output": False, "stdout": writing, "stderr": subprocess.PIPE}
    try:
        ran = command("plan", *inputs, "--cuts", "7", *style, **options)
    finally:
        os.close(writing)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_ctrl_c_ends_with_130_a_message_and_the_old_file(tmp_path, profile):
    """The fleet comes through a pipe, so it is known when the command is at work."""
    old, pipe = tmp_path / "plan.json", tmp_path / "fleet"
    old.write_text("the old plan")
    os.mkfifo(pipe)
    words = ("plan", "--fleet", pipe, "--profile", profile, "-o", old)
    with (
        subprocess.Popen(
            [sys.executable, "-m", "tiercut", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as running,
        pipe.open("w"),
    ):  # waits until the command opens it too
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, "")
    assert err.startswith("tiercut: interrupted")
    assert "Traceback" not in err
    assert old.read_text() == "the old plan"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fleet", "plan.json"]


# -------------------------------------------------------------------------------- without torch

WATCHED = (
    "import sys\n"
    "from tiercut.cli import main\n"
    "try:\n"
    "    main()\n"
    "except SystemExit as end:\n"
    "    assert not end.code, end.code\n"
    "assert 'torch' not in sys.modules\n"
)


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--help"),
        ("plan", "INPUTS", "--cuts", "7"),
        ("plan", "INPUTS", "--cuts", "7", "--pareto", "frontier.svg"),
        ("cost", "INPUTS", "--plan", "PLAN"),
        ("timeline", "INPUTS", "--plan", "PLAN"),
        ("replan", "PLAN", "INPUTS"),
        ("fleet", "sample"),
    ],
)
def test_planning_and_pricing_never_load_torch(inputs, plan, tmp_path, words):
    named = {"INPUTS": [*map(str, inputs)], "PLAN": [str(plan)]}
    spelled = [part for word in words for part in named.get(word, [word])]
    ran = subprocess.run(
        [sys.executable, "-c", WATCHED, *spelled],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


# ------------------------------------------------------------------------- known to be wrong


def test_a_plan_with_a_name_too_few_is_refused(refusal, inputs, plan, edited):
    assert "names" in refusal("cost", *inputs, "--plan", edited(plan, lambda p: p["clients"].pop()))


def test_a_huge_range_of_cuts_is_refused_at_once(command, inputs):
    import resource

    def little_memory():
        resource.setrlimit(resource.RLIMIT_AS, (4_000_000_000, 4_000_000_000))

    ran = command("plan", *inputs, "--cuts", "3-99999999999", preexec_fn=little_memory)
    assert_explained(ran, 3)


def test_a_misspelt_shipped_model_is_offered(refusal, fleet):
    assert "did you mean 'vgg1" in refusal("plan", "--fleet", fleet, "--profile", "vgg1")


def test_an_error_after_a_progress_bar_is_one_message_too(command, inputs):
    assert_explained(command("plan", *inputs, "--cuts", "7", "--pareto", "frontier.txt"), 3)


@pytest.mark.parametrize("more", ["--slack 1%", "--picture groups.svg", "--solver paper"])
def test_options_that_the_frontier_cannot_honour_are_refused(refusal, inputs, tmp_path, more):
    words = ("plan", *inputs, "--cuts", "7", "--pareto", tmp_path / "f.svg", *more.split())
    assert "--pareto" in refusal(*words)


@pytest.mark.parametrize("words", [("plan", "--cuts", "7", "--picture"), ("timeline", "-o")])
def test_svg_is_not_written_into_a_png(refusal, inputs, plan, tmp_path, words):
    verb, *options = words
    files = (*inputs, *(("--plan", plan) if verb == "timeline" else ()))
    assert ".svg" in refusal(verb, *files, *options, tmp_path / "picture.png")


@pytest.mark.parametrize("lanes", ["0", "-1"])
def test_a_picture_needs_lanes(refusal, inputs, plan, tmp_path, lanes):
    words = ("timeline", *inputs, "--plan", plan, "-o", tmp_path / "t.svg", f"--lanes={lanes}")
    assert "--lanes" in refusal(*words)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_no_bug(command):
    with open("/dev/full", "w") as full:
        options = {"capture_output": False, "stdout": full, "stderr": subprocess.PIPE}
        ran = command("fleet", "sample", **options)
    assert ran.returncode == 3
