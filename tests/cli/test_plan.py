import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiercut.cli.inputs import parse_layers
from tiercut.cli.plan import read_wishes
from tiercut.errors import InfeasibleError, InputError
from tiercut.fleet import sample_fleet
from tiercut.plan.solve import SOLVERS
from tiercut.scenario import FleetSection
from tiercut.seeds import Seeds

PROMISED = {
    "version",
    "scheme",
    "aggregator_layer",
    "cut_layer",
    "aggregator_of",
    "aggregators",
    "round_seconds",
    "lower_bound_seconds",
    "gap",
    "seconds",
    "batches_per_epoch",
    "batch",
    "epochs",
    "cost",
    "cuts",
    "bytes",
    "binding",
    "solver",
    "wall_seconds",
    "clients",
}
CARRIED = (
    "weights_down",
    "weights_up",
    "activations_to_aggregator",
    "gradients_from_aggregator",
    "activations_to_server",
    "gradients_from_server",
)
TWO_TIERS = ("sfl", "locsfl", "locsfl-lean", "dtfl", "dtfl-contended")
EXACT = 2e-6
"""Small fleets are solved to within this share of a round."""


@pytest.fixture(scope="module")
def made(plan):
    return json.loads(plan.read_text())


def aggregators(plan):
    return len(set(plan["aggregator_of"]))


# ------------------------------------------------------------------------------------ the file


def test_the_plan_has_every_promised_key(made):
    assert set(made) >= PROMISED
    assert made["version"] == 1
    assert made["scheme"] == "aa-hsfl-ll"
    assert made["solver"] == "exact"
    assert set(made["seconds"]) >= {"download", "forward", "backward", "server", "upload"}
    assert made["clients"] == [f"client-{n}" for n in range(1, 9)]


def test_the_plan_is_one_that_can_be_carried_out(made):
    served_by = made["aggregator_of"]
    assert len(served_by) == 8
    assert all(served_by[k] == k for k in served_by)
    assert made["aggregators"] == aggregators(made)
    assert 2 <= made["aggregator_layer"] < made["cut_layer"]
    assert made["cut_layer"] in made["cuts"] == [7, 8]


@pytest.mark.parametrize("epochs", [1, 3])
def test_a_round_is_the_sum_of_its_phases(as_json, inputs, epochs):
    made = as_json("plan", *inputs, "--cuts", 7, "--cost", "paper", "--epochs", epochs)
    spent, steps = made["seconds"], made["batches_per_epoch"] * epochs
    whole = spent["download"] + steps * (spent["forward"] + spent["backward"]) + spent["upload"]
    assert made["round_seconds"] == pytest.approx(whole, rel=1e-12)
    assert spent["round"] == made["round_seconds"]
    assert made["epochs"] == epochs


@pytest.mark.parametrize(("batch", "batches"), [(32, 16), (500, 1), (499, 2), (1, 500)])
def test_an_epoch_has_as_many_batches_as_500_examples_need(as_json, inputs, batch, batches):
    made = as_json("plan", *inputs, "--cuts", 7, "--solver", "locsfl", "--batch", batch)
    assert made["batches_per_epoch"] == batches


def test_the_bound_is_below_the_round_and_the_gap_between_them(made):
    bound, whole = made["lower_bound_seconds"], made["round_seconds"]
    assert 0 < bound <= whole
    assert made["gap"] == pytest.approx(1 - bound / whole, abs=1e-12)
    assert 0 <= made["gap"] <= EXACT


def test_the_bytes_add_up(made):
    assert made["bytes"]["total"] == sum(made["bytes"][kind] for kind in CARRIED)
    assert made["bytes"]["gradients_from_server"] == 0


def test_with_json_the_output_is_the_file(tiercut, inputs, tmp_path):
    path = tmp_path / "new" / "folder" / "plan.json"
    result = tiercut("plan", *inputs, "--cuts", 7, "--json", "-o", path)
    assert json.loads(result.stdout) == json.loads(path.read_text())
    assert f"wrote {path}" in result.stderr


def test_the_written_plan_costs_what_it_says(as_json, inputs, plan, made):
    priced = as_json("cost", *inputs, "--plan", plan)
    assert priced["seconds"] == made["seconds"]
    assert priced["bytes"] == made["bytes"]
    assert priced["binding"] == made["binding"]


