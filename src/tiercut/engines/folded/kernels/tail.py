"""What follows a convolution, in one pass: bias or BatchNorm, residual, ReLU, 2x2 max-pool.

Statistics are per client and channel over the positions of valid samples. What the backward pass
needs of the pre-activation it computes again from the input, which costs less than to store it.
A program's channels all belong to one client: CHANS divides C.
"""
# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, D103 (Triton compiles these; annotations mean something else to it)

import triton
import triton.language as tl


@triton.jit
def statistics(
    x_ptr,
    sizes_ptr,
    part_ptr,
    POSITIONS: tl.constexpr,
    PLANE: tl.constexpr,
    WIDTH: tl.constexpr,
    C: tl.constexpr,
    STRIP: tl.constexpr,
    ROWS: tl.constexpr,
    CHANS: tl.constexpr,
):
    """Sums and sums of squares per strip of rows, [strips, 2, WIDTH].

    Values are taken relative to the first sample's first position, so that a large mean costs no
    digits.
    """
    channel = tl.program_id(0) * CHANS + tl.arange(0, CHANS)
    strip = tl.program_id(1)
    size = tl.load(sizes_ptr + tl.program_id(0) * CHANS // C)
    origin = tl.load(x_ptr + channel).to(tl.float32)
    first = tl.zeros((ROWS, CHANS), dtype=tl.float32)
    second = tl.zeros((ROWS, CHANS), dtype=tl.float32)
    live = tl.minimum(size * PLANE, POSITIONS)
    for start in range(strip * STRIP, tl.minimum((strip + 1) * STRIP, live), ROWS):
        row = start + tl.arange(0, ROWS)
        kept = (row < live)[:, None]
        at = x_ptr + row[:, None] * WIDTH + channel[None, :]
        x = tl.load(at, mask=kept, other=0.0).to(tl.float32)
        x = tl.where(kept, x - origin[None, :], 0.0)
        first += x
        second += x * x
    out = part_ptr + strip * (2 * WIDTH) + channel
    tl.store(out, tl.sum(first, axis=0))
    tl.store(out + WIDTH, tl.sum(second, axis=0))


@triton.jit
def settle(
    x_ptr,
    part_ptr,
    sizes_ptr,
    gamma_ptr,
    beta_ptr,
    bias_ptr,
    mean_ptr,
    var_ptr,
    tracked_ptr,
    coef_ptr,
    momentum,
    eps,
    PLANE: tl.constexpr,
    WIDTH: tl.constexpr,
    C: tl.constexpr,
    STRIPS: tl.constexpr,
    GATHER: tl.constexpr,
    BIAS: tl.constexpr,
    CHANS: tl.constexpr,
):
    """Coefficients [mean, rstd, scale, shift] from the sums, and the running statistics."""
    channel = tl.program_id(0) * CHANS + tl.arange(0, CHANS)
    client = tl.program_id(0) * CHANS // C
    size = tl.load(sizes_ptr + client)
    first = tl.zeros((GATHER, CHANS), dtype=tl.float32)
    second = tl.zeros((GATHER, CHANS), dtype=tl.float32)
    for start in range(0, STRIPS, GATHER):
        strip = start + tl.arange(0, GATHER)
        at = part_ptr + strip[:, None] * (2 * WIDTH) + channel[None, :]
        kept = (strip < STRIPS)[:, None]
        first += tl.load(at, mask=kept, other=0.0)
        second += tl.load(at + WIDTH, mask=kept, other=0.0)
    count = tl.maximum(size * PLANE, 1).to(tl.float32)
    offset = tl.sum(first, axis=0) / count
    var = tl.maximum(tl.sum(second, axis=0) / count - offset * offset, 0.0)
    mean = tl.load(x_ptr + channel).to(tl.float32) + offset
    rstd = 1.0 / tl.sqrt(var + eps)
    scale = tl.load(gamma_ptr + channel) * rstd
    if size == 0:
        # Nothing was measured: noise that nobody reads must not grow from layer to layer.
        scale = tl.zeros_like(scale)
    tl.store(coef_ptr + channel, mean)
    tl.store(coef_ptr + WIDTH + channel, rstd)
    tl.store(coef_ptr + 2 * WIDTH + channel, scale)
    tl.store(coef_ptr + 3 * WIDTH + channel, tl.load(beta_ptr + channel) - mean * scale)
    if size > 0:
        if BIAS:
            mean += tl.load(bias_ptr + channel)
        unbiased = var * (count / tl.maximum(count - 1.0, 1.0))
        old_mean = tl.load(mean_ptr + channel)
        old_var = tl.load(var_ptr + channel)
        tl.store(mean_ptr + channel, old_mean + momentum * (mean - old_mean))
        tl.store(var_ptr + channel, old_var + momentum * (unbiased - old_var))
        if tl.program_id(0) * CHANS % C == 0:
            tl.store(tracked_ptr + client, tl.load(tracked_ptr + client) + 1)


@triton.jit
def coefficients(coef_ptr, bias_ptr, channel, WIDTH, NORM: tl.constexpr, BIAS: tl.constexpr):
    """Scale and shift before the ReLU: BatchNorm's, a bias, or none."""
    scale = tl.full(channel.shape, 1.0, tl.float32)
    shift = tl.full(channel.shape, 0.0, tl.float32)
    if NORM:
        scale = tl.load(coef_ptr + 2 * WIDTH + channel)
        shift = tl.load(coef_ptr + 3 * WIDTH + channel)
    elif BIAS:
        shift = tl.load(bias_ptr + channel)
    return scale[None, :], shift[None, :]


@triton.jit
def apply(
    x_ptr,
    coef_ptr,
    bias_ptr,
    residual_ptr,
    out_ptr,
    POSITIONS: tl.constexpr,
    WIDTH: tl.constexpr,
    NORM: tl.constexpr,
    BIAS: tl.constexpr,
    RESIDUAL: tl.constexpr,
    RELU: tl.constexpr,
    ROWS: tl.constexpr,
    CHANS: tl.constexpr,
):
    """Bias or BatchNorm, residual and ReLU of one tile."""
    channel = tl.program_id(0) * CHANS + tl.arange(0, CHANS)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    kept = row < POSITIONS
    scale, shift = coefficients(coef_ptr, bias_ptr, channel, WIDTH, NORM, BIAS)
    z = read(x_ptr, row, channel, kept, WIDTH) * scale + shift
    if RESIDUAL:
        z += read(residual_ptr, row, channel, kept, WIDTH)
    if RELU:
        z = tl.maximum(z, 0.0)
    write(out_ptr, row, channel, kept, z, WIDTH)


@triton.jit
def read(x_ptr, row, channel, kept, WIDTH: tl.constexpr):
    at = x_ptr + row[:, None] * WIDTH + channel[None, :]
    return tl.load(at, mask=kept[:, None], other=0.0).to(tl.float32)


@triton.jit
def write(x_ptr, row, channel, kept, values, WIDTH: tl.constexpr):
    at = x_ptr + row[:, None] * WIDTH + channel[None, :]
    tl.store(at, values.to(x_ptr.dtype.element_ty), mask=kept[:, None])


@triton.jit
def apply_pooled(
    x_ptr,
    coef_ptr,
    bias_ptr,
    out_ptr,
    BATCH: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
    WIDTH: tl.constexpr,
    NORM: tl.constexpr,
    BIAS: tl.constexpr,
    RELU: tl.constexpr,
    ROWS: tl.constexpr,
    CHANS: tl.constexpr,
):
    """As `apply`, then the largest of each 2x2 window; a last odd row or column is dropped."""
    HP: tl.constexpr = H // 2
    WP: tl.constexpr = W // 2
    channel = tl.program_id(0) * CHANS + tl.arange(0, CHANS)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    live = row < BATCH * HP * WP
    scale, shift = coefficients(coef_ptr, bias_ptr, channel, WIDTH, NORM, BIAS)
    base = (row // (HP * WP) * H + row // WP % HP * 2) * W + row % WP * 2
    z = read(x_ptr, base, channel, live, WIDTH) * scale + shift
    z = tl.maximum(z, read(x_ptr, base + 1, channel, live, WIDTH) * scale + shift)
    z = tl.maximum(z, read(x_ptr, base + W, channel, live, WIDTH) * scale + shift)
    z = tl.maximum(z, read(x_ptr, base + W + 1, channel, live, WIDTH) * scale + shift)
    if RELU:
        z = tl.maximum(z, 0.0)
    write(out_ptr, row, channel, live, z, WIDTH)


@triton.jit
def window(
    x_ptr, g_ptr, row, channel, live, scale, shift,
    H: tl.constexpr, W: tl.constexpr, WIDTH: tl.constexpr, RELU: tl.constexpr,
):  # fmt: skip
    """The corners of a 2x2 window, which of them was the largest, and the gradient it receives.

    Windows here cover every position, the dropped odd ones too; those receive no gradient.
    """
    HP: tl.constexpr = (H + 1) // 2
    WP: tl.constexpr = (W + 1) // 2
    image = row // (HP * WP)
    ph = row // WP % HP
    pw = row % WP
    base = (image * H + ph * 2) * W + pw * 2
    below = live & (ph * 2 + 1 < H)
    right = live & (pw * 2 + 1 < W)
    whole = below & right
    x0 = read(x_ptr, base, channel, live, WIDTH)
    x1 = read(x_ptr, base + 1, channel, right, WIDTH)
    x2 = read(x_ptr, base + W, channel, below, WIDTH)
    x3 = read(x_ptr, base + W + 1, channel, whole, WIDTH)
    best = x0 * scale + shift
    chosen = x0
    index = tl.zeros(x0.shape, dtype=tl.int32)
    z = x1 * scale + shift
    larger = z > best
    best = tl.where(larger, z, best)
    chosen = tl.where(larger, x1, chosen)
    index = tl.where(larger, 1, index)
    z = x2 * scale + shift
    larger = z > best
    best = tl.where(larger, z, best)
    chosen = tl.where(larger, x2, chosen)
    index = tl.where(larger, 2, index)
    z = x3 * scale + shift
    larger = z > best
    best = tl.where(larger, z, best)
    chosen = tl.where(larger, x3, chosen)
    index = tl.where(larger, 3, index)
    pooled = (image * (H // 2) + ph) * (W // 2) + pw
    g = read(g_ptr, pooled, channel, whole, WIDTH)
    if RELU:
        g = tl.where(best > 0.0, g, 0.0)
    return base, right, below, whole, x0, x1, x2, x3, index, chosen, g


@triton.jit
def gradient_sums(
    x_ptr,
    g_ptr,
    y_ptr,
    residual_ptr,
    coef_ptr,
    sizes_ptr,
    part_ptr,
    ROWS_TOTAL: tl.constexpr,
    PLANE: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
    WIDTH: tl.constexpr,
    C: tl.constexpr,
    RESIDUAL: tl.constexpr,
    RELU: tl.constexpr,
    POOL: tl.constexpr,
    STRIP: tl.constexpr,
    ROWS: tl.constexpr,
    CHANS: tl.constexpr,
):
    """Sums of the gradient, and of the gradient times the normalised input, per strip.

    Rows are positions, or with POOL windows; PLANE is how many of them one sample has. A residual
    under a ReLU gets its own gradient on the way.
    """
    channel = tl.program_id(0) * CHANS + tl.arange(0, CHANS)
    strip = tl.program_id(1)
    size = tl.load(sizes_ptr + tl.program_id(0) * CHANS // C)
    scale, shift = coefficients(coef_ptr, coef_ptr, channel, WIDTH, True, False)
    mean = tl.load(coef_ptr + channel)[None, :]
    rstd = tl.load(coef_ptr + WIDTH + channel)
    first = tl.zeros((ROWS, CHANS), dtype=tl.float32)
    second = tl.zeros((ROWS, CHANS), dtype=tl.float32)
    live = ROWS_TOTAL if RESIDUAL else tl.minimum(size * PLANE, ROWS_TOTAL)
    for start in range(strip * STRIP, tl.minimum((strip + 1) * STRIP, live), ROWS):
        row = start + tl.arange(0, ROWS)
        kept = row < live
        if POOL:
            _, _, _, _, _, _, _, _, _, x, g = window(
                x_ptr, g_ptr, row, channel, kept, scale, shift, H, W, WIDTH, RELU
            )
        else:
            x = read(x_ptr, row, channel, kept, WIDTH)
            g = read(g_ptr, row, channel, kept, WIDTH)
            if RELU:
                if RESIDUAL:
                    g = tl.where(read(y_ptr, row, channel, kept, WIDTH) > 0.0, g, 0.0)
                    write(residual_ptr, row, channel, kept, g, WIDTH)
                else:
                    g = tl.where(x * scale + shift > 0.0, g, 0.0)
        first += g
        second += g * (x - mean)
    out = part_ptr + strip * (2 * WIDTH) + channel
    tl.store(out, tl.sum(first, axis=0))
    tl.store(out + WIDTH, tl.sum(second, axis=0) * rstd)


@triton.jit
def settle_gradients(
    part_ptr,
    coef_ptr,
    sizes_ptr,
    gamma_grad_ptr,
    beta_grad_ptr,
    pull_ptr,
    PLANE: tl.constexpr,
    WIDTH: tl.constexpr,
    C: tl.constexpr,
    STRIPS: tl.constexpr,
    GATHER: tl.constexpr,
    CHANS: tl.constexpr,
):
    """Gradients of scale and shift, and what the mean and variance pull out of the input's."""
    channel = tl.program_id(0) * CHANS + tl.arange(0, CHANS)
    size = tl.load(sizes_ptr + tl.program_id(0) * CHANS // C)
    first = tl.zeros((GATHER, CHANS), dtype=tl.float32)
    second = tl.zeros((GATHER, CHANS), dtype=tl.float32)
    for start in range(0, STRIPS, GATHER):
        strip = start + tl.arange(0, GATHER)
        at = part_ptr + strip[:, None] * (2 * WIDTH) + channel[None, :]
        kept = (strip < STRIPS)[:, None]
        first += tl.load(at, mask=kept, other=0.0)
        second += tl.load(at + WIDTH, mask=kept, other=0.0)
    shifts = tl.sum(first, axis=0)
    scales = tl.sum(second, axis=0)
    count = tl.maximum(size * PLANE, 1).to(tl.float32)
    tl.store(beta_grad_ptr + channel, shifts)
    tl.store(gamma_grad_ptr + channel, scales)
    tl.store(pull_ptr + channel, shifts / count)
    rstd = tl.load(coef_ptr + WIDTH + channel)
    tl.store(pull_ptr + WIDTH + channel, scales * rstd / count)


@triton.jit
def apply_gradient(
    x_ptr,
    g_ptr,
    y_ptr,
    coef_ptr,
    bias_ptr,
    pull_ptr,
    sizes_ptr,
    out_ptr,
    part_ptr,
    ROWS_TOTAL: tl.constexpr,
    PLANE: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
    WIDTH: tl.constexpr,
    C: tl.constexpr,
    NORM: tl.constexpr,
    BIAS: tl.constexpr,
    RESIDUAL: tl.constexpr,
    RELU: tl.constexpr,
    POOL: tl.constexpr,
    STRIP: tl.constexpr,
    ROWS: tl.constexpr,
    CHANS: tl.constexpr,
):
    """The gradient of the input, and sums for that of a bias that no BatchNorm follows.

    With BatchNorm and a residual, the gradient read here has passed the ReLU already. Rows of
    padding get zeros: with BatchNorm they would otherwise feel the pull of the others.
    """
    channel = tl.program_id(0) * CHANS + tl.arange(0, CHANS)
    strip = tl.program_id(1)
    size = tl.load(sizes_ptr + tl.program_id(0) * CHANS // C)
    scale, shift = coefficients(coef_ptr, bias_ptr, channel, WIDTH, NORM, BIAS)
    if NORM:
        mean = tl.load(coef_ptr + channel)[None, :]
        pull = tl.load(pull_ptr + channel)[None, :]
        slope = tl.load(pull_ptr + WIDTH + channel)[None, :]
    sums = tl.zeros((ROWS, CHANS), dtype=tl.float32)
    tiles = tl.cdiv(tl.minimum((strip + 1) * STRIP, ROWS_TOTAL) - strip * STRIP, ROWS)
    for step in range(tiles):
        # From end to start: the sums went the other way, and the end is what the cache still has.
        row = strip * STRIP + (tiles - 1 - step) * ROWS + tl.arange(0, ROWS)
        kept = row < ROWS_TOTAL
        valid = (row < size * PLANE)[:, None]
        if POOL:
            base, right, below, whole, x0, x1, x2, x3, index, _, g = window(
                x_ptr, g_ptr, row, channel, kept, scale, shift, H, W, WIDTH, RELU
            )
            sums += g
            d0 = tl.where(index == 0, g, 0.0)
            d1 = tl.where(index == 1, g, 0.0)
            d2 = tl.where(index == 2, g, 0.0)
            d3 = tl.where(index == 3, g, 0.0)
            if NORM:
                d0 = tl.where(valid, scale * (d0 - pull - (x0 - mean) * slope), 0.0)
                d1 = tl.where(valid, scale * (d1 - pull - (x1 - mean) * slope), 0.0)
                d2 = tl.where(valid, scale * (d2 - pull - (x2 - mean) * slope), 0.0)
                d3 = tl.where(valid, scale * (d3 - pull - (x3 - mean) * slope), 0.0)
            write(out_ptr, base, channel, kept, d0, WIDTH)
            write(out_ptr, base + 1, channel, right, d1, WIDTH)
            write(out_ptr, base + W, channel, below, d2, WIDTH)
            write(out_ptr, base + W + 1, channel, whole, d3, WIDTH)
        else:
            g = read(g_ptr, row, channel, kept, WIDTH)
            if RELU and RESIDUAL and not NORM:
                g = tl.where(read(y_ptr, row, channel, kept, WIDTH) > 0.0, g, 0.0)
            if NORM or (RELU and not RESIDUAL):
                x = read(x_ptr, row, channel, kept, WIDTH)
                if RELU and not RESIDUAL:
                    g = tl.where(x * scale + shift > 0.0, g, 0.0)
            sums += g
            if NORM:
                g = tl.where(valid, scale * (g - pull - (x - mean) * slope), 0.0)
            write(out_ptr, row, channel, kept, g, WIDTH)
    if BIAS and not NORM:
        tl.store(part_ptr + strip * WIDTH + channel, tl.sum(sums, axis=0))
