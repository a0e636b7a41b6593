"""Tables and sentences from results that were made up, so that what they say is known."""

import pytest

from tests.measure.instances import PLAN
from tests.reproduce.instances import HERE, write_study
from tiercut.errors import InputError
from tiercut.reproduce import gains, least, table_iii
from tiercut.reproduce.catalogue import STUDIES
from tiercut.reproduce.results import Spread, to_markdown
from tiercut.reproduce.trained import document_of, tabulate

SLOW, FAST = [0.5, 0.66, 0.76], [0.66, 0.76, 0.8]
SOME_CUTS = {**PLAN, "aggregator_layer": None, "cut_layer": None, "cut_layers": [3, 8, 3]}


def cells(table):
    return {
        (row[0], row[1]): dict(zip(table.columns[2:], row[2:], strict=True)) for row in table.rows
    }


def make(name, folder, curves, **options):
    results = write_study(STUDIES[name], folder, curves, **options)
    return tabulate(STUDIES[name], name, results)


def test_the_paper_is_above_ours(tmp_path):
    curves = {"locsfl": {0: SLOW, 1: SLOW}, "aa-hsfl-ll": {0: FAST, 1: SLOW}}
    found = cells(make("figure-5", tmp_path, curves))
    assert found["seconds to 70 %", "paper"]["LocSFL"] == 2210
    assert found["seconds to 70 %", "paper"]["SFL"] is None
    assert found["rounds to 70 %", "ours"]["AA HSFL-ll"] == Spread(2.5, 2, 3)
    assert found["GB to 70 %", "ours"]["LocSFL"] == Spread(30, 30, 30)
    assert found["final accuracy (%)", "ours"]["AA HSFL-ll"] == Spread(78, 76, 80)
    assert found["final accuracy (%)", "ours"]["SFL"] is None
    assert found["h", "ours"]["AA HSFL-ll"] == Spread(2, 2, 2)


def test_seeds_that_miss_a_target_are_counted(tmp_path):
    found = cells(make("figure-5", tmp_path, {"sfl": {0: SLOW, 1: [0.1, 0.2, 0.3]}}))
    assert found["seconds to 65 %", "ours"]["SFL"] == "1 of 2 seeds"
    assert found["seconds to 65 %", "ours"]["LocSFL"] is None  # it has not begun


def test_cuts_of_their_own_are_listed(tmp_path):
    found = cells(make("figure-5", tmp_path, {"dtfl": {0: SLOW}}, plans={"dtfl": SOME_CUTS}))
    assert found["v", "ours"]["DTFL"] == "3, 8"
    assert found["aggregators", "ours"]["DTFL"] is None


def test_what_was_tuned_is_told_where_contenders_differ_in_it(tmp_path):
    own = {"training.rate": 1e-3, "training.outer_momentum": 0.8, "plan.cuts": [5]}
    overrides = {"sfl": own, "aa-hsfl-ll": {**own, "training.rate": 3e-3}}
    overrides |= dict.fromkeys(("multihop", "locsfl", "dtfl", "dtfl-contended"), own)
    found = cells(make("figure-5-free", tmp_path, {"sfl": {0: SLOW}}, overrides=overrides))
    assert found["rate", "ours"]["SFL"] == "0.001"
    assert found["rate", "ours"]["AA HSFL-ll"] == "0.003"
    assert not {"outer momentum", "cuts"} & {quantity for quantity, _ in found}


def test_what_is_saved_is_told_with_the_rival(tmp_path):
    curves = {name: {0: SLOW} for name in ("sfl", "dtfl", "aa-hsfl-ll")}
    clock = {"sfl": 10.0, "dtfl": 8.0, "aa-hsfl-ll": 4.0, "aa-best": 9.0}
    table = make("figure-5", tmp_path, {**curves, "aa-best": {0: FAST}}, seconds=clock)
    at_65 = next(text for text in table.differences if text.startswith("At 65 %"))
    assert "saves 35 % of the best rival's time and 37.5 % of its traffic" in at_65
    assert "AA HSFL-ll takes 50.0 % less time and 50.0 % less traffic than DTFL" in at_65
    assert "AA HSFL-ll, best takes 43.8 % less time" in at_65
    assert (
        "AA HSFL-ll, best is the most accurate, with 80.0 % against 76.0 %" in table.differences[-1]
    )


