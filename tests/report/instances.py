"""Small fleets and plans to draw, and one way to look into a picture."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np

from tiercut.cost import Placement, Workload, scheme_named
from tiercut.cost.timeline import batch_timeline
from tiercut.fleet import sample_fleet
from tiercut.models.profile import LayerCost, Profile
from tiercut.plan.plan import price
from tiercut.plan.problem import Problem
from tiercut.scenario import FleetSection
from tiercut.seeds import Seeds

NASTY = '<b>&"x'
"""A name that is markup unless it is escaped."""

LAYERS = [(6e7, 3e5), (9e7, 6e4), (3e8, 1e5), (2e8, 5e4), (1e8, 1e4), (1e7, 40.0)]
"""Work and activations of a model with six layers."""

PROFILE = Profile(
    name="six layers",
    parameters=600_000,
    layers=tuple(
        LayerCost(
            index=index,
            name=f"layer {index}",
            flops=flops,
            weight_bytes=4e5,
            activation_bytes=size,
            parameters=100_000,
        )
        for index, (flops, size) in enumerate(LAYERS, start=1)
    ),
)


def make_fleet(count, links="between", first=None):
    """A fleet of which a third is strong; `first` renames the first client."""
    section = FleetSection(clients=count, links=links, strong_fraction=0.34)
    fleet = sample_fleet(section, Seeds(0))
    return fleet if first is None else replace(fleet, names=(first, *fleet.names[1:]))


def in_groups(count, groups, scheme="aa-hsfl-ll"):
    """The first `groups` clients aggregate, and serve the others in turn."""
    placement = Placement.three_tiers(2, 4, np.arange(count) % groups)
    return placement.for_scheme(scheme_named(scheme))


def make_timeline(fleet, placement, scheme="aa-hsfl-ll", model="paper"):
    return batch_timeline(fleet, Workload(PROFILE), placement, scheme_named(scheme), model)


def make_plan(fleet, placement, scheme="aa-hsfl-ll"):
    problem = Problem(fleet, Workload(PROFILE), (4,), scheme=scheme_named(scheme))
    return price(problem, placement, solver="by hand")


class Picture:
    """An SVG picture, read back; it cannot be made of what is not well-formed XML."""

    def __init__(self, svg):
        self.root = ElementTree.fromstring(svg)
        self.width, self.height = (float(self.root.get(key)) for key in ("width", "height"))

    def all(self, tag):
        return list(self.root.iter(f"{{http://www.w3.org/2000/svg}}{tag}"))

    @property
    def texts(self):
        return [element.text for element in self.all("text")]

    @property
    def tooltips(self):
        return [element.text for element in self.all("title")]

    @property
    def bars(self):
        """The rectangles that have a tooltip, each with that tooltip."""
        groups = [(group.find("{*}title"), group.find("{*}rect")) for group in self.all("g")]
        return [(title.text, rect) for title, rect in groups if None not in (title, rect)]

    def holds(self, shape):
        """Whether a rectangle or a circle lies inside the picture."""
        left, top, right, bottom = edges(shape)
        return 0 <= left <= right <= self.width and 0 <= top <= bottom <= self.height


def edges(shape):
    """Left, top, right and bottom of a rectangle or a circle."""
    if shape.tag.endswith("circle"):
        x, y, r = (float(shape.get(key)) for key in ("cx", "cy", "r"))
        return x - r, y - r, x + r, y + r
    x, y, width, height = (float(shape.get(key, 0)) for key in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def overlap(one, other, slack=0.02):
    """Whether two shapes overlap by more than numbers are rounded in a picture."""
    a, b = edges(one), edges(other)
    return all(min(a[i + 2], b[i + 2]) - max(a[i], b[i]) > slack for i in (0, 1))
