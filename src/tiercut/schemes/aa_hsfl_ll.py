"""AA HSFL-ll: a local loss at v, groups that average h+1..v on their aggregator every epoch."""

from tiercut.cost import scheme_named
from tiercut.schemes.scheme import AT_ROUND_END, Average, Over, Part, Scheme

SCHEME = Scheme(
    cost=scheme_named("aa-hsfl-ll"),
    solver="exact",
    averages=(
        Average(Part.AGGREGATOR, Over.GROUP, "epoch"),
        Average(Part.SERVER, Over.ALL, "epoch"),
        *AT_ROUND_END,
    ),
)
