"""The numbers that the paper prints in Tables IV, V, VII, VIII and IX: typed in, never computed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Printed:
    """A decision as the paper prints it; None where a table leaves the quantity out."""

    h: int
    v: int
    share: float | None = None
    """Lambda, the share of clients that aggregate."""
    per_aggregator: float | None = None
    """Clients assigned to an aggregator, on average."""


TABLE_IV = {
    "alexnet": Printed(3, 5, 0.2, 5.5),
    "vgg11": Printed(3, 8, 0.2, 4),
    "vgg19": Printed(4, 15, 0.25, 3),
    "resnet101": Printed(8, 24, 0.3, 2.25),
}

TABLE_V = {
    ("alexnet", 0.10): Printed(3, 5),
    ("alexnet", 0.25): Printed(2, 5),
    ("alexnet", 0.50): Printed(2, 5),
    ("alexnet", 0.80): Printed(2, 5),
    ("resnet101", 0.10): Printed(9, 24),
    ("resnet101", 0.30): Printed(8, 24),
    ("resnet101", 0.50): Printed(9, 26),
    ("resnet101", 0.80): Printed(12, 26),
}
"""By model and lambda."""

TABLE_VII = {
    ("vgg11", 2.0): Printed(3, 8, 0.10),
    ("vgg11", 7.5): Printed(4, 8, 0.20),
    ("vgg11", 15.0): Printed(5, 8, 0.30),
    ("resnet101", 2.0): Printed(11, 26, 0.15),
    ("resnet101", 7.5): Printed(8, 24, 0.30),
    ("resnet101", 15.0): Printed(6, 24, 0.30),
}
"""By model and gamma, how many times faster strong clients are than weak ones."""


@dataclass(frozen=True)
class PrintedSearch:
    """How Algorithm 2 compares with "exhaustive search" in the paper."""

    suboptimality: float
    """Percent."""
    speedup: float


TABLE_VIII = {
    ("vgg19", 30): PrintedSearch(0, 10.5),
    ("vgg19", 60): PrintedSearch(0, 24),
    ("vgg19", 100): PrintedSearch(10.5, 36),
    ("resnet101", 30): PrintedSearch(0, 10.5),
    ("resnet101", 60): PrintedSearch(0, 22),
    ("resnet101", 100): PrintedSearch(12, 40),
}
"""By model and number of clients."""


@dataclass(frozen=True)
class PrintedIncrease:
    """Percent by which a change slows the round down."""

    fixed: float
    new: float


TABLE_IX = {
    ("vgg19", "extra 15 % tasks"): PrintedIncrease(5, 2),
    ("vgg19", "extra 30 % tasks"): PrintedIncrease(12, 5),
    ("vgg19", "reduced rate"): PrintedIncrease(18, 7),
    ("resnet101", "extra 15 % tasks"): PrintedIncrease(14, 9),
    ("resnet101", "extra 30 % tasks"): PrintedIncrease(24, 11),
    ("resnet101", "reduced rate"): PrintedIncrease(7, 3),
}
"""By model and type of change."""
