import json

import numpy as np
import pytest

from tests.train.instances import scenario, setting
from tiercut.cost import Placement, SchemeCost, scheme_named
from tiercut.errors import InputError
from tiercut.models.profile import shipped_profile
from tiercut.plan.plan import PlanFile
from tiercut.schemes import Part, Scheme, find_scheme
from tiercut.schemes.scheme import AT_ROUND_END
from tiercut.train.overrides import override
from tiercut.train.setting import build_setting, find_method

OWN = Scheme(
    SchemeCost("own", "Own", local_loss=False, three_tiers=True), "exact", (*AT_ROUND_END,)
)
TWO_TIERS = Scheme(
    SchemeCost("own-two", "Own on two tiers", local_loss=True, three_tiers=False),
    "exact",
    (*AT_ROUND_END,),
)


def test_costs_follow_the_data_really_used():
    made = setting(data={"partition": "quantity"})
    assert made.fleet.examples.tolist() == [len(shard) for shard in made.task.shards]
    assert len(set(made.fleet.examples.tolist())) > 1
    assert made.fleet.examples.sum() == 60


def test_the_same_seed_gives_the_same_start_and_another_seed_another():
    one, two, other = setting(), setting(), setting(seed=1)
    key = "layers.layer1.0.weight"
    weights = [made.task.model.state_dict()[key].numpy() for made in (one, two, other)]
    np.testing.assert_array_equal(weights[0], weights[1])
    assert (weights[0] != weights[2]).any()
    assert (one.task.shards[0] == two.task.shards[0]).all()


def test_the_scheme_is_the_one_named_else_the_plans_else_the_solvers():
    plan = PlanFile(version=1, scheme="locsfl", cut_layer=3, aggregator_of=(0, 1, 2, 3, 4))
    dtfl = scenario(plan={"solver": "dtfl-contended"})
    named = [
        find_method(dtfl),
        find_method(dtfl, "dtfl"),
        find_method(dtfl, "sfl"),
        find_method(dtfl, None, plan),
        find_method(dtfl, "sfl", plan),
        find_method(dtfl, "tests.train.test_setting:OWN"),
    ]
    assert [(scheme.name, solver) for scheme, solver in named] == [
        ("dtfl", "dtfl-contended"),
        ("dtfl", "dtfl-contended"),
        ("sfl", "sfl"),
        ("locsfl", "locsfl"),
        ("sfl", "sfl"),
        ("own", "exact"),
    ]


def test_intervals_are_the_scenarios_where_it_has_them():
    scheme = setting(training={"server_interval": 3}).task.scheme
    assert scheme.interval(Part.SERVER) == 3
    assert scheme.interval(Part.AGGREGATOR) == find_scheme("aa-hsfl-ll").interval(Part.AGGREGATOR)


def test_a_profile_file_is_used_if_it_fits(tmp_path):
    path = tmp_path / "small.json"
    path.write_text(json.dumps(shipped_profile("small").to_dict()))
    given = {"name": "small", "profile": str(path)}
    assert setting(model=given).planner.work.profile == shipped_profile("small")
    assert setting(model={"name": "small"}).planner.work.profile == shipped_profile("small")
    with pytest.raises(InputError, match=r"small.json: the profile has 7 layers and .*net has 5"):
        setting(model={"profile": str(path)})


def test_the_reference_engine_stays_on_the_cpu():
    assert setting(engine={"name": "reference", "device": "auto"}).execution.device.type == "cpu"
    with pytest.raises(InputError, match="reference runs on the CPU only"):
        setting(engine={"name": "reference", "device": "cuda"})


def test_data_that_the_model_does_not_take_is_refused():
    with pytest.raises(InputError, match="choose a model and a data set that fit"):
        setting(data={"name": "synthetic:3x8x8:10:200"})


def test_events_are_checked_before_anything_starts():
    with pytest.raises(InputError, match="names the client 'nobody'"):
        setting(events=[{"round": 1, "clients": ["nobody"], "leave": True}])


def test_overrides_win_and_are_checked():
    changed = override(
        scenario(), seed=7, training={"rounds": 2}, engine={"threads": None, "precision": "fp64"}
    )
    assert (changed.seed, changed.training.rounds, changed.training.batch) == (7, 2, 4)
    assert (changed.engine.threads, changed.engine.precision) == (1, "fp64")
    assert override(scenario()) == scenario()
    with pytest.raises(InputError, match="the command line: rounds is 0; expected"):
        override(scenario(), training={"rounds": 0})
    with pytest.raises(InputError, match="the command line: seed is -1; expected"):
        override(scenario(), seed=-1)


# ------------------------------------------------------------------------------------- planning