def test_targets_that_somebody_misses_are_told(tmp_path):
    curves = {"sfl": {0: [0.1, 0.2, 0.3]}, "aa-hsfl-ll": {0: [0.5, 0.66, 0.7]}}
    table = make("figure-5", tmp_path, curves)
    told = {text.partition(":")[0]: text for text in table.differences}
    assert "AA HSFL-ll reaches it from every seed and no rival does" in told["At 65 %"]
    assert "does not reach it from every seed (70.0 % in the end)" in told["At 75 %"]
    assert told["At 75 %"].endswith(", and AA HSFL-ll, best has not begun.")
    assert told["Not finished"].endswith("AA HSFL-ll, best from seed 0 (0 of 3 rounds).")
    assert "In the end AA HSFL-ll is the most accurate, with 70.0 %." in table.differences


def test_tuned_there_is_no_further_contender(tmp_path):
    curves = {one.name: {0: SLOW} for one in STUDIES["figure-5-tuned"].contenders}
    table = make("figure-5-tuned", tmp_path, curves)
    assert len(table.differences) == 4
    assert not any("best takes" in text for text in table.differences)


def test_accuracies_at_one_moment_are_compared_as_the_paper_does(tmp_path):
    curves = {"dtfl": {0: [0.8, 0.9, 0.92]}, "sfl": {0: [0.5, 0.6, 0.95]}}
    table = make("figure-4", tmp_path, {**curves, "aa-hsfl-ll": {0: [0.9, 0.94, 0.96]}})
    assert (
        "When AA HSFL-ll has 94 %, the best rival has 91 % in the paper; here DTFL has 90.0 %."
    ) in table.differences
    assert (
        "When the first rival has 94 %, SFL has 95.0 % and AA HSFL-ll has 96.0 %."
    ) in table.differences


def test_nobody_may_have_finished_a_round_when_ours_is_there(tmp_path):
    curves = {"dtfl": {0: [0.95]}, "aa-hsfl-ll": {0: [0.94, 0.99]}}
    table = make("figure-4", tmp_path, curves, seconds={"dtfl": 15})
    assert any(text.endswith("here no rival has finished a round.") for text in table.differences)
    assert (
        "When the first rival has 94 %, DTFL has 95.0 % and AA HSFL-ll has 94.0 %."
    ) in table.differences


@pytest.mark.parametrize(
    "curves",
    [
        {"sfl": {0: [0.8, 0.9, 0.95]}},
        {"aa-hsfl-ll": {0: [0.8, 0.9, 0.95]}},
    ],
)
def test_no_moment_is_told_where_nobody_can_be_compared(tmp_path, curves):
    table = make("figure-4", tmp_path, curves)
    assert not any(text.startswith("When") for text in table.differences)


def test_an_order_that_seeds_do_not_settle_is_called_so(tmp_path):
    curves = {"sfl": {0: SLOW, 1: FAST}, "aa-hsfl-ll": {0: SLOW, 1: [0.5, 0.6, 0.78]}}
    table = make("figure-5", tmp_path, curves)
    assert table.differences[-1].endswith("but their seeds overlap.")


@pytest.mark.parametrize(
    ("deep", "shallow", "verdict"),
    [
        ([0.9, 0.92], [0.8, 0.82], "so this is found here too"),
        ([0.8, 0.82], [0.9, 0.92], "so here it is the other way round"),
        ([0.8, 0.9], [0.85, 0.95], "nothing is settled"),
    ],
)
def test_figure_2_tells_whether_deep_cuts_win(tmp_path, deep, shallow, verdict):
    ends = {"locsfl-v5": deep, "locsfl-v2": shallow}
    curves = {
        name: {seed: [0.1, 0.2, end] for seed, end in enumerate(both)}
        for name, both in ends.items()
    }
    table = make("figure-2-alexnet", tmp_path, curves)
    assert verdict in table.differences[1]
    assert table.differences[2].startswith("The most accurate cut here is v = ")


