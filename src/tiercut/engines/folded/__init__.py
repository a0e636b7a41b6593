"""The fast path: N replicas in one step, clients folded into channels.

`unsupported` says which layer of a model it does not know; `FoldedStep` trains the others.
"""

from tiercut.engines.folded.chain import Chain, Clock
from tiercut.engines.folded.plan import unsupported
from tiercut.engines.folded.sharing import Sharing
from tiercut.engines.folded.step import FoldedStep
from tiercut.engines.folded.stock import fold

__all__ = ["Chain", "Clock", "FoldedStep", "Sharing", "fold", "unsupported"]
