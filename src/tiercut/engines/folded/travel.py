"""Activations that travel between machines in the middle of a chain, and arrive rounded."""

from __future__ import annotations

from torch import Tensor, nn

from tiercut.engines.wire import carried, send
from tiercut.scenario import Wire


class Travel(nn.Module):
    """Stands between two layers: the activations of some clients are sent there, `[N]` booleans.

    Their gradients come back the same way.
    """

    def __init__(self, wire: Wire, clients: Tensor) -> None:
        super().__init__()
        self.wire, self.clients = wire, clients

    def forward(self, values: Tensor) -> Tensor:
        """See the class; `values` are folded."""
        sent = _folded(send(_by_sample(values), self.wire), values)
        return sent.where(self.clients.unsqueeze(1), values)


def arrived(values: Tensor, wire: Wire) -> Tensor:
    """Folded activations of all clients at the other end."""
    return values if wire == "fp32" else _folded(carried(_by_sample(values), wire), values)


def _by_sample(values: Tensor) -> Tensor:
    """From [B, H, W, N, C] to [B N, H, W, C]: rounding looks at one sample at a time."""
    return values.permute(0, 3, 1, 2, 4).flatten(0, 1)


def _folded(samples: Tensor, like: Tensor) -> Tensor:
    batch, _, _, clients, _ = like.shape
    by_batch = samples.view(batch, clients, *samples.shape[1:])
    return by_batch.permute(0, 2, 3, 1, 4).contiguous()