def test_a_person_sees_tables_instead_of_json(tiercut, inputs):
    shown = tiercut("plan", *inputs, "--cuts", "7,8").stdout
    assert "AA HSFL-ll" in shown
    assert "aggregator layer h = 2" in shown
    assert "of the best possible" in shown
    assert "{" not in shown


def test_the_same_command_gives_the_same_plan(as_json, inputs, made):
    again = as_json("plan", *inputs, "--cuts", "7,8")
    assert {**again, "wall_seconds": 0} == {**made, "wall_seconds": 0}


def test_a_scenario_says_everything_and_options_win_over_it(as_json, fleet, tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(
        'name = "x"\n[model]\nname = "vgg11"\n'
        f'[fleet]\nfile = "{fleet}"\n[training]\nbatch = 100\nepochs = 2\n'
        '[plan]\nsolver = "greedy-scan"\ncost = "network"\ncuts = [6, 7]\n'
    )
    keys = ("batch", "epochs", "solver", "cost", "cuts")
    said = as_json("plan", path)
    assert [said[key] for key in keys] == [100, 2, "greedy-scan", "network", [6, 7]]
    options = ("--batch", 50, "--epochs", 1, "--solver", "paper", "--cost", "paper", "--cuts", "5")
    said = as_json("plan", path, *options)
    assert [said[key] for key in keys] == [50, 1, "paper", "paper", [5]]


# ------------------------------------------------------------------------------------- solvers


@pytest.mark.parametrize("solver", sorted(set(SOLVERS) - {"brute", "hsfl-ll", "paper-literal"}))
def test_every_solver_plans_for_its_scheme(as_json, inputs, solver):
    made = as_json("plan", *inputs, "--cuts", "7,8", "--solver", solver)
    assert set(made) >= PROMISED
    assert made["solver"] == solver
    assert made["scheme"] == SOLVERS[solver].scheme
    assert (made["aggregator_layer"] is None) == (solver in TWO_TIERS)
    assert made["round_seconds"] > 0


def test_no_heuristic_beats_the_exact_plan(as_json, inputs, made):
    for solver in ("paper", "greedy-scan"):
        heuristic = as_json("plan", *inputs, "--cuts", "7,8", "--solver", solver)
        assert heuristic["round_seconds"] >= made["lower_bound_seconds"]


def test_trying_every_plan_finds_what_the_exact_solver_finds(as_json, tiercut, profile, tmp_path):
    fleet = tmp_path / "six.json"
    tiercut("fleet", "sample", "-n", 6, "--seed", 1, "-o", fleet)
    files = ("--fleet", fleet, "--profile", profile, "--cuts", "5,7")
    brute = as_json("plan", *files, "--solver", "brute")
    exact = as_json("plan", *files)
    assert brute["gap"] == 0
    assert exact["round_seconds"] == pytest.approx(brute["round_seconds"], rel=EXACT)
    assert exact["lower_bound_seconds"] <= brute["round_seconds"]


def test_hsfl_takes_the_layers_and_the_share_it_is_given(as_json, inputs):
    given = ("--aggregator-layer", 3, "--cuts", 7, "--lambda", "25%")
    made = as_json("plan", *inputs, "--solver", "hsfl-ll", *given)
    assert (made["aggregator_layer"], made["cut_layer"], aggregators(made)) == (3, 7, 2)
    assert made["gap"] is made["lower_bound_seconds"] is None


def test_hsfl_says_what_it_is_not_given(refusal, inputs):
    said = refusal("plan", *inputs, "--solver", "hsfl-ll", "--cuts", "7")
    assert "--aggregator-layer" in said
    assert "--lambda" in said
    assert "--cuts" not in said


def test_algorithm_2_as_printed_finds_no_plan_here_and_says_why(refusal, inputs):
    words = ("plan", *inputs, "--cuts", "7,8", "--solver", "paper-literal")
    said = refusal(*words, error=InfeasibleError)
    assert "--solver paper" in said


def test_dtfl_gives_every_client_a_cut(as_json, inputs):
    made = as_json("plan", *inputs, "--cuts", "3-8", "--solver", "dtfl")
    assert len(made["cut_layers"]) == 8
    assert set(made["cut_layers"]) <= set(made["cuts"])


# ------------------------------------------------------------------------------------- options


@pytest.mark.parametrize("h", [2, 4, 6])
def test_the_aggregator_layer_can_be_fixed(as_json, inputs, h):
    made = as_json("plan", *inputs, "--cuts", "7,8", "--aggregator-layer", h)
    assert made["aggregator_layer"] == h


@pytest.mark.parametrize("layers", [1, 4])
@pytest.mark.parametrize("solver", ["exact", "multihop", "locsfl"])
def test_a_client_keeps_as_many_layers_as_it_is_told(as_json, inputs, layers, solver):
    made = as_json("plan", *inputs, "--solver", solver, "--client-layers", layers)
    assert made["client_layers"] == layers
    own = 0 if solver == "locsfl" else 1
    assert made["cuts"][0] == layers + own
    assert layers <= (made["aggregator_layer"] or made["cut_layer"])


def test_more_room_is_never_slower_and_planning_again_remembers_it(as_json, inputs, tmp_path):
    shallow = ("--aggregator-layer", 1, "--cuts", 2, "--client-layers", 1)
    plan = tmp_path / "plan.json"
    first = as_json("plan", *inputs, *shallow, "-o", plan)
    assert (first["aggregator_layer"], first["cut_layer"]) == (1, 2)
    again = as_json("replan", plan, *inputs)
    assert again["client_layers"] == 1
    free, usual = (as_json("plan", *inputs, *more) for more in (("--client-layers", 1), ()))
    assert free["lower_bound_seconds"] <= usual["round_seconds"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--client-layers", 4, "--cuts", 3), "cut layer 3 is outside 5 to 8"),
        (("--client-layers", 4, "--aggregator-layer", 3), "expected a layer from 4 to 7"),
        (("--client-layers", 8), "needs at least 10"),
        (("--aggregator-layer", 1), "expected a layer from 2 to 7"),
    ],
)
def test_layers_that_do_not_fit_are_refused(refusal, inputs, words, said):
    assert said in refusal("plan", *inputs, *words)


