"""Workers on a Ray cluster: as many pieces of work at once as it has room for.

A piece of work is a task that streams what is said in it, and at last its end. Ray itself repeats
none: a piece whose worker is lost is begun again from here, so that somebody is told.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic

from tiercut.cluster.connect import machines
from tiercut.cluster.workers import (
    Claim,
    Common,
    Ended,
    Hear,
    Item,
    Loss,
    OnLost,
    Result,
    Terms,
    Work,
    attempt,
    carry_out,
    claim_nothing,
)
from tiercut.errors import InputError

ATTEMPTS = 4
"""How often a piece of work is begun: what lost four workers would lose the fifth."""
REMEDY = "where memory is too small for so many workers, more --threads for each make them fewer"


@dataclass(frozen=True)
class Spread:
    """Workers on the Ray cluster that this process is connected to, and what each is given."""

    cpus: int
    gpus: int = 0

    def __post_init__(self) -> None:
        """Refuse what Ray would wait for without end."""
        if not self.at_once:
            wanted = f"{self.cpus} cores" + (f" and {self.gpus} GPU" if self.gpus else "")
            raise InputError(
                f"a worker takes {wanted}, and no machine of the Ray cluster has that much; give"
                f" fewer --threads, or another --ray-address"
            )

    @property
    def at_once(self) -> int:
        """See Workers."""
        return sum(self._places(has) for has in machines())

    def _places(self, has: dict[str, float]) -> int:
        """How many workers a machine has room for."""
        takes = {"CPU": self.cpus, "GPU": self.gpus}
        return int(min(has.get(kind, 0) // share for kind, share in takes.items() if share))

    @property
    def memory(self) -> int | None:
        """See Workers."""
        roomy = (has for has in machines() if self._places(has))
        return int(max((has.get("memory", 0) for has in roomy), default=0))

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
        tasks = _Tasks(self._starter(work, common, claim))
        everything = Terms(at_once=len(items), attempts=ATTEMPTS, remedy=REMEDY)
        return carry_out(tasks, items, everything, hear=hear, on_lost=on_lost)

    def _starter(
        self, work: Work[Common, Item, Result], common: Common, claim: Claim[Item]
    ) -> Callable[[Item], Any]:
        """What begins a piece of work, and gives the stream of what is said in it."""
        import ray

        task: Any = ray.remote(stream)
        here, shared = Path.cwd(), ray.put(common)

        def start(item: Item) -> Any:
            options: dict[str, Any] = {
                "num_cpus": self.cpus,
                "num_gpus": self.gpus,
                "memory": claim(item),
                "num_returns": "streaming",
                "max_retries": 0,
            }
            return task.options(**options).remote(here, work, shared, item)

        return start


def stream(
    folder: Path, work: Work[Common, Item, Result], common: Common, item: Item
) -> Iterator[Any]:
    """Do a piece of work on a worker: what is said in it, and then how it ended."""
    with suppress(OSError):  # on a machine without that folder there may be no need of it
        os.chdir(folder)
    said: SimpleQueue[Any] = SimpleQueue()
    over = object()
    with ThreadPoolExecutor(1) as thread:
        doing = thread.submit(attempt, work, common, item, said.put)
        doing.add_done_callback(lambda _: said.put(over))
        while (words := said.get()) is not over:
            yield words
    yield doing.result()


class _Tasks(Generic[Item]):
    """The pieces that are begun and not over."""

    def __init__(self, start: Callable[[Item], Any]) -> None:
        self._start = start
        self._items: dict[Any, Item] = {}

    def __len__(self) -> int:
        return len(self._items)

    def begin(self, item: Item) -> None:
        """Hand a piece to Ray, which starts it where there is room."""
        self._items[self._start(item)] = item

    def listen(self) -> tuple[Item, Any]:
        """Wait until something is said in a piece; its end and its loss are said too."""
        import ray

        (source,), _ = ray.wait([*self._items], num_returns=1)
        item, said = self._items[source], _next(source)
        if isinstance(said, Ended | Loss):
            del self._items[source]
        return item, said

    def stop(self) -> None:
        """End those that are left, at once: what they have written down is all they need."""
        import ray

        for source in self._items:
            ray.cancel(source, force=True)


def _next(source: Any) -> Any:
    """What is said next in a stream; what else a worker raises is a bug, and raised here."""
    import ray
    from ray import exceptions

    try:
        return ray.get(next(source))
    except exceptions.OutOfMemoryError:
        return Loss("its machine ran out of memory")
    except (exceptions.NodeDiedError, exceptions.LocalRayletDiedError):
        return Loss("its machine was lost")
    except (exceptions.WorkerCrashedError, exceptions.ObjectLostError):
        return Loss("its worker was lost")
    except exceptions.RayTaskError as bug:
        raise bug.cause from bug
