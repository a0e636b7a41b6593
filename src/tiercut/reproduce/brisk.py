"""Figure 7 with models that meet four times in a pass over the data, for every scheme.

Where SFL cuts after the first layer, nearly all of its model is one model at the server. What lies
on several hosts can come near to that only by meeting more often, and for ResNet-101 on 30 clients
a meeting is cheap: its weights are small beside the activations of a quarter of a pass.
"""

from __future__ import annotations

from tiercut.reproduce.figures_4_to_7 import same_for_all

BRISK = "-brisk"
METHOD = (
    "A round is a quarter of a pass over every client's examples, after which all models are"
    " averaged; activations and gradients are sent as int8, with a scale per sample.",
)

STUDIES = {f"figure-7{BRISK}": same_for_all(7, "brisk", "brisk", METHOD)}