def test_figure_2_says_nothing_of_cuts_that_are_not_there(tmp_path):
    table = make("figure-2-alexnet", tmp_path, {"locsfl-v5": {0: FAST}})
    assert [text.split(":")[0] for text in table.differences] == ["Not finished"]


def test_figure_8_holds_the_claims_about_lambda_against_ours(tmp_path):
    ends = {10: 0.90, 25: 0.905, 50: 0.95, 80: 0.91}
    curves = {f"aa-lambda-{share}": {0: [0.5, 0.6, end]} for share, end in ends.items()}
    clock = {"aa-lambda-25": 5.0, "aa-lambda-80": 20.0}
    table = make("figure-8", tmp_path, curves, seconds=clock)
    rise, fall, traffic = table.differences
    assert rise.endswith("gains up to 1 points in the same time; here +40.5.")
    assert fall.endswith("ends at 91.0 %, 4.0 points below the best, lambda = 0.5.")
    assert traffic.endswith("needs 2.00 times the bytes of lambda = 0.1 to reach 90 %.")


@pytest.mark.parametrize(
    ("curves", "seconds", "told"),
    [
        ({"aa-lambda-50": {0: FAST}}, {}, []),
        ({"aa-lambda-10": {0: FAST}, "aa-lambda-80": {0: FAST}}, {}, ["Beyond", "Not every"]),
        (
            {"aa-lambda-10": {0: FAST}, "aa-lambda-25": {0: FAST}},
            {"aa-lambda-10": 100.0, "aa-lambda-25": 1.0},
            [],
        ),
    ],
)
def test_figure_8_tells_only_what_can_be_told(tmp_path, curves, seconds, told):
    table = make("figure-8", tmp_path, curves, seconds=seconds)
    found = table.differences[1:]  # the first says what is not finished
    assert [
        " ".join(text.split()[: len(words.split())])
        for text, words in zip(found, told, strict=True)
    ] == told


def test_table_vi_tells_how_far_accuracies_lie_apart(tmp_path):
    ends = {"aa-gamma-2": (0.70, 0.72), "aa-gamma-7.5": (0.74, 0.75), "aa-gamma-15": (0.73, 0.73)}
    curves = {
        name: {s: [0.1, 0.2, end] for s, end in enumerate(both)} for name, both in ends.items()
    }
    table = make("table-vi-vgg11", tmp_path, curves)
    assert table.differences == (
        "Over gamma the paper's accuracies differ by 1.6 points, ours by 3.5; seeds of one gamma"
        " differ by up to 2.0.",
    )
    assert cells(table)["final accuracy (%)", "paper"]["gamma = 7.5"] == 76.8


def test_nothing_is_made_of_nothing(tmp_path):
    with pytest.raises(InputError, match="figure-5 has not a single round yet"):
        make("figure-5", tmp_path, {})


def test_a_result_says_what_it_was_trained_on(tmp_path):
    write_study(STUDIES["figure-5"], tmp_path, {"sfl": {0: SLOW}})
    document = document_of(STUDIES["figure-5"], "figure-5", tmp_path)
    assert document["device"] == HERE
    assert document["command"] == "tiercut compare"
    assert set(document["versions"]) == {"tiercut", "python", "torch"}
    page = to_markdown(document)
    assert "- device: abacus, wood, 1 CPUs" in page
    assert "![Accuracy by bytes](accuracy-bytes.svg)" in page
    assert document == document_of(STUDIES["figure-5"], "figure-5", tmp_path)


