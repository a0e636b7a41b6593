import pytest

KEYS = {"kind", "node", "to", "client", "label", "start", "end", "critical"}


@pytest.fixture(scope="module")
def drawn(as_json, inputs, plan):
    return as_json("timeline", *inputs, "--plan", plan)


def test_every_event_has_every_promised_key(drawn):
    assert set(drawn) == {"version", "seconds", "events"}
    assert drawn["events"]
    assert all(set(event) == KEYS for event in drawn["events"])


def test_events_lie_within_the_batch_and_the_last_one_ends_it(drawn):
    events = drawn["events"]
    assert all(0 <= event["start"] <= event["end"] for event in events)
    assert max(event["end"] for event in events) == pytest.approx(drawn["seconds"], rel=1e-12)


def test_nodes_go_by_their_names(drawn):
    names = {f"client-{n}" for n in range(1, 9)}
    events = drawn["events"]
    assert {event["node"] for event in events} == names | {"server"}
    assert {event["client"] for event in events} <= names | {"server"}
    assert all((event["to"] is not None) == (event["kind"] == "send") for event in events)


def test_the_critical_path_leads_to_the_end(drawn):
    critical = [event for event in drawn["events"] if event["critical"]]
    assert max(event["end"] for event in critical) == pytest.approx(drawn["seconds"], rel=1e-12)


def test_the_batch_takes_as_long_as_its_price_says(as_json, inputs, plan, drawn):
    assert drawn["seconds"] == as_json("cost", *inputs, "--plan", plan)["seconds"]["batch"]


@pytest.mark.parametrize("model", ["paper", "network"])
@pytest.mark.parametrize("scheme", ["sfl", "locsfl", "dtfl", "multihop", "hsfl-ll", "aa-hsfl-ll"])
def test_every_scheme_can_be_drawn(tiercut, inputs, plan, tmp_path, scheme, model):
    path = tmp_path / "timeline.svg"
    words = ("timeline", *inputs, "--plan", plan, "--scheme", scheme, "--cost", model, "-o", path)
    assert f"wrote {path}" in tiercut(*words).stderr
    assert path.read_text().startswith(("<svg", "<?xml"))


def test_fewer_lanes_make_a_smaller_picture(tiercut, inputs, plan, tmp_path):
    few, many = tmp_path / "few.svg", tmp_path / "many.svg"
    tiercut("timeline", *inputs, "--plan", plan, "--lanes", 3, "-o", few)
    tiercut("timeline", *inputs, "--plan", plan, "--lanes", 9, "-o", many)
    assert len(few.read_text()) < len(many.read_text())
