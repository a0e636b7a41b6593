"""The fast path: N replicas in one step, clients folded into channels.

`unsupported` says which layer of a model it does not know; `FoldedStep` has the parts of a training
step for the others, and `Together` runs them.
"""

from tiercut.engines.folded.chain import Chain, Clock
from tiercut.engines.folded.plan import unsupported
from tiercut.engines.folded.step import FoldedStep
from tiercut.engines.folded.stock import fold
from tiercut.engines.folded.together import Together
from tiercut.engines.folded.travel import Travel

__all__ = ["Chain", "Clock", "FoldedStep", "Together", "Travel", "fold", "unsupported"]
