"""Those who do pieces of work, and the simplest of them: this process, one after another."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar, cast

from tiercut.errors import TiercutError

Common = TypeVar("Common")
Item = TypeVar("Item", bound=Hashable)
Result = TypeVar("Result")

Say = Callable[[Any], None]
"""Tells whoever waits for a piece of work how it gets on."""
Work = Callable[[Common, Item, Say], Result]
"""Does one piece, with what is common to all; a function of a module, so that it can travel."""
Hear = Callable[[Item, Any], None]
"""Told what was said in a piece of work."""
OnLost = Callable[[Item, str], None]
"""Told that a piece of work is begun again, and why."""
Claim = Callable[[Item], int]
"""How many bytes of memory a piece of work takes."""


@dataclass(frozen=True)
class Ended(Generic[Item, Result]):
    """A piece of work that is over: what it gave, or the problem that stopped it."""

    item: Item
    value: Result | None = None
    problem: TiercutError | None = None

    def result(self) -> Result:
        """What it gave; raises the problem, if there was one."""
        if self.problem is not None:
            raise self.problem
        return cast(Result, self.value)


def attempt(
    work: Work[Common, Item, Result], common: Common, item: Item, say: Say
) -> Ended[Item, Result]:
    """Do a piece of work to its end, or to a problem that can be explained."""
    try:
        return Ended(item, work(common, item, say))
    except TiercutError as problem:
        return Ended(item, problem=problem)


def claim_nothing(_: Hashable) -> int:
    """A Claim of those who do not know what they take."""
    return 0


@dataclass(frozen=True)
class Loss:
    """A piece of work stopped, and not by its own doing."""

    reason: str


class Pieces(Protocol[Item]):
    """The pieces that are begun and not over."""

    def __len__(self) -> int: ...

    def begin(self, item: Item) -> None:
        """Begin a piece, or have it begun where there is room."""

    def listen(self) -> tuple[Item, Any]:
        """Wait until something is said in a piece; its end and its loss are said too."""

    def stop(self) -> None:
        """End those that are left, at once: what they have written down is all they need."""


@dataclass(frozen=True)
class Terms:
    """How pieces of work are carried out."""

    at_once: int
    attempts: int
    """How often a piece is begun that is lost."""
    remedy: str
    """What helps where pieces are lost again and again."""


def carry_out(
    pieces: Pieces[Item],
    items: Sequence[Item],
    terms: Terms,
    *,
    hear: Hear[Item],
    on_lost: OnLost[Item],
) -> Generator[Ended[Item, Any], None, None]:
    """Every piece as it ends; one that is lost is begun again."""
    waiting, losses = deque(items), Counter[Item]()
    try:
        while waiting or pieces:
            while waiting and len(pieces) < terms.at_once:
                pieces.begin(waiting.popleft())
            item, said = pieces.listen()
            if isinstance(said, Ended):
                yield said
            elif not isinstance(said, Loss):
                hear(item, said)
            elif losses[item] + 1 < terms.attempts:
                losses[item] += 1
                on_lost(item, f"{said.reason}; it is begun again")
                waiting.append(item)  # after the others, which may be what it has no room beside
            else:
                why = f"{said.reason}, {terms.attempts} times; {terms.remedy}"
                yield Ended(item, problem=TiercutError(why))
    finally:
        pieces.stop()


class Workers(Protocol):
    """Do pieces of work, in any order."""

    @property
    def at_once(self) -> int:
        """How many pieces are worked on at a time."""

    @property
    def memory(self) -> int | None:
        """The bytes that pieces on one machine can claim; None where nobody keeps count."""

    def do(
        self,
        work: Work[Common, Item, Result],
        common: Common,
        items: Sequence[Item],
        *,
        hear: Hear[Item],
        on_lost: OnLost[Item],
        claim: Claim[Item] = claim_nothing,
    ) -> Generator[Ended[Item, Result], None, None]:
        """Every piece as it ends; close it to let go of those that have not."""


class Alone:
    """The process that asks: it does one piece after another, in their order."""

    at_once = 1
    memory = None

    def do(
        self,
        work: Work[Common, Item, Result],
        common: Common,
        items: Sequence[Item],
        *,
        hear: Hear[Item],
        on_lost: OnLost[Item],
        claim: Claim[Item] = claim_nothing,
    ) -> Generator[Ended[Item, Result], None, None]:
        """See Workers."""
        for item in items:
            yield attempt(work, common, item, partial(hear, item))