def test_table_iii_is_made_from_the_figures_that_are_there(tmp_path):
    curves = {"sfl": {0: SLOW}, "dtfl": {0: FAST}, "aa-hsfl-ll": {0: FAST}}
    clock = {"sfl": 2.0, "dtfl": 10.0, "aa-hsfl-ll": 8.0}
    write_study(STUDIES["figure-5"], tmp_path / "figure-5", curves, seconds=clock)
    table = table_iii.make(tmp_path)
    rows = {(row[1], row[2]): row[3:] for row in table.rows}
    assert rows[65, "AA HSFL-ll"] == (35.0, -100.0, "SFL", 37.5, -100.0, -100.0)
    assert rows[75, "AA HSFL-ll, best"] == (None,) * 6
    assert [text for text in table.differences if "is missing" in text] == [
        "AlexNet is missing: `tiercut reproduce figure-4` has not been run.",
        "VGG-19 is missing: `tiercut reproduce figure-6` has not been run.",
        "ResNet-101 is missing: `tiercut reproduce figure-7` has not been run.",
    ]
    assert any(text.startswith("VGG-11: At 65 %") for text in table.differences)


def test_table_iii_without_any_figure_says_what_to_do(tmp_path):
    with pytest.raises(InputError, match=r"no runs of Figures 4 to 7.*reproduce figure-4"):
        table_iii.make(tmp_path)


def test_lean_tells_the_traffic_of_both(tmp_path):
    curves = {"locsfl": {0: FAST}, "aa-hsfl-ll": {0: [0.5, 0.66, 0.74]}}
    table = make("figure-5-lean", tmp_path, curves, seconds={"locsfl": 3.0})
    assert table.differences == (
        "At 65 %: AA HSFL-ll has sent 20 GB and LocSFL has sent 3 GB.",
        "At 70 %: AA HSFL-ll has sent 30 GB and LocSFL has sent 6 GB.",
        "At 75 %: AA HSFL-ll does not get there from every seed and LocSFL has sent 6 GB.",
    )


def test_gains_take_the_best_of_ours_and_of_the_rivals(tmp_path):
    """A round takes as many gigabytes as seconds here, and the target is reached in the second."""
    clocks = {
        "figure-5": {"sfl": 10.0, "dtfl": 8.0, "aa-hsfl-ll": 6.0, "aa-best": 4.0},
        "figure-5-tuned": {"sfl": 5.0, "locsfl": 7.0, "aa-hsfl-ll": 4.0},
        "figure-5-lean": {"locsfl": 2.0, "aa-hsfl-ll": 3.0},
    }
    write_study(
        STUDIES["figure-5"],
        tmp_path / "figure-5",
        {name: {0: SLOW} for name in clocks["figure-5"]},
        seconds=clocks["figure-5"],
    )
    alone = gains.make(tmp_path)
    assert alone.rows[0][4:] == (25.0, 50.0, "DTFL", None, None)
    assert alone.differences[0].startswith("AlexNet is missing")
    assert alone.differences[1:3] == (
        "VGG-11 is not compared in delay or traffic of the fastest with rivals at their best: that"
        " needs `tiercut reproduce figure-5-tuned` or `tiercut reproduce figure-5-free` or `tiercut"
        " reproduce figure-5-fine`.",
        "VGG-11 is not compared in traffic with rivals at their best: that needs `tiercut reproduce"
        " figure-5-lean`.",
    )
    for name in ("figure-5-tuned", "figure-5-lean"):
        curves = {one: {0: SLOW} for one in clocks[name]}
        write_study(STUDIES[name], tmp_path / name, curves, seconds=clocks[name])
    table = gains.make(tmp_path)
    assert table.rows[0] == ("VGG-11", 65.0, "delay", 35.0, 25.0, 62.5, "DTFL", -50.0, "LocSFL")
    assert table.rows[1][2:4] == ("traffic", 37.5)
    assert [row[4:] for row in table.rows[-3:]] == [table.rows[0][4:]] * 3
    (late,) = (text for text in table.differences if "is not finished" in text)
    assert late == (
        "figure-5-tuned is not finished: Multihop SFL, DTFL, DTFL, contended may reach an accuracy"
        " with less than is shown here."
    )
    half = "VGG-11: rivals have our options here, at the cut of their fastest round"
    assert any(text.startswith(half) for text in table.differences)
    free = {"sfl": 9.0, "aa-hsfl-ll": 1.0}
    curves = {one: {0: SLOW} for one in free}
    write_study(STUDIES["figure-5-free"], tmp_path / "figure-5-free", curves, seconds=free)
    table = gains.make(tmp_path)
    assert table.rows[0][5:] == (87.5, "DTFL", 50.0, "LocSFL")
    assert not any(text.startswith(half) for text in table.differences)


