"""The same operations in plain PyTorch, in any precision and on any device.

They are the judge of the kernels, and they run float32, tf32 and float64.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from tiercut.engines.folded.geometry import Geometry
from tiercut.engines.folded.tail import Norm


def fold(images: Tensor) -> Tensor:
    """[N, B, C, H, W] or [N, B, F] as folded activations [B, H, W, N, C]."""
    if images.dim() == 3:
        images = images[..., None, None]
    return images.permute(1, 3, 4, 0, 2).contiguous()


def planar(values: Tensor) -> Tensor:
    """[B, N * C, H, W], the channels_last view that stock layers take."""
    return values.flatten(3).permute(0, 3, 1, 2)


def folded(values: Tensor, clients: int) -> Tensor:
    """Back from `planar`."""
    batch, _, height, width = values.shape
    return values.permute(0, 2, 3, 1).reshape(batch, height, width, clients, -1)


def convolve(inputs: Tensor, weight: Tensor, geometry: Geometry) -> Tensor:
    """A batched product where that is fast, else a convolution in groups."""
    if geometry.pointwise:
        return _product(inputs, weight)
    if inputs.is_cuda:
        return _product(_columns(inputs, geometry), weight)
    clients = inputs.shape[3]
    result = functional.conv2d(
        planar(inputs),
        weight.flatten(0, 1),
        stride=geometry.stride,
        padding=geometry.padding,
        groups=clients,
    )
    return folded(result, clients)


def _product(inputs: Tensor, weight: Tensor) -> Tensor:
    """Multiply every position's channels with the client's weights."""
    clients, channels = inputs.shape[3:]
    rows = inputs.reshape(-1, clients, channels).transpose(0, 1)
    product = torch.bmm(rows, weight.flatten(2).transpose(1, 2))
    return product.transpose(0, 1).reshape(*inputs.shape[:4], weight.shape[1])


def _columns(inputs: Tensor, geometry: Geometry) -> Tensor:
    """The patch under the filter at every position, as channels in the order of the weights."""
    high, wide = geometry.padding
    around = functional.pad(inputs, (0, 0, 0, 0, wide, wide, high, high))
    patches = around.unfold(1, geometry.kernel[0], geometry.stride)
    return patches.unfold(2, geometry.kernel[1], geometry.stride).flatten(4)


def tail(
    inputs: Tensor,
    sizes: Tensor,
    *,
    norm: Norm | None,
    bias: Tensor | None,
    residual: Tensor | None,
    relu: bool,
    pool: bool,
) -> Tensor:
    """See tiercut.engines.folded.tail."""
    values = inputs if bias is None else inputs + bias
    if norm is not None:
        values = _normalise(values, sizes, norm)
    if residual is not None:
        values = values + residual
    if relu:
        values = functional.relu(values)
    if pool:
        values = folded(functional.max_pool2d(planar(values), 2), inputs.shape[3])
    return values


def _normalise(values: Tensor, sizes: Tensor, norm: Norm) -> Tensor:
    """BatchNorm over the valid samples of each client; the running statistics move on."""
    batch, height, width = values.shape[:3]
    valid = valid_samples(sizes, batch).view(batch, 1, 1, -1, 1)
    count = (sizes * (height * width)).clamp(min=1).to(values.dtype).unsqueeze(1)
    mean = torch.where(valid, values, 0).sum((0, 1, 2)) / count
    centred = torch.where(valid, values - mean, 0)
    var = centred.square().sum((0, 1, 2)) / count
    with torch.no_grad():
        weight = norm.momentum * (sizes > 0).to(values.dtype).unsqueeze(1)
        unbiased = var * (count / (count - 1).clamp(min=1))
        norm.mean.add_(weight * (mean - norm.mean))
        norm.var.add_(weight * (unbiased - norm.var))
        norm.tracked.add_(sizes > 0)
    return centred * (norm.gamma * torch.rsqrt(var + norm.eps)) + norm.beta


def valid_samples(sizes: Tensor, batch: int) -> Tensor:
    """[B, N]: whether each client has that sample."""
    return torch.arange(batch, device=sizes.device).unsqueeze(1) < sizes


def max_pool(inputs: Tensor, pool: nn.MaxPool2d) -> Tensor:
    """A max-pool of any shape."""
    return folded(pool(planar(inputs)), inputs.shape[3])


def average(inputs: Tensor) -> Tensor:
    """The mean over positions."""
    return inputs.mean((1, 2), keepdim=True)


def flatten(inputs: Tensor) -> Tensor:
    """Channels of every position side by side, channel by channel."""
    batch, height, width, clients, channels = inputs.shape
    vectors = inputs.permute(0, 3, 4, 1, 2)
    return vectors.reshape(batch, 1, 1, clients, channels * height * width)


def losses(scores: Tensor, labels: Tensor, sizes: Tensor) -> Tensor:
    """[B, N] cross entropies, zero for padding."""
    wide = torch.promote_types(scores.dtype, torch.float32)
    valid = valid_samples(sizes, scores.shape[0])
    # Padding is masked before and after: no gradient may come from what it happens to hold.
    known = torch.where(valid.unsqueeze(2), scores[:, 0, 0].to(wide), 0)
    rows = functional.log_softmax(known, -1)
    chosen = rows.gather(2, labels.t().unsqueeze(2)).squeeze(2)
    return torch.where(valid, -chosen, 0)
