"""Folders as `tiercut compare` leaves them, with real plans and made-up curves: no training."""

import json
import math
import shutil

from tiercut.cost import SCHEMES, Workload, scheme_named
from tiercut.documents import check
from tiercut.fleet import build_fleet
from tiercut.measure.manifest import Manifest
from tiercut.measure.summary import write_summary
from tiercut.models.profile import shipped_profile
from tiercut.plan.problem import Problem, all_cuts
from tiercut.plan.solve import solve, solver_named
from tiercut.report.page.content import gather
from tiercut.report.summary import read_summary
from tiercut.scenario import Scenario
from tiercut.schemes import find_scheme
from tiercut.seeds import Seeds

THREE = ("sfl", "locsfl", "aa-hsfl-ll")
NASTY = (
    "</script><script>document.title='bad'</script>\"'<img src=x onerror=alert(1)>&amp;${x}\u2028"
)
"""A name that is markup, script and JSON unless it is escaped."""
BASE = {
    "name": "made up",
    "model": {"name": "small"},
    "fleet": {
        "clients": 12,
        "strong_fraction": 0.33,
        "examples": 119,
        "rates": ["2 Mbps", "6 Mbps"],
        "weak": "50 MFLOP/s",
        "gamma": 8,
        "server": "2 GFLOP/s",
    },
    "training": {"batch": 16, "rounds": 8},
    "plan": {"cost": "network"},
}
SPEED = {"sfl": 0.45, "multihop": 0.45, "locsfl": 0.4, "dtfl": 0.5, "aa-hsfl-ll": 0.5}


def make_scenario(**changes):
    data = {key: dict(value) if isinstance(value, dict) else value for key, value in BASE.items()}
    for key, value in changes.items():
        data[key] = {**data.get(key, {}), **value} if isinstance(value, dict) else value
    return check(Scenario, data, "the test")


def make_results(folder, schemes=THREE, seeds=(0, 1, 2), targets=(0.6, 0.8), **changes):
    """A whole comparison in `folder`, summary included."""
    shutil.rmtree(folder, ignore_errors=True)
    scenario = make_scenario(**changes)
    for seed in seeds:
        for scheme in schemes:
            seeded = scenario.model_copy(update={"seed": seed})
            make_run(folder / scheme / f"seed-{seed}", scheme, seeded)
    manifest = Manifest(
        tiercut="0.1.0",
        torch="2.13.0",
        python="3.11.7",
        device="cpu",
        command=("tiercut", "compare", "made up.toml"),
        scenario=scenario,
        schemes=tuple(schemes),
        titles={name: SCHEMES[name].title for name in schemes},
        seeds=tuple(seeds),
        clients=len(build_fleet(scenario.fleet, Seeds(scenario.seed))),
        targets=tuple(targets),
    )
    write_json(folder / "manifest.json", manifest.model_dump(mode="json"))
    write_summary(folder)
    return folder


def make_run(folder, scheme, scenario):
    """A run's folder: its plan is real, its accuracies follow a formula."""
    folder.mkdir(parents=True)
    seeds = Seeds(scenario.seed)
    fleet = build_fleet(scenario.fleet, seeds)
    plan = make_plan(scheme, scenario, fleet)
    write_json(folder / "plan.json", {**plan.to_dict(), "clients": fleet.names})
    about = {"tiercut": "0.1.0", "torch": "2.13.0", "python": "3.11.7", "device": "cpu"}
    about |= {"engine": "stacked", "executor": "auto", "precision": "fp32", "solver": plan.solver}
    about |= {"scheme": scheme, "seed": scenario.seed, "command": ["tiercut", "train", "made up"]}
    scenario_ = scenario.model_dump(mode="json")
    write_json(folder / "manifest.json", {"version": 1, **about, "scenario": scenario_})
    lines = [
        {
            "round": number,
            "accuracy": 0.95 - 0.9 * math.exp(-(SPEED[scheme] + 0.04 * scenario.seed) * number),
            "seconds": plan.seconds.round * number,
            "bytes": plan.traffic.total * number,
        }
        for number in range(1, scenario.training.rounds + 1)
    ]
    (folder / "rounds.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def make_plan(scheme, scenario, fleet):
    solver = find_scheme(scheme).solver
    known = scheme_named(solver_named(solver).scheme)
    work = Workload(
        shipped_profile(scenario.model.name), scenario.training.batch, scenario.training.epochs
    )
    cuts = scenario.plan.cuts or all_cuts(work.profile.depth, known)
    return solve(Problem(fleet, work, cuts, scenario.plan.cost, scheme=known), solver)


def write_json(path, value):
    path.write_text(json.dumps(value))


def change_json(path, change):
    """Do something to the value in a JSON file."""
    value = json.loads(path.read_text())
    change(value)
    write_json(path, value)


def no_spread(scenario):
    return {
        "data": "digits",
        "partition": "iid",
        "skew": 0.1,
        "classes": ["0", "1"],
        "clients": [
            {"name": f"client-{n}", "examples": 10 + n, "labels": [4, 6 + n]} for n in range(3)
        ],
    }


def fleet_after(scenario, rounds):
    return build_fleet(scenario.fleet, Seeds(scenario.seed))


def content_of(folder, spread_of=no_spread):
    summary = read_summary(folder / "summary.json")
    return gather(folder, summary, fleet_after, spread_of)
