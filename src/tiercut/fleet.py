"""Devices and the links between them: read from a fleet file, or sampled as the paper does.

A fleet is columns, one entry per client, so that everything downstream is vectorised. Links come in
two forms: a dense symmetric matrix (`Between`: independent links), or one access rate per client
(`Access`: a pair runs at the slower of its two ends, and a node's transfers share its radio).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tiercut.documents import Document, check, check_version, read_json, show_value
from tiercut.errors import InputError
from tiercut.scenario import MOST_EXAMPLES, FleetSection
from tiercut.seeds import Seeds

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Links(Protocol):
    """How fast any two clients can talk; a client reaches itself infinitely fast."""

    @property
    def shared(self) -> bool:
        """Whether a node's transfers share one radio."""

    def pairs(self, first: Ints, second: Ints) -> Floats:
        """The rate of each pair (first[i], second[i]), bytes/s; 0 where there is no link."""

    def block(self, rows: Ints, columns: Ints) -> Floats:
        """The rates between all of `rows` and all of `columns`."""

    def subset(self, kept: Ints) -> Links:
        """The links among the clients `kept`."""

    def to_dict(self) -> dict[str, Any]:
        """Their part of a fleet file."""


@dataclass(frozen=True, eq=False)
class Between:
    """Independent links: a symmetric matrix of rates, 0 where two clients have no direct link."""

    rates: Floats

    @property
    def shared(self) -> bool:
        """See Links."""
        return False

    def pairs(self, first: Ints, second: Ints) -> Floats:
        """See Links."""
        return np.where(first == second, np.inf, self.rates[first, second])

    def block(self, rows: Ints, columns: Ints) -> Floats:
        """See Links."""
        block = self.rates[np.ix_(rows, columns)]
        block[rows[:, None] == columns[None, :]] = np.inf
        return block

    def subset(self, kept: Ints) -> Between:
        """See Links."""
        return Between(_frozen(self.rates[np.ix_(kept, kept)]))

    def to_dict(self) -> dict[str, Any]:
        """See Links; null stands for no direct link, and fills the ignored diagonal."""
        rows = self.rates.tolist()
        for i, row in enumerate(rows):
            row[i] = None
            rows[i] = [rate or None for rate in row]
        return {"between": rows}


@dataclass(frozen=True, eq=False)
class Access:
    """One radio per client: a pair runs at the slower of the two access rates."""

    rates: Floats

    @property
    def shared(self) -> bool:
        """See Links."""
        return True

    def pairs(self, first: Ints, second: Ints) -> Floats:
        """See Links."""
        return np.where(first == second, np.inf, np.minimum(self.rates[first], self.rates[second]))

    def block(self, rows: Ints, columns: Ints) -> Floats:
        """See Links."""
        block = np.minimum.outer(self.rates[rows], self.rates[columns])
        block[rows[:, None] == columns[None, :]] = np.inf
        return block

    def subset(self, kept: Ints) -> Access:
        """See Links."""
        return Access(_frozen(self.rates[kept]))

    def to_dict(self) -> dict[str, Any]:
        """See Links."""
        return {"access": self.rates.tolist()}