def test_gains_in_the_traffic_of_the_fastest_are_over_the_fastest_rival(tmp_path):
    clocks = {"sfl": 10.0, "locsfl": 20.0, "aa-hsfl-ll": 5.0}
    sizes = {"sfl": 8.0, "locsfl": 1.0, "aa-hsfl-ll": 2.0}
    curves = {name: {0: FAST} for name in clocks}
    for name in ("figure-5", "figure-5-tuned"):
        write_study(STUDIES[name], tmp_path / name, curves, seconds=clocks, gigabytes=sizes)
    delay, least, fastest = gains.make(tmp_path).rows[:3]
    assert delay[3:] == (35.0, 50.0, 50.0, "SFL", 50.0, "SFL")
    assert least[3:] == (37.5, -100.0, -100.0, "LocSFL", None, None)
    assert fastest[2:] == ("traffic of the fastest", 37.5, 75.0, 75.0, "SFL", 75.0, "SFL")


def test_the_least_is_that_of_all_versions(tmp_path):
    """A round takes as many gigabytes as seconds here, and 65 % is reached in the second."""
    clocks = {
        "figure-5": {"sfl": 10.0, "aa-hsfl-ll": 6.0},
        "figure-5-fine": {"sfl": 5.0, "aa-hsfl-ll": 4.0},
        "figure-5-lean": {"locsfl": 2.0, "aa-hsfl-ll": 3.0},
    }
    for name, seconds in clocks.items():
        curves = {one: {0: SLOW} for one in seconds}
        write_study(STUDIES[name], tmp_path / name, curves, seconds=seconds)
    delay, traffic = least.make(tmp_path).rows[:2]
    assert delay[:4] == ("VGG-11", 65.0, "seconds", 6.0)
    assert (delay[5:7], traffic[2:4], traffic[5:7]) == (
        (4.0, "LocSFL"),
        ("GB", 6.0),
        (4.0, "LocSFL"),
    )
    lowest = {"sfl": {0: [0.1, 0.2, 0.3]}}
    write_study(STUDIES["figure-5"], tmp_path / "low" / "figure-5", lowest)
    assert {row[3:] for row in least.make(tmp_path / "low").rows} == {(None,) * 5}


def test_gains_that_nobody_reached_are_left_open(tmp_path):
    write_study(STUDIES["figure-5"], tmp_path / "figure-5", {"sfl": {0: [0.1, 0.2, 0.3]}})
    assert {row[4:] for row in gains.make(tmp_path).rows} == {(None,) * 5}


def test_gains_tell_who_reached_an_accuracy_alone(tmp_path):
    curves = {"sfl": {0: [0.1, 0.2, 0.66]}, "aa-best": {0: [0.5, 0.71, 0.72]}}
    write_study(STUDIES["figure-5"], tmp_path / "figure-5", curves)
    delays = [row[4:7] for row in gains.make(tmp_path).rows if row[2] == "delay"]
    assert delays[0][0] == "rival alone"  # AA HSFL-ll as published has not begun
    assert delays[1] == (None, "ours alone", None)
    assert delays[2] == (None, None, None)


def test_gains_without_any_figure_say_what_to_do(tmp_path):
    with pytest.raises(InputError, match=r"no runs of Figures 4 to 7.*reproduce figure-4"):
        gains.make(tmp_path)
