"""SFL (SplitFed V1): trained end to end through one cut; the server averages its copies."""

from tiercut.cost import scheme_named
from tiercut.schemes.scheme import AT_ROUND_END, Average, Over, Part, Scheme

SCHEME = Scheme(
    cost=scheme_named("sfl"),
    solver="sfl",
    averages=(Average(Part.SERVER, Over.ALL, "epoch"), *AT_ROUND_END),
)
