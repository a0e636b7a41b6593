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
    starts_ptr,
    members_ptr,
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
    SHARED: tl.constexpr,
    ROWS: tl.constexpr,
    TAPS: tl.constexpr,
):
    """Update the models whose clients took part; R rows of T taps each, T contiguous in `p`.

    Gradient and shadow are [R / K, T, K] where the parameter is [R / K, K, T]. KIND is 0 for plain
    SGD, 1 with momentum, 2 for Adam, whose moments are divided by `debias`, [N, 2].

    Every client has a model, or if SHARED, the clients `members[starts[i]:starts[i + 1]]` have
    model i: what the first of them has is read, and written to all of them. With a SHADOW, which is
    what products read, only that is written to all; the rest is theirs when the first hands it on.
    """
    model = tl.program_id(1)
    begin = tl.load(starts_ptr + model) if SHARED else model
    end = tl.load(starts_ptr + model + 1) if SHARED else model + 1
    if begin < end:
        client = tl.load(members_ptr + begin) if SHARED else model
        if tl.load(sizes_ptr + client) > 0:
            row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
            tap = tl.arange(0, TAPS)
            if T % TAPS == 0 and R % ROWS == 0:
                kept = tl.full((ROWS, TAPS), True, tl.int1)
            else:
                kept = (row < R)[:, None] & (tap < T)[None, :]
            here = row[:, None] * T + tap[None, :]
            there = here if T == 1 else (row // K * (T * K) + row % K)[:, None] + tap[None, :] * K
            start = client.to(tl.int64) * (R * T)
            p = tl.load(p_ptr + start + here, mask=kept)
            g = tl.load(g_ptr + model.to(tl.int64) * (R * T) + there, mask=kept).to(tl.float32)
            g += decay * p
            rate = tl.load(rate_ptr)
            first = g
            second = g
            if KIND == 1:
                g += momentum * tl.load(first_ptr + start + here, mask=kept)
                first = g
            if KIND == 2:
                first = tl.load(first_ptr + start + here, mask=kept)
                first += (1.0 - beta1) * (g - first)
                second = tl.load(second_ptr + start + here, mask=kept)
                second = beta2 * second + (1.0 - beta2) * g * g
                debias1 = tl.load(debias_ptr + client * 2)
                debias2 = tl.load(debias_ptr + client * 2 + 1)
                g = first / debias1 / (tl.sqrt(second / debias2) + eps)
            p -= rate * g
            for each in range(begin, end):
                if SHARED:
                    start = tl.load(members_ptr + each).to(tl.int64) * (R * T)
                if each == begin or not SHADOW:
                    tl.store(p_ptr + start + here, p, mask=kept)
                    if KIND > 0:
                        tl.store(first_ptr + start + here, first, mask=kept)
                    if KIND == 2:
                        tl.store(second_ptr + start + here, second, mask=kept)
                if SHADOW:
                    rounded = p.to(shadow_ptr.dtype.element_ty)
                    tl.store(shadow_ptr + start + there, rounded, mask=kept)
