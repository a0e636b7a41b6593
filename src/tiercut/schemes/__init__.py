"""What happens in a round: which scheme trains what on which loss, and averages it when.

One small file per scheme, all in the vocabulary of `tiercut.schemes.scheme`.
"""

from tiercut.schemes.registry import find_scheme
from tiercut.schemes.scheme import Average, Over, Part, Scheme

__all__ = ["Average", "Over", "Part", "Scheme", "find_scheme"]
