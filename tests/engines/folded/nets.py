"""Small networks with every layer that can be folded, as chains."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional


class Residual(nn.Module):
    """A block whose shortcut halves the image, and whose adds and ReLU are functional."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, values: Tensor) -> Tensor:
        return functional.relu(self.body(values) + self.shortcut(values))


def plain() -> list[nn.Sequential]:
    """Bias, ReLU, pooling of an odd image, dropout; cut in two, head on flat activations."""
    front = nn.Sequential(
        nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Sequential(nn.Conv2d(16, 8, 3, padding=1), nn.ReLU(), nn.Dropout(0.25)),
        nn.Sequential(nn.Flatten(), nn.Linear(8 * 9, 5)),
    )
    back = nn.Sequential(
        nn.Sequential(nn.MaxPool2d(3, 1)),
        nn.Sequential(nn.Flatten(), nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.5)),
        nn.Sequential(nn.Linear(16, 5)),
    )
    return [front, back]


def normed() -> list[nn.Sequential]:
    """BatchNorm after a bias, with and without pooling; a pooled head."""
    front = nn.Sequential(
        nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                      nn.MaxPool2d(2)),
        nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU()),
        nn.Sequential(nn.Flatten(start_dim=2), nn.AdaptiveAvgPool1d(1), nn.Flatten(),
                      nn.Linear(32, 5)),
    )  # fmt: skip
    back = nn.Sequential(
        nn.Sequential(nn.Conv2d(32, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                      nn.MaxPool2d(2)),
        nn.Sequential(nn.Flatten(), nn.Linear(16 * 4, 5)),
    )  # fmt: skip
    return [front, back]


def residual() -> list[nn.Sequential]:
    """A stem and two residual blocks under one loss."""
    return [
        nn.Sequential(
            nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16),
                          nn.ReLU()),
            Residual(16, 16, 1),
            Residual(16, 32, 2),
            nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 5)),
        )
    ]  # fmt: skip


def vectors() -> list[nn.Sequential]:
    """Linear layers on plain vectors."""
    return [
        nn.Sequential(
            nn.Sequential(nn.Linear(12, 16), nn.ReLU()),
            nn.Sequential(nn.Linear(16, 5)),
        )
    ]


NETS = {
    "plain": (plain, (1, 7, 7), 2),
    "normed": (normed, (3, 8, 8), 2),
    "residual": (residual, (3, 6, 6), None),
    "vectors": (vectors, (12,), None),
}
"""How to build each, the shape of its images, and where it is tapped."""
