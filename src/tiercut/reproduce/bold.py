"""Figures 5 and 7 with rounds that start ahead, and one layer enough for a client.

What replicas on several hosts learn cancels in part when they meet, which one model at the server
is spared. Momentum from round to round makes up for much of it and sends nothing. Two tiers may cut
after the first layer; then three tiers may leave clients that one alone too.
"""

from __future__ import annotations

from tiercut.reproduce.figures_4_to_7 import same_for_all

BOLD = "-bold"
NUMBERS = (5, 7)
METHOD = (
    "A round is one epoch, for ResNet-101 a quarter of one, and starts ahead of what the last one"
    " came to, by 0.8 times the way from the round before (`outer_momentum`), where there are"
    " several models of a layer; activations and gradients are sent as int8, with a scale per"
    " sample.",
    "Clients may keep their first layer alone, on three tiers too, where the paper has two at"
    " least.",
)

STUDIES = {
    f"figure-{number}{BOLD}": same_for_all(number, "bold", "bold", METHOD) for number in NUMBERS
}