@pytest.mark.parametrize(
    ("option", "count"),
    [
        (("--aggregators", "1"), 1),
        (("--aggregators", "5"), 5),
        (("--lambda", "0.25"), 2),
        (("--lambda", "26%"), 3),
        (("--lambda", "100%"), 8),
    ],
)
def test_the_number_of_aggregators_can_be_fixed(as_json, inputs, option, count):
    assert aggregators(as_json("plan", *inputs, "--cuts", 7, *option)) == count


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_a_share_of_k_in_n_is_k_aggregators_however_it_is_written(data):
    clients = data.draw(st.integers(1, 60))
    count = data.draw(st.integers(1, clients))
    fleet = sample_fleet(FleetSection(clients=clients), Seeds(0))
    for text in (str(count / clients), f"{100 * count / clients}%"):
        assert read_wishes(fleet, None, text, None, None, None).aggregators == count


def test_only_allowed_clients_serve_others(as_json, inputs):
    words = ("plan", *inputs, "--cuts", 7, "--allow", "client-1,client-8")
    made = as_json(*words, "--aggregators", 2)
    assert {k for n, k in enumerate(made["aggregator_of"]) if n != k} <= {0, 7}


def test_forbidden_pairs_are_not_formed_in_either_direction(as_json, inputs, made):
    pairs = [(n, k) for n, k in enumerate(made["aggregator_of"]) if n != k]
    assert pairs
    words = [
        word
        for n, k in pairs
        for word in ("--forbid", f"{made['clients'][n]}:{made['clients'][k]}")
    ]
    other = as_json("plan", *inputs, "--cuts", "7,8", *words)["aggregator_of"]
    assert not {(n, k) for n, k in enumerate(other)} & {*pairs, *((k, n) for n, k in pairs)}


@pytest.mark.parametrize("limit", ["0", "0 s", "200 ms"])
def test_within_a_time_limit_there_is_a_plan_and_an_honest_bound(as_json, inputs, made, limit):
    quick = as_json("plan", *inputs, "--cuts", "7,8", "--time-limit", limit)
    assert quick["round_seconds"] >= made["lower_bound_seconds"]
    assert quick["lower_bound_seconds"] <= made["round_seconds"]


