"""What a training round costs: seconds, bytes, and the timeline behind them.

    schemes    what a scheme makes nodes wait for and send
    workload   a model's work and sizes for one batch
    placement  which layers run where, and who serves whom
    delay      seconds of a round, closed form, in the `paper` and the `network` model
    traffic    bytes of a round by kind
    timeline   the same round as events: who computes and sends what, when
    binding    the sentence that says what holds a round back

docs/notation.md has the equations.
"""

from tiercut.cost.binding import binding
from tiercut.cost.delay import RoundSeconds, round_seconds
from tiercut.cost.placement import Placement, check_placement
from tiercut.cost.schemes import SCHEMES, SchemeCost, scheme_named
from tiercut.cost.traffic import RoundBytes, round_bytes
from tiercut.cost.workload import Workload

__all__ = [
    "SCHEMES",
    "Placement",
    "RoundBytes",
    "RoundSeconds",
    "SchemeCost",
    "Workload",
    "binding",
    "check_placement",
    "round_bytes",
    "round_seconds",
    "scheme_named",
]
