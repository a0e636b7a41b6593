"""Multihop SFL: SFL's training, with helpers that run the layers h+1..v of several clients."""

from tiercut.cost import scheme_named
from tiercut.schemes.scheme import AT_ROUND_END, Average, Over, Part, Scheme

SCHEME = Scheme(
    cost=scheme_named("multihop"),
    solver="multihop",
    averages=(Average(Part.SERVER, Over.ALL, "epoch"), *AT_ROUND_END),
)
