"""The optimiser's update of one stacked parameter, with the bf16 copy that the products read."""
# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201 (Triton compiles these; annotations mean something else to it)

import triton
import triton.language as tl


@triton.jit
def update(
    p_ptr,
    g_ptr,
    first_ptr,
    second_ptr,
    shadow_ptr,
    rate_ptr,
    debias_ptr,
    sizes_ptr,
    momentum,
    decay,
    eps,
    beta1,
    beta2,
    R: tl.constexpr,
    T: tl.constexpr,
    K: tl.constexpr,
    KIND: tl.constexpr,
    SHADOW: tl.constexpr,
    ROWS: tl.constexpr,
    TAPS: tl.constexpr,
):
    """Update the clients that took part; R rows of T taps each, T contiguous in the parameter.

    Gradient and shadow are [R / K, T, K] where the parameter is [R / K, K, T]. KIND is 0 for plain
    SGD, 1 with momentum, 2 for Adam, whose moments are divided by `debias`, [N, 2].
    """
    client = tl.program_id(1)
    if tl.load(sizes_ptr + client) > 0:
        row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
        tap = tl.arange(0, TAPS)
        start = client.to(tl.int64) * (R * T)
        p_ptr += start
        g_ptr += start
        first_ptr += start
        second_ptr += start
        shadow_ptr += start
        if T % TAPS == 0 and R % ROWS == 0:
            kept = tl.full((ROWS, TAPS), True, tl.int1)
        else:
            kept = (row < R)[:, None] & (tap < T)[None, :]
        here = row[:, None] * T + tap[None, :]
        there = here if T == 1 else (row // K * (T * K) + row % K)[:, None] + tap[None, :] * K
        p = tl.load(p_ptr + here, mask=kept)
        g = tl.load(g_ptr + there, mask=kept).to(tl.float32) + decay * p
        rate = tl.load(rate_ptr)
        if KIND == 1:
            g += momentum * tl.load(first_ptr + here, mask=kept)
            tl.store(first_ptr + here, g, mask=kept)
        if KIND == 2:
            first = tl.load(first_ptr + here, mask=kept)
            first += (1.0 - beta1) * (g - first)
            second = tl.load(second_ptr + here, mask=kept)
            second = beta2 * second + (1.0 - beta2) * g * g
            tl.store(first_ptr + here, first, mask=kept)
            tl.store(second_ptr + here, second, mask=kept)
            debias1 = tl.load(debias_ptr + client * 2)
            debias2 = tl.load(debias_ptr + client * 2 + 1)
            g = first / debias1 / (tl.sqrt(second / debias2) + eps)
        p -= rate * g
        tl.store(p_ptr + here, p, mask=kept)
        if SHADOW:
            tl.store(shadow_ptr + there, p.to(shadow_ptr.dtype.element_ty), mask=kept)
