"""Tensors on the wire: no bit is lost, no byte is copied in vain, and no shape is believed."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from pydantic import TypeAdapter, ValidationError

from tiercut.documents import Document
from tiercut.engines.wire import LEVELS, SMALLEST_SCALE, carried, pack, size_on_wire, unpack
from tiercut.errors import InputError
from tiercut.net.frames import Assembler, Refused, encode, reader
from tiercut.net.tensors import (
    DTYPES,
    MOST_BYTES,
    TensorHeader,
    describe,
    describe_packed,
    payload_of,
    size,
    tensors_from,
)


class Tensors(Document):
    tensors: tuple[TensorHeader, ...]


def sent(tensors):
    """Tensors as they arrive at the other end of a stream."""
    header = Tensors(tensors=tuple(map(describe, tensors)))
    assembler = Assembler(reader(TypeAdapter(Tensors)), lambda h: sum(map(size, h.tensors)))
    *_, message = map(assembler.feed, encode(header, payload_of(tensors)))
    return tensors_from(message[0].tensors, message[1])


def same_bits(first, second):
    return (first.dtype, first.shape) == (second.dtype, second.shape) and all(
        a == b for a, b in zip(payload_of([first]), payload_of([second]), strict=True)
    )


def buffer(size):
    """A received payload; its memory starts at a multiple of every number's size."""
    return np.arange(size).astype(np.uint8).data


def of_bits(raw, dtype):
    """A tensor whose values have the bits in `raw`, along its last dimension."""
    if raw.size == 0:
        return torch.empty(raw.shape[:-1], dtype=dtype)
    return torch.from_numpy(raw).view(dtype).squeeze(-1)


# ---------------------------------------------------------------- there and back

bits = st.sampled_from(sorted(DTYPES)).flatmap(
    lambda name: arrays(
        np.uint8,
        array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3).map(
            lambda shape: (*shape, DTYPES[name].itemsize)
        ),
        elements=st.integers(0, 1 if name == "bool" else 255),
    ).map(lambda raw: of_bits(raw, DTYPES[name]))
)
"""Tensors of every dtype and of any bits, NaNs of all kinds among them."""


@given(st.lists(bits, max_size=5))
def test_tensors_arrive_bit_by_bit(tensors):
    arrived = sent(tensors)
    assert all(map(same_bits, tensors, arrived))
    assert all(tensor.data_ptr() % tensor.dtype.itemsize == 0 for tensor in arrived)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(6.0).view(2, 3).T,
        torch.arange(10)[::3],
        torch.arange(10)[::20],
        torch.arange(10)[5:5:3],
        torch.ones(2).expand(3, 2),
        torch.ones(3, requires_grad=True) * 2,
        torch.nn.Parameter(torch.ones(2)),
        torch.ones(1, 3, 4, 4).to(memory_format=torch.channels_last),
    ],
)
def test_tensors_of_all_layouts_can_be_sent(tensor):
    (arrived,) = sent([tensor])
    assert torch.equal(arrived, tensor)


def test_several_mebibytes_arrive():
    tensors = [torch.randn(700_001), torch.arange(3), torch.randn(300_000).bfloat16()]
    assert all(map(same_bits, tensors, sent(tensors)))


@pytest.mark.parametrize("name", DTYPES)
def test_what_is_sent_is_not_copied(name):
    tensor = torch.zeros(3, 4, dtype=DTYPES[name])
    (view,) = payload_of([tensor])
    tensor.fill_(1)
    assert any(view)
    assert len(view) == size(describe(tensor)) == tensor.nbytes


def test_what_has_come_is_not_copied_where_numbers_lie_well():
    payload = buffer(24)
    headers = [TensorHeader(dtype="float32", shape=(4,)), TensorHeader(dtype="int8", shape=(8,))]
    for tensor in tensors_from(headers, payload):
        tensor.zero_()
    assert not any(payload)


def test_numbers_that_lie_badly_are_moved():
    payload = buffer(17)
    headers = [TensorHeader(dtype="int8", shape=(1,)), TensorHeader(dtype="int64", shape=(2,))]
    moved = tensors_from(headers, payload)[1]
    assert moved.data_ptr() % 8 == 0
    assert bytes(payload_of([moved])[0]) == bytes(payload[1:])


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "shape",
    [
        (-1,),
        (2, -3),
        (1,) * 9,
        (MOST_BYTES,),
        (2**16, 2**16),
        (0, 2**31, 2**31, 2**31),
        (10**400, 0),
        (1.0,),
        (True,),
        ("1",),
        [1],
        3,
        None,
    ],
)
def test_a_shape_that_no_tensor_here_has_is_refused(shape):
    with pytest.raises(ValidationError):
        TensorHeader.model_validate({"dtype": "float32", "shape": shape})


