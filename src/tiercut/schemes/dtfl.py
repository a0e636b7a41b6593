"""DTFL: LocSFL with a cut layer for every client, chosen by tier scheduling."""

from tiercut.cost import scheme_named
from tiercut.schemes.scheme import AT_ROUND_END, Average, Over, Part, Scheme

SCHEME = Scheme(
    cost=scheme_named("dtfl"),
    solver="dtfl",
    averages=(Average(Part.SERVER, Over.ALL, "epoch"), *AT_ROUND_END),
)
