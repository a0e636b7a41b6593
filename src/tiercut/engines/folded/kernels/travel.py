"""What is left of activations that are sent as int8: a level per value and a scale per sample."""
# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201 (Triton compiles these; annotations mean something else to it)

import triton
import triton.language as tl


@triton.jit
def carry(
    a_ptr,
    out_ptr,
    sent_ptr,
    CLIENTS: tl.constexpr,
    C: tl.constexpr,
    PLANE: tl.constexpr,
    LEVELS: tl.constexpr,
    SMALLEST: tl.constexpr,
    ROWS: tl.constexpr,
    CHANS: tl.constexpr,
):
    """Round the samples of the clients that are `sent`, of [B, PLANE, N, C]; copy the others'."""
    client = tl.program_id(0)
    sample = tl.program_id(1).to(tl.int64) * (PLANE * CLIENTS * C) + client * C
    row = tl.arange(0, ROWS)
    channel = tl.arange(0, CHANS)
    largest = 0.0
    for tile in range(0, PLANE, ROWS):
        for block in range(0, C, CHANS):
            kept = (tile + row < PLANE)[:, None] & (block + channel < C)[None, :]
            here = sample + (tile + row)[:, None] * (CLIENTS * C) + (block + channel)[None, :]
            size = tl.abs(tl.load(a_ptr + here, mask=kept, other=0.0).to(tl.float32))
            # A sample with a NaN has no scale, as one with an infinity has none.
            size = tl.where(size <= 3.4028234663852886e38, size, float("inf"))
            largest = tl.maximum(largest, tl.max(size))
    scale = tl.maximum(tl.div_rn(largest, LEVELS), SMALLEST)
    sent = tl.load(sent_ptr + client)
    for tile in range(0, PLANE, ROWS):
        for block in range(0, C, CHANS):
            kept = (tile + row < PLANE)[:, None] & (block + channel < C)[None, :]
            here = sample + (tile + row)[:, None] * (CLIENTS * C) + (block + channel)[None, :]
            value = tl.load(a_ptr + here, mask=kept, other=0.0).to(tl.float32)
            # Adding and taking away 1.5 * 2^23 leaves the nearest whole number.
            level = (tl.div_rn(value, scale) + 12582912.0) - 12582912.0
            value = tl.where(sent, level * scale, value)
            tl.store(out_ptr + here, value.to(out_ptr.dtype.element_ty), mask=kept)