@given(st.lists(st.integers(0, 2**33), max_size=8), st.sampled_from(sorted(DTYPES)))
def test_a_header_that_is_accepted_is_bounded_and_torch_can_make_it(shape, name):
    try:
        header = TensorHeader(dtype=name, shape=tuple(shape))
    except ValidationError:
        return
    assert 0 <= size(header) <= MOST_BYTES
    assert torch.empty(header.shape, dtype=DTYPES[name], device="meta").nbytes == size(header)


@pytest.mark.parametrize("name", ["float16", "complex64", "object", "torch.float32", ""])
def test_only_some_dtypes_exist(name):
    with pytest.raises(ValidationError):
        TensorHeader(dtype=name, shape=())


def test_a_tensor_that_cannot_be_sent_is_explained():
    with pytest.raises(InputError, match=r"a tensor to be sent: dtype is \"complex64\"; expected"):
        describe(torch.zeros(1, dtype=torch.complex64))
    with pytest.raises(InputError, match=r"a tensor to be sent: shape is .*at most 8 items"):
        describe(torch.zeros((1,) * 9))


@pytest.mark.parametrize("length", [0, 11, 13])
def test_a_payload_of_another_size_is_refused(length):
    with pytest.raises(Refused, match=f"{length} bytes of payload for tensors of 12"):
        tensors_from([TensorHeader(dtype="float32", shape=(3,))], buffer(length))


def test_a_bool_is_zero_or_one():
    with pytest.raises(Refused, match="neither 0 nor 1"):
        tensors_from([TensorHeader(dtype="bool", shape=(3,))], buffer(3))


# ---------------------------------------------------------------- activations and gradients

WIRES = ["fp32", "bf16", "int8"]
samples = arrays(
    np.float32,
    array_shapes(min_dims=2, max_dims=4, max_side=4),
    elements=st.floats(width=32, allow_nan=False, allow_infinity=False)
    | st.floats(-8, 8, width=32)
    | st.sampled_from((0.0, -0.0, 1e-45, -2.6e-43, 1e-38, 3.4e38)),
)


def by_definition(values):
    """int8, sample by sample: the largest value is 127 steps, and all are whole steps."""
    arrived = np.empty_like(values)
    for sample, place in zip(values, arrived, strict=True):
        step = max(np.abs(sample).max() / np.float32(LEVELS), np.float32(SMALLEST_SCALE))
        with np.errstate(over="ignore", under="ignore"):
            place[...] = np.rint(sample / step).astype(np.int8).astype(np.float32) * step
    return arrived


@given(samples)
def test_int8_is_what_it_is_defined_to_be(values):
    found = carried(torch.from_numpy(values), "int8").numpy()
    assert found.tobytes() == by_definition(values).tobytes()


@pytest.mark.parametrize("wire", WIRES)
@given(values=samples)
def test_what_is_packed_sent_and_unpacked_is_what_the_engines_carry(wire, values):
    values = torch.from_numpy(values)
    parts = sent(pack(values, wire))
    assert same_bits(unpack(parts, wire, values.dtype), carried(values, wire))
    assert sum(part.nbytes for part in parts) == size_on_wire(values, wire)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("wire", WIRES)
def test_what_is_due_is_known_from_the_shape_alone(wire, dtype):
    values = torch.randn(5, 3, 2, 2, dtype=dtype)
    packed = tuple(map(describe, pack(values, wire)))
    assert describe_packed(tuple(values.shape), wire, dtype) == packed


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_sample_that_is_not_finite_arrives_as_nan_and_alone(bad):
    values = torch.tensor([[1.0, -2.0, 3.0], [1.0, bad, 0.0]])
    levels, scales = pack(values, "int8")
    assert levels[1].tolist() == [0, 0, 0]
    assert not scales[1].isfinite()
    arrived = unpack(sent([levels, scales]), "int8", torch.float32)
    assert arrived[0].tolist() == carried(values[:1], "int8")[0].tolist()
    assert arrived[1].isnan().all()
    for wire in ("fp32", "bf16"):
        through = unpack(sent(pack(values, wire)), wire, torch.float32)
        assert torch.equal(through.nan_to_num(), values.bfloat16().float().nan_to_num())


def test_double_precision_arrives_as_the_engines_carry_it():
    values = torch.randn(4, 6, dtype=torch.float64)
    for wire in WIRES:
        parts = sent(pack(values, wire))
        assert same_bits(unpack(parts, wire, torch.float64), carried(values, wire))