@dataclass(frozen=True, eq=False)
class Fleet:
    """Clients, their links and the server: bytes/s and FLOP/s, one array entry per client."""

    names: tuple[str, ...]
    throughput: Floats
    examples: Ints
    server_throughput: float
    to_server: Floats
    links: Links

    def __len__(self) -> int:
        return len(self.names)

    def batches_per_epoch(self, batch: int, portions: int = 1) -> int:
        """Q: the batches of the client with the most data, or of one of the portions of it."""
        return -(-max(1, int(self.examples.max()) // portions) // batch)

    def subset(self, kept: Ints) -> Fleet:
        """The fleet of the clients `kept`, in that order."""
        return Fleet(
            tuple(self.names[i] for i in kept),
            _frozen(self.throughput[kept]),
            _frozen(self.examples[kept]),
            self.server_throughput,
            _frozen(self.to_server[kept]),
            self.links.subset(kept),
        )

    def to_dict(self) -> dict[str, Any]:
        """The fleet file's JSON object."""
        columns = zip(self.names, self.throughput.tolist(), self.examples.tolist(), strict=True)
        return {
            "version": 1,
            "server": {"throughput": self.server_throughput},
            "clients": [
                {"name": name, "throughput": throughput, "examples": examples}
                for name, throughput, examples in columns
            ],
            "links": {"to_server": self.to_server.tolist(), **self.links.to_dict()},
        }


def check_portions(names: Sequence[str], examples: Sequence[int], portions: int) -> None:
    """Refuse portions of which a client could not have one example each."""
    for name, count in zip(names, examples, strict=True):
        if count < portions:
            raise InputError(
                f"client {name!r} has {count} training examples, too few for {portions} portions;"
                f" lower portions in [training]"
            )


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


# ---------------------------------------------------------------------------------- the fleet file


class _Server(Document):
    throughput: float = Field(gt=0)


class _Client(Document):
    name: str = Field(min_length=1)
    throughput: float = Field(gt=0)
    examples: int = Field(ge=1, le=MOST_EXAMPLES)
    layer_throughput: tuple[float, ...] | None = Field(default=None, strict=False)


class _Links(Document):
    # Checked by _rates and _matrix below: a million entries are checked faster as arrays.
    to_server: Any
    between: Any = None
    access: Any = None


class _FleetFile(Document):
    version: int
    server: _Server
    clients: tuple[_Client, ...] = Field(min_length=1, strict=False)
    links: _Links


def read_fleet(path: Path) -> Fleet:
    """The fleet in a file."""
    return fleet_from_dict(read_json(path), str(path))


def fleet_from_dict(data: Any, source: str) -> Fleet:
    """A fleet from a fleet file's JSON object; `source` is its name in error messages."""
    check_version(data, source, "fleet")
    file = check(_FleetFile, data, source)
    names = tuple(client.name for client in file.clients)
    _check_unique(names, source)
    return Fleet(
        names,
        _frozen(np.array([client.throughput for client in file.clients])),
        _frozen(np.array([client.examples for client in file.clients], dtype=np.int64)),
        file.server.throughput,
        _frozen(_rates(file.links.to_server, "links.to_server", len(names), source)),
        _read_links(file.links, len(names), source),
    )


def _check_unique(names: tuple[str, ...], source: str) -> None:
    if len(set(names)) == len(names):
        return
    first: dict[str, int] = {}
    for position, name in enumerate(names):
        if name in first:
            raise InputError(
                f"{source}: clients[{first[name]}] and clients[{position}] are both named"
                f" {name!r}; expected a name of its own for every client"
            )
        first[name] = position


def _read_links(links: _Links, count: int, source: str) -> Links:
    if (links.between is None) == (links.access is None):
        found = "neither" if links.between is None else "both"
        raise InputError(f"{source}: links has {found} of between and access; expected one of them")
    if links.access is not None:
        return Access(_frozen(_rates(links.access, "links.access", count, source)))
    return Between(_frozen(_matrix(links.between, count, source)))


def _rates(values: Any, key: str, count: int, source: str) -> Floats:
    """A list of `count` positive finite rates."""
    array = _numbers(values, key, count, source)
    _check_rates(array, np.ones(count, dtype=bool), values, key, source)
    return array


def _matrix(rows: Any, count: int, source: str) -> Floats:
    """A symmetric matrix of rates; null (no direct link) becomes 0, the diagonal is ignored."""
    key = "links.between"
    if not isinstance(rows, list) or len(rows) != count:
        raise InputError(
            f"{source}: {key} {_describe(rows)}; expected {count} rows, one per client"
        )
    matrix = np.empty((count, count))
    for i, row in enumerate(rows):
        matrix[i] = _numbers(row, f"{key}[{i}]", count, source)
        matrix[i, i] = 0.0
        absent = np.array([value is None for value in row])
        matrix[i, absent] = 0.0
        others = ~absent
        others[i] = False
        _check_rates(matrix[i], others, row, f"{key}[{i}]", source)
    _check_symmetric(matrix, key, source)
    return matrix


def _check_symmetric(matrix: Floats, key: str, source: str) -> None:
    unequal = ~np.isclose(matrix, matrix.T, rtol=1e-9, atol=0.0)
    if unequal.any():
        i, j = np.argwhere(unequal)[0]
        raise InputError(
            f"{source}: {key} is not symmetric: {key}[{i}][{j}] is {matrix[i, j]:g} and"
            f" {key}[{j}][{i}] is {matrix[j, i]:g}; expected one rate for both directions"
        )


def _numbers(values: Any, key: str, count: int, source: str) -> Floats:
    """A list of `count` numbers or nulls as an array, null as NaN."""
    if not isinstance(values, list) or len(values) != count:
        raise InputError(
            f"{source}: {key} {_describe(values)}; expected {count} numbers, one per client"
        )
    if not {type(value) for value in values} <= {int, float, type(None)}:
        i = next(i for i, v in enumerate(values) if type(v) not in (int, float, type(None)))
        raise InputError(
            f"{source}: {key}[{i}] is {show_value(values[i])}; expected a number of bytes/s"
        )
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:  # a whole number with more than 308 digits: refused as infinite
        largest = sys.float_info.max
        return np.array([v if v is None or abs(v) <= largest else np.inf for v in values], float)


def _check_rates(
    array: Floats, where: NDArray[np.bool_], found: Any, key: str, source: str
) -> None:
    """Refuse rates that are not positive and finite, at the places `where`."""
    wrong = where & ~(np.isfinite(array) & (array > 0))
    if wrong.any():
        i = int(np.argmax(wrong))
        advice = "; write null where there is no direct link" if "between" in key else ""
        raise InputError(
            f"{source}: {key}[{i}] is {show_value(found[i])}; expected a positive, finite number of"
            f" bytes per second{advice}"
        )


def _describe(values: Any) -> str:
    if isinstance(values, list):
        return f"has {len(values)} entries"
    return f"is {show_value(values)}"


# -------------------------------------------------------------------------------- sampled fleets


def sample_fleet(section: FleetSection, seeds: Seeds) -> Fleet:
    """A fleet drawn as the paper draws its own; the same section and seed give the same fleet."""
    count = section.clients
    low, high = section.rates
    return Fleet(
        tuple(f"client-{n:0{len(str(count))}d}" for n in range(1, count + 1)),
        _frozen(_sample_throughput(section, seeds)),
        _frozen(np.full(count, section.examples, dtype=np.int64)),
        section.server,
        _frozen(seeds.stream("fleet", "to_server").uniform(low, high, count)),
        _sample_links(section, seeds.stream("fleet", "links")),
    )


def _sample_throughput(section: FleetSection, seeds: Seeds) -> Floats:
    stream = seeds.stream("fleet", "throughput")
    if section.throughput is not None:
        return stream.uniform(*section.throughput, section.clients)
    throughput = np.full(section.clients, section.weak)
    strong = round(section.strong_fraction * section.clients)
    throughput[stream.permutation(section.clients)[:strong]] *= section.gamma
    return throughput


def _sample_links(section: FleetSection, stream: np.random.Generator) -> Links:
    low, high = section.rates
    if section.links == "access":
        return Access(_frozen(stream.uniform(low, high, section.clients)))
    matrix = stream.uniform(low, high, (section.clients, section.clients))
    for i in range(section.clients):  # row by row: a fleet of 10,000 needs no second matrix
        matrix[i + 1 :, i] = matrix[i, i + 1 :]
        matrix[i, i] = 0.0
    return Between(_frozen(matrix))


def build_fleet(section: FleetSection, seeds: Seeds) -> Fleet:
    """The fleet that a scenario asks for: read from its file, or sampled."""
    return sample_fleet(section, seeds) if section.file is None else read_fleet(section.file)
