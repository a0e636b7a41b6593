"""One seed, and every random stream derived from it by name.

Two streams with different names are independent, and a stream's draws do not depend on which other
streams exist or in which order they are made. Adding a use of randomness therefore never changes an
old result, and client 7's stream is the same whether there are ten clients or a thousand.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from tiercut.errors import InputError


@dataclass(frozen=True)
class Seeds:
    """The root of all randomness in a run."""

    root: int

    def __post_init__(self) -> None:
        """Refuse what could not be written in a scenario file."""
        if isinstance(self.root, bool) or not isinstance(self.root, int) or self.root < 0:
            raise InputError(f"the seed is {self.root!r}; expected a whole number from 0 upwards")

    def integer(self, *name: str | int) -> int:
        """A 63-bit number for libraries that take one, such as torch's generators."""
        return int.from_bytes(self._digest(name)[:8], "big") >> 1

    def stream(self, *name: str | int) -> np.random.Generator:
        """A NumPy generator for the use called `name`, such as ("partition", client)."""
        return np.random.Generator(np.random.PCG64(int.from_bytes(self._digest(name), "big")))

    def _digest(self, name: tuple[str | int, ...]) -> bytes:
        # repr keeps 1 and "1" apart, and the tuple's commas keep ("ab",) and ("a", "b") apart.
        return hashlib.sha256(repr((self.root, *name)).encode()).digest()
