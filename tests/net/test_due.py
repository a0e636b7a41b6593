"""The access list: what is due passes once, in order and in size, and nothing else does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiercut.engines.schedule import Turn
from tiercut.net.due import KEPT, AccessList, Due, Flow
from tiercut.net.frames import Refused, Skip
from tiercut.net.messages import ActivationsHeader, GradientsHeader, NamedTensor, WeightsHeader
from tiercut.net.tensors import TensorHeader, size

TAG = {"round": 3, "attempt": 7}
STREAM = object()
SHAPE = (5, 2)
TENSORS = (
    NamedTensor(dtype="float32", shape=(4, 3), layer="conv", key="weight"),
    NamedTensor(dtype="float32", shape=(4,), layer="norm", key="weight"),
    NamedTensor(dtype="int64", shape=(), layer="norm", key="seen"),
)


def tensor(dtype, *shape):
    return TensorHeader(dtype=dtype, shape=shape)


def turn(sizes=(4, 4, 2), first_step=10, attends=2):
    return Turn("a", sum(sizes), tuple(sizes), first_step, attends)


def flowing(wire="fp32", client=1, **terms):
    return Due(flows={client: Flow(turn(**terms), SHAPE, wire)})


def batch(step, samples, *, client=1, values=None, **tag):
    tensors = (tensor("float32", samples, *SHAPE),) if values is None else values
    labels = tensor("int64", samples)
    return ActivationsHeader(**{**TAG, **tag}, client=client, step=step, tensors=(*tensors, labels))


def layers(clients, *, part="client", tensors=TENSORS, **tag):
    return WeightsHeader(**{**TAG, **tag}, part=part, clients=tuple(clients), tensors=tensors)


def gradient(samples, *, client=1, **tag):
    return GradientsHeader(
        **{**TAG, **tag}, client=client, tensors=(tensor("float32", samples, *SHAPE),)
    )


def refusal(due, header, stream=STREAM):
    with pytest.raises(Refused) as refused:
        due.allowed(header, stream)
    return str(refused.value)


def total(header):
    return sum(map(size, header.tensors))


# ------------------------------------------------------------------------------------- activations


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.integers(0, 100),
    st.integers(1, 3),
    st.lists(st.integers(-1, 13), max_size=20),
)
def test_batches_pass_in_their_order_and_once(sizes, first, attends, wanted):
    due = flowing(sizes=sizes, first_step=first, attends=attends)
    taken = 0
    for offset in wanted:
        step = first + offset
        samples = sizes[offset % len(sizes)]
        if step < 0:
            continue
        if offset == taken and taken < attends * len(sizes):
            assert due.allowed(batch(step, samples), STREAM) == total(batch(step, samples))
            taken += 1
        else:
            assert refusal(due, batch(step, samples)) == f"batch {step} of client 1 out of turn"


@pytest.mark.parametrize(
    ("wire", "values"),
    [
        ("fp32", (tensor("float32", 4, *SHAPE),)),
        ("bf16", (tensor("bfloat16", 4, *SHAPE),)),
        ("int8", (tensor("int8", 4, *SHAPE), tensor("float32", 4))),
    ],
)
def test_values_are_what_the_wire_makes_of_them(wire, values):
    header = batch(10, 4, values=values)
    assert flowing(wire).allowed(header, STREAM) == total(header)
    for other in {"fp32", "bf16", "int8"} - {wire}:
        assert refusal(flowing(other), header).startswith("activations: ")


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (batch(10, 3), "activations: float32 [3, 5, 2] where float32 [4, 5, 2] is due"),
        (batch(10, 4, values=()), "activations: 1 tensors where 2 are due"),
        (batch(10, 4, client=2), "activations of client 2, which are another's to send"),
        (gradient(4), "a gradient for client 1 that nobody waits for"),
        (layers([1]), "weights of client 1 that were not asked for"),
    ],
)
def test_what_is_not_due_is_explained(header, reason):
    assert refusal(flowing(), header) == reason


# ----------------------------------------------------------------------------------------- weights


@given(st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=6))
def test_layers_pass_once_for_every_client(groups):
    due = Due(weights={"client": dict.fromkeys(range(4), TENSORS)})
    left = set(range(4))
    for clients in groups:
        if clients and len(set(clients)) == len(clients) and left.issuperset(clients):
            assert due.allowed(layers(clients), STREAM) == total(layers(clients))
            left -= set(clients)
        else:
            reason = refusal(due, layers(clients))
            assert "were not asked for" in reason or "weights for nobody" in reason
            return  # a stream ends at its first refusal


def test_layers_are_those_of_the_own_part():
    due = Due(weights={"client": {1: TENSORS[:1]}, "aggregator": {1: TENSORS}})
    assert refusal(due, layers([1])) == "weights: 3 tensors where 1 are due"
    renamed = (TENSORS[0].model_copy(update={"layer": "x"}), *TENSORS[1:])
    reason = refusal(due, layers([1], part="aggregator", tensors=renamed))
    assert reason == "weights: x.weight float32 [4, 3] where conv.weight float32 [4, 3] is due"


# --------------------------------------------------------------------------------------- gradients


def test_a_gradient_passes_once_after_what_it_answers():
    due = Due()
    assert refusal(due, gradient(4)) == "a gradient for client 1 that nobody waits for"
    due.expect(1, (tensor("float32", 4, *SHAPE),))
    assert refusal(due, gradient(3)).startswith("gradients: float32 [3, 5, 2] where float32 [4,")
    due.expect(1, (tensor("float32", 4, *SHAPE),))
    assert due.allowed(gradient(4), STREAM) == total(gradient(4))
    assert refusal(due, gradient(4)) == "a gradient for client 1 that nobody waits for"


def test_who_answers_nothing_may_send_no_gradient():
    due = Due(answers=False)
    due.expect(1, (tensor("float32", 4, *SHAPE),))
    assert refusal(due, gradient(4)) == "a gradient for client 1 that nobody waits for"


# ------------------------------------------------------------------------------- lost, or elsewhere


def test_what_comes_of_a_lost_client_is_skipped_if_it_was_due():
    due = flowing()
    due.weights["aggregator"] = {1: TENSORS, 2: TENSORS}
    due.lost.add(1)
    assert due.allowed(batch(10, 4), STREAM) == Skip(total(batch(10, 4)))
    assert "out of turn" in refusal(due, batch(10, 4))
    # What was trained for one who is left too is wanted.
    both = layers([1, 2], part="aggregator")
    assert due.allowed(both, STREAM) == total(both)
    assert "not asked for" in refusal(due, both)


def test_what_was_begun_on_one_stream_does_not_go_on_on_another():
    due = flowing()
    due.allowed(batch(10, 4), STREAM)
    assert refusal(due, batch(11, 4), object()) == (
        "activations on another stream than what came before"
    )
    assert due.allowed(batch(11, 4), STREAM)


# ------------------------------------------------------------------------------------ all attempts


def access(header, *dues, peer="a"):
    """An access list of attempts 0, 1, ... of round 3, and what it says of a header."""
    listed = AccessList()
    for attempt, due in enumerate(dues):
        listed.begin((3, attempt), {"a": due})
    return listed.allowed(peer, header, STREAM)


def test_only_the_attempt_under_way_is_wanted():
    header = batch(10, 4, attempt=1)
    assert access(header, flowing(), flowing()) == total(header)
    assert access(header, flowing(), flowing(), flowing()) == Skip(total(header))


@pytest.mark.parametrize(
    ("peer", "tag"),
    [("b", {}), ("a", {"attempt": 5}), ("a", {"round": 2}), ("a", {"round": 4})],
)
def test_who_has_no_part_in_an_attempt_is_refused(peer, tag):
    with pytest.raises(Refused, match=r"in which it has no part now$"):
        access(batch(10, 4, **{"attempt": 0, **tag}), flowing(), peer=peer)


def test_what_is_over_is_skipped_once_and_refused_again():
    listed = AccessList()
    listed.begin((3, 7), {"a": flowing()})
    listed.end()
    assert listed.allowed("a", batch(10, 4), STREAM) == Skip(total(batch(10, 4)))
    with pytest.raises(Refused, match="out of turn"):
        listed.allowed("a", batch(10, 4), STREAM)


def test_attempts_of_long_ago_are_forgotten():
    dues = [flowing() for _ in range(KEPT + 1)]
    assert access(batch(10, 4, attempt=1), *dues) == Skip(total(batch(10, 4)))
    with pytest.raises(Refused, match="in which it has no part now"):
        access(batch(10, 4, attempt=0), *dues)
