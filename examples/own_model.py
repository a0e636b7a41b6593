"""A model of your own: a function that returns an nn.Sequential, each entry of it one layer.

Run this file, or name the function on the command line from this folder:

    tiercut profile own_model:factory
"""

from collections import OrderedDict
from pathlib import Path

from torch import nn

from tiercut.cost import Workload
from tiercut.fleet import sample_fleet
from tiercut.models.trace import trace
from tiercut.models.zoo import build_model
from tiercut.plan.problem import Problem
from tiercut.plan.solve import solve
from tiercut.scenario import FleetSection
from tiercut.seeds import Seeds
from tiercut.units import show_flops, show_size, show_time


def factory(classes: int = 10) -> nn.Sequential:
    """Five layers for 28x28 grey images; a cut can go between any two of them."""
    return nn.Sequential(
        OrderedDict(
            conv1=nn.Sequential(nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
            conv2=nn.Sequential(nn.Conv2d(16, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
            conv3=nn.Sequential(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU()),
            hidden=nn.Sequential(nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU()),
            scores=nn.Linear(128, classes),
        )
    )


factory.input_shape = (1, 28, 28)  # type: ignore[attr-defined]  # one sample, without the batch


def main() -> None:
    """Profile the model, then plan it for ten devices drawn as the paper draws its own."""
    profile = trace(build_model(f"{Path(__file__).stem}:factory"))
    for layer in profile.layers:
        sizes = f"{show_size(layer.weight_bytes)} weights, {show_size(layer.activation_bytes)} out"
        print(f"layer {layer.index} {layer.name}: {show_flops(layer.flops)}, {sizes}")
    fleet = sample_fleet(FleetSection(clients=10), Seeds(0))
    plan = solve(Problem(fleet, Workload(profile), cuts=(3, 4)))
    h, v = plan.placement.aggregator_layers[0], plan.placement.cut_layers[0]
    print(f"h = {h}, v = {v}: a round takes {show_time(plan.seconds.round)} (gap {plan.gap:.2%})")


if __name__ == "__main__":
    main()
