"""Moves channels from the end of a sample to its start and back, tile by tile."""
# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201 (Triton compiles these; annotations mean something else to it)

import triton
import triton.language as tl


@triton.jit
def transpose(
    a_ptr,
    out_ptr,
    CLIENTS: tl.constexpr,
    C: tl.constexpr,
    PLANE: tl.constexpr,
    BACK: tl.constexpr,
    CHANS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """[B, PLANE, N, C] to [B, N, C, PLANE], or with BACK the other way."""
    client = tl.program_id(0)
    image = tl.program_id(1)
    blocks: tl.constexpr = (C + CHANS - 1) // CHANS
    channel = tl.program_id(2) % blocks * CHANS + tl.arange(0, CHANS)
    row = tl.program_id(2) // blocks * ROWS + tl.arange(0, ROWS)
    kept = (row < PLANE)[:, None] & (channel < C)[None, :]
    folded = ((image * PLANE + row)[:, None] * CLIENTS + client) * C + channel[None, :]
    flat = (image * CLIENTS + client) * (C * PLANE) + channel[None, :] * PLANE + row[:, None]
    if BACK:
        tl.store(out_ptr + folded, tl.load(a_ptr + flat, mask=kept), mask=kept)
    else:
        tl.store(out_ptr + flat, tl.load(a_ptr + folded, mask=kept), mask=kept)
