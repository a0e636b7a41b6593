"""Convolution as an implicit matrix product, one per client: no columns are ever written.

Letters: A is what is read (images or gradients), K its channels, J the channels of the result, and
a tap is one position of the filter. Weights are [N, J, taps, K] or [N, K, taps, J] by strides.
"""
# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, PLR0915 (Triton compiles these; annotations mean something else to it)

import triton
import triton.language as tl


@triton.jit
def convolve(
    a_ptr,
    w_ptr,
    out_ptr,
    BATCH: tl.constexpr,
    CLIENTS: tl.constexpr,
    K: tl.constexpr,
    J: tl.constexpr,
    AH: tl.constexpr,
    AW: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
    KH: tl.constexpr,
    KW: tl.constexpr,
    STRIDE: tl.constexpr,
    PAD_H: tl.constexpr,
    PAD_W: tl.constexpr,
    TRANSPOSED: tl.constexpr,
    W_CLIENT: tl.constexpr,
    W_TAP: tl.constexpr,
    W_K: tl.constexpr,
    W_J: tl.constexpr,
    W_KEEP: tl.constexpr,
    ROWS: tl.constexpr,
    COLS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Forward, or with TRANSPOSED the gradient of the input.

    The transposed product runs once per residue of the position modulo the stride: within a
    residue the filter's taps that meet it are the same everywhere, and none is wasted.
    """
    CLASS: tl.constexpr = STRIDE if TRANSPOSED else 1
    HC: tl.constexpr = (H + CLASS - 1) // CLASS
    WC: tl.constexpr = (W + CLASS - 1) // CLASS
    KB: tl.constexpr = (K + DEPTH - 1) // DEPTH
    JB: tl.constexpr = (J + COLS - 1) // COLS
    tile = tl.program_id(0)
    client = tl.program_id(1).to(tl.int64)
    residue = tl.program_id(2)
    row = (tile // JB) * ROWS + tl.arange(0, ROWS)
    col = (tile % JB) * COLS + tl.arange(0, COLS)
    image = row // (HC * WC)
    h = row // WC % HC
    w = row % WC
    if TRANSPOSED:
        rh = residue // CLASS
        rw = residue % CLASS
        first_h = (rh + PAD_H) % STRIDE
        first_w = (rw + PAD_W) % STRIDE
        taps_h = tl.maximum((KH - first_h + STRIDE - 1) // STRIDE, 0)
        taps_w = tl.maximum((KW - first_w + STRIDE - 1) // STRIDE, 0)
        start_h = h + (rh + PAD_H - first_h) // STRIDE
        start_w = w + (rw + PAD_W - first_w) // STRIDE
        h = h * CLASS + rh
        w = w * CLASS + rw
    else:
        first_h = 0
        first_w = 0
        taps_h = KH
        taps_w = KW
        start_h = h * STRIDE - PAD_H
        start_w = w * STRIDE - PAD_W
    inside = (image < BATCH) & (h < H) & (w < W)
    a_row = a_ptr + client * K + image.to(tl.int64) * (AH * AW * CLIENTS * K)
    w_col = w_ptr + client * W_CLIENT + col * W_J
    total = tl.zeros((ROWS, COLS), dtype=tl.float32)
    for step in range(taps_h * taps_w * KB):
        tap = step // KB
        k = step % KB * DEPTH + tl.arange(0, DEPTH)
        if TRANSPOSED:
            tap_h = tap // taps_w
            tap_w = tap % taps_w
            ah = start_h - tap_h
            aw = start_w - tap_w
            place = (first_h + STRIDE * tap_h) * KW + first_w + STRIDE * tap_w
        else:
            ah = start_h + tap // KW
            aw = start_w + tap % KW
            place = tap
        seen = inside & (ah >= 0) & (ah < AH) & (aw >= 0) & (aw < AW)
        at = a_row + (ah * AW + aw) * (CLIENTS * K)
        if K % DEPTH == 0:
            a = tl.load(at[:, None] + k[None, :], mask=seen[:, None], other=0.0)
        else:
            a = tl.load(at[:, None] + k[None, :], mask=seen[:, None] & (k < K)[None, :], other=0.0)
        there = w_col[None, :] + place * W_TAP + k[:, None] * W_K
        if W_KEEP % DEPTH == 0 and J % COLS == 0:
            b = tl.load(there)
        else:
            b = tl.load(there, mask=(k < W_KEEP)[:, None] & (col < J)[None, :], other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    out = out_ptr + client * J + (((image * H + h) * W + w) * CLIENTS).to(tl.int64) * J
    kept = inside[:, None] & (col < J)[None, :]
    tl.store(out[:, None] + col[None, :], total.to(out_ptr.dtype.element_ty), mask=kept)


@triton.jit
def weigh(
    a_ptr,
    g_ptr,
    out_ptr,
    BATCH: tl.constexpr,
    CLIENTS: tl.constexpr,
    K: tl.constexpr,
    J: tl.constexpr,
    AH: tl.constexpr,
    AW: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
    KH: tl.constexpr,
    KW: tl.constexpr,
    STRIDE: tl.constexpr,
    PAD_H: tl.constexpr,
    PAD_W: tl.constexpr,
    KEEP: tl.constexpr,
    SPLITS: tl.constexpr,
    ROWS: tl.constexpr,
    COLS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """The gradient of the weights, [SPLITS, N, J, taps, KEEP] in float32; KEEP <= K."""
    KB: tl.constexpr = (KEEP + COLS - 1) // COLS
    JB: tl.constexpr = (J + ROWS - 1) // ROWS
    POSITIONS: tl.constexpr = BATCH * H * W
    CHUNK: tl.constexpr = (POSITIONS + SPLITS * DEPTH - 1) // (SPLITS * DEPTH) * DEPTH
    tile = tl.program_id(0)
    client = tl.program_id(1).to(tl.int64)
    split = tl.program_id(2)
    k = tile % KB * COLS + tl.arange(0, COLS)
    j = tile // KB % JB * ROWS + tl.arange(0, ROWS)
    tap = tile // (KB * JB)
    shift_h = tap // KW - PAD_H
    shift_w = tap % KW - PAD_W
    total = tl.zeros((ROWS, COLS), dtype=tl.float32)
    for step in range(CHUNK // DEPTH):
        position = split * CHUNK + step * DEPTH + tl.arange(0, DEPTH)
        image = position // (H * W)
        ah = position // W % H * STRIDE + shift_h
        aw = position % W * STRIDE + shift_w
        live = (position < POSITIONS) & (position < (split + 1) * CHUNK)
        seen = live & (ah >= 0) & (ah < AH) & (aw >= 0) & (aw < AW)
        at = a_ptr + client * K + ((image * AH + ah) * AW + aw).to(tl.int64) * (CLIENTS * K)
        from_g = g_ptr + client * J + position.to(tl.int64) * (CLIENTS * J)
        if K % COLS == 0:
            a = tl.load(at[:, None] + k[None, :], mask=seen[:, None], other=0.0)
        else:
            a = tl.load(at[:, None] + k[None, :], mask=seen[:, None] & (k < K)[None, :], other=0.0)
        if J % ROWS == 0:
            g = tl.load(from_g[:, None] + j[None, :], mask=live[:, None], other=0.0)
        else:
            g = tl.load(
                from_g[:, None] + j[None, :], mask=live[:, None] & (j < J)[None, :], other=0.0
            )
        total = tl.dot(tl.trans(g), a, total, input_precision="ieee")
    out = out_ptr + (split * CLIENTS + client) * (J * KH * KW * KEEP) + tap * KEEP
    kept = (j < J)[:, None] & (k < KEEP)[None, :]
    tl.store(out + j[:, None] * (KH * KW * KEEP) + k[None, :], total, mask=kept)


@triton.jit
def columns(
    a_ptr,
    out_ptr,
    TOTAL,
    CLIENTS: tl.constexpr,
    K: tl.constexpr,
    AH: tl.constexpr,
    AW: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
    KH: tl.constexpr,
    KW: tl.constexpr,
    STRIDE: tl.constexpr,
    PAD_H: tl.constexpr,
    PAD_W: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """The patch under the filter at every position, for images of a channel or three.

    Patches are K * KH * KW values in the weights' own order, then zeros up to WIDTH.
    """
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    client = row % CLIENTS
    position = row // CLIENTS
    image = position // (H * W)
    place = tl.arange(0, WIDTH)
    channel = place // (KH * KW)
    ah = (position // W % H * STRIDE - PAD_H)[:, None] + (place // KW % KH)[None, :]
    aw = (position % W * STRIDE - PAD_W)[:, None] + (place % KW)[None, :]
    seen = (ah >= 0) & (ah < AH) & (aw >= 0) & (aw < AW)
    seen = seen & (row < TOTAL)[:, None] & (place < K * KH * KW)[None, :]
    at = ((image[:, None] * AH + ah) * AW + aw) * CLIENTS + client[:, None]
    values = tl.load(a_ptr + at * K + channel[None, :], mask=seen, other=0.0)
    out = out_ptr + row[:, None] * WIDTH + place[None, :]
    tl.store(out, values, mask=(row < TOTAL)[:, None])