def test_slack_buys_fewer_aggregators_within_its_limit(as_json, inputs):
    words = ("plan", *inputs, "--cuts", "3-8")
    best, cheap = as_json(*words), as_json(*words, "--slack", "100%")
    assert cheap["round_seconds"] <= best["round_seconds"] * 2
    assert aggregators(cheap) < aggregators(best)


def test_no_slack_is_no_slower(as_json, inputs, made):
    same = as_json("plan", *inputs, "--cuts", "7,8", "--slack", "0%")
    assert same["round_seconds"] <= made["round_seconds"]
    assert aggregators(same) <= aggregators(made)


def test_the_network_model_prices_otherwise_and_the_file_remembers_it(
    as_json, tiercut, inputs, tmp_path, made
):
    path = tmp_path / "plan.json"
    tiercut("plan", *inputs, "--cuts", "7,8", "--cost", "network", "-o", path)
    networked = json.loads(path.read_text())
    assert networked["cost"] == "network"
    assert networked["round_seconds"] != made["round_seconds"]
    priced = as_json("cost", *inputs, "--plan", path)
    assert priced["cost"] == "network"
    assert priced["seconds"] == networked["seconds"]


def test_the_groups_can_be_drawn(tiercut, inputs, tmp_path):
    path = tmp_path / "groups.svg"
    tiercut("plan", *inputs, "--cuts", 7, "--picture", path)
    text = path.read_text()
    assert text.startswith(("<svg", "<?xml"))
    assert "client-3" in text


# ------------------------------------------------------------------------------------ frontier


@pytest.fixture(scope="module")
def frontier(tiercut, inputs, folder):
    picture, points = folder / "frontier.svg", folder / "points.json"
    tiercut("plan", *inputs, "--cuts", "6-8", "--pareto", picture, "-o", points)
    assert "<svg" in picture.read_text()
    return json.loads(points.read_text())


def test_no_point_of_the_frontier_is_beaten_by_another(frontier):
    keys = ("round_seconds", "bytes", "aggregators")
    measures = [tuple(point[key] for key in keys) for point in frontier["points"]]
    assert frontier["version"] == 1
    assert len(measures) == len(set(measures)) >= 2
    assert not any(
        a != b and all(x <= y for x, y in zip(a, b, strict=True))
        for a in measures
        for b in measures
    )


def test_a_point_of_the_frontier_is_a_plan(frontier, as_json, inputs, tmp_path):
    for number, point in enumerate(frontier["points"]):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps({"version": 1, **point}))
        priced = as_json("cost", *inputs, "--plan", path)
        assert priced["seconds"]["round"] == pytest.approx(point["round_seconds"], rel=1e-12)
        assert priced["bytes"]["total"] == point["bytes"]
        assert aggregators(point) == point["aggregators"]


def test_the_frontier_begins_with_the_fastest_plan(frontier, as_json, inputs):
    best = as_json("plan", *inputs, "--cuts", "6-8")
    fastest = min(point["round_seconds"] for point in frontier["points"])
    assert fastest == pytest.approx(best["round_seconds"], rel=EXACT)


def test_the_frontier_can_be_printed_and_plotted_as_png(as_json, tiercut, inputs, tmp_path):
    words = ("plan", *inputs, "--cuts", 7, "--aggregator-layer", 2, "--pareto", tmp_path / "f.png")
    points = as_json(*words)["points"]
    assert {point["aggregator_layer"] for point in points} == {2}
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")
    assert f"{len(points)} plans that no other beats" in tiercut(*words).stdout


# -------------------------------------------------------------------------------- lists of layers


@settings(deadline=None)
@given(st.lists(st.integers(0, 99), min_size=1, max_size=8))
def test_layers_are_listed_once_in_the_order_given(layers):
    assert parse_layers(" , ".join(map(str, layers))) == tuple(dict.fromkeys(layers))


@settings(deadline=None)
@given(st.integers(0, 99), st.integers(0, 99))
def test_a_range_of_layers_includes_both_ends(low, more):
    assert parse_layers(f"{low}-{low + more}") == tuple(range(low, low + more + 1))


@pytest.mark.parametrize("text", ["", ",", "x", "3-", "-3", "3,,4", "3-4-5", "3.5", "3 4"])
def test_any_other_text_is_refused_in_a_sentence(text):
    with pytest.raises(InputError) as caught:
        parse_layers(text)
    assert repr(text) in str(caught.value)
