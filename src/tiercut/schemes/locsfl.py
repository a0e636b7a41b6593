"""LocSFL: a local loss trains the client's layers, so that no gradient comes back."""

from tiercut.cost import scheme_named
from tiercut.schemes.scheme import AT_ROUND_END, Average, Over, Part, Scheme

SCHEME = Scheme(
    cost=scheme_named("locsfl"),
    solver="locsfl",
    averages=(Average(Part.SERVER, Over.ALL, "epoch"), *AT_ROUND_END),
)