def first_plan(made):
    return made.planner.first(made.fleet)


def test_an_own_scheme_is_planned_by_its_solver_and_priced_as_itself():
    made, shipped = setting(scheme="tests.train.test_setting:OWN"), setting()
    own, usual = first_plan(made), first_plan(shipped)
    assert own.scheme == OWN.cost
    assert own.placement.aggregator_of.tolist() == usual.placement.aggregator_of.tolist()
    assert own.traffic.gradients_from_server > usual.traffic.gradients_from_server == 0
    assert (own.lower_bound, own.solver) == (None, "exact")
    assert made.planner.decided(own, made.fleet).scheme == "aa-hsfl-ll"


def test_an_own_scheme_of_two_tiers_loses_the_groups_of_its_planner():
    made = setting(scheme="tests.train.test_setting:TWO_TIERS")
    plan = first_plan(made)
    assert plan.placement.aggregator_of.tolist() == [0, 1, 2, 3, 4]
    decision = made.planner.decided(plan, made.fleet)
    again = made.planner.again(made.fleet.subset(np.array([0, 2, 3])), decision)
    assert again.left == ("client-2", "client-5")
    assert again.gain == 0


def as_file(plan, made):
    data = {**plan.to_dict(), "clients": list(made.fleet.names)}
    return PlanFile.model_validate_json(json.dumps(data))


def test_a_plan_given_is_kept_to():
    served = setting()
    plan = served.planner._price(
        served.fleet, Placement.three_tiers(2, 3, [1, 1, 1, 3, 3]), "by hand"
    )
    made = setting(plan=as_file(plan, served))
    assert first_plan(made).placement.aggregator_of.tolist() == [1, 1, 1, 3, 3]
    some = made.fleet.subset(np.array([0, 2, 3, 4]))
    decision = made.planner.decided(first_plan(made), made.fleet)
    assert made.planner.for_some(some, decision).placement.aggregator_of.tolist() == [0, 1, 2, 2]


def test_another_scheme_may_train_by_a_plan():
    grouping = setting()
    made = setting(scheme="locsfl", plan=as_file(first_plan(grouping), grouping))
    placement = first_plan(made).placement
    assert placement.aggregator_of.tolist() == [0, 1, 2, 3, 4]
    assert placement.cut_layers[0] == first_plan(grouping).placement.cut_layers[0]


def test_the_plan_of_an_own_scheme_can_be_given_again():
    spec = "tests.train.test_setting:OWN"
    made = setting(scheme=spec)
    file = as_file(first_plan(made), made)
    assert file.scheme == "own"
    again = setting(scheme=spec, plan=file)
    assert first_plan(again).placement.cut_layers[0] == file.cut_layer


def test_a_plan_for_other_clients_is_refused():
    plan = PlanFile(
        version=1, scheme="locsfl", cut_layer=3, aggregator_of=(0, 1), clients=("a", "b")
    )
    made = setting(plan=plan)
    with pytest.raises(InputError, match="the plan places 2 clients and the fleet has 5"):
        first_plan(made)


def test_hsfl_ll_is_given_its_layers_and_keeps_its_share_of_aggregators():
    with pytest.raises(InputError, match=r"tiercut plan SCENARIO --solver hsfl-ll"):
        setting(scheme="hsfl-ll")
    plan = PlanFile(
        version=1, scheme="hsfl-ll", aggregator_layer=2, cut_layer=4, aggregator_of=(0, 0, 2, 2, 2)
    )
    made = setting(plan=plan)
    decision = made.planner.decided(first_plan(made), made.fleet)
    found = made.planner.again(made.fleet.subset(np.array([1, 2, 3])), decision).new
    assert (found.placement.aggregator_layers[0], found.placement.cut_layers[0]) == (2, 4)
    assert len(found.placement.aggregators) == 2
    assert found.scheme == scheme_named("hsfl-ll")


def test_a_client_that_is_left_alone_serves_itself():
    made = setting()
    decision = made.planner.decided(first_plan(made), made.fleet)
    alone = made.fleet.subset(np.array([3]))
    again = made.planner.again(alone, decision)
    assert again.new.placement.aggregator_of.tolist() == [0]
    assert again.new.scheme.three_tiers
    assert made.planner.for_some(alone, decision).seconds.round == again.new.seconds.round > 0


def test_nobody_to_group_is_refused_at_the_start():
    with pytest.raises(InputError, match="grouping clients needs at least two"):
        first_plan(setting(fleet={"clients": 1}))


def test_build_setting_reads_the_data_of_the_folder_given(tmp_path):
    with pytest.raises(InputError, match="there is no data set 'nothing'"):
        build_setting(scenario(data={"name": "nothing"}), data_dir=tmp_path)
