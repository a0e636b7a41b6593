"""Figures 4 and 5 in fine steps: small batches, frequent meetings, and a server that sees a share.

Learning lacks steps: of a hundred clients each has sixteen batches of 32 in a pass over its data.
By the paper's equations a batch of 8 takes a quarter of the time, so that four times as many steps
take no longer. What is above the cut is one model that learns from all clients at once; under a
local loss nobody below waits for it, and a share of every batch is enough for it to keep up. The
server is then no longer what holds a round back, and cuts may be shallower, where weights are few
and models can meet often. All schemes have all of that, but for the share, which those that learn
from the server's gradient cannot have.
"""

from __future__ import annotations

from tiercut.reproduce.free import freely_tuned
from tiercut.reproduce.small import STEPS
from tiercut.reproduce.study import Study

FINE = "-fine"
METHOD = (
    STEPS,
    "Under a local loss the server trains on a quarter of every batch; SFL and Multihop SFL have"
    " none, and their server sees everything.",
)


def _study(number: int) -> Study:
    return freely_tuned(number, "fine", METHOD, "settings-fine")


STUDIES = {f"figure-{number}{FINE}": _study(number) for number in (4, 5)}
TRIED = _study(6)
"""Tuned and no figure: no scheme with a local loss gets to where it is tuned. See small.py."""
