"""Plan without any file: build a fleet in Python, plan it, and print the certificate."""

import numpy as np

from tiercut.cost import Workload
from tiercut.fleet import Access, Fleet
from tiercut.models.profile import shipped_profile
from tiercut.plan.problem import Problem
from tiercut.plan.solve import solve
from tiercut.units import RATE, THROUGHPUT, parse, show_size, show_time

STRONG, WEAK = parse("35.2 GFLOP/s", THROUGHPUT), parse("4.8 GFLOP/s", THROUGHPUT)
WIFI = parse("20 Mbps", RATE)


def main() -> None:
    """Six strong and fourteen weak devices behind one access point train VGG-11."""
    fleet = Fleet(
        names=tuple(f"device-{n}" for n in range(20)),
        throughput=np.array([STRONG] * 6 + [WEAK] * 14),
        examples=np.full(20, 500),
        server_throughput=parse("200 GFLOP/s", THROUGHPUT),
        to_server=np.full(20, WIFI),
        links=Access(np.full(20, WIFI)),
    )
    work = Workload(shipped_profile("vgg11"), batch=32, epochs=3)
    plan = solve(Problem(fleet, work, cuts=(7, 8), model="network"))
    assert plan.lower_bound is not None  # the default solver always proves one
    assert plan.gap is not None
    h, v = plan.placement.aggregator_layers[0], plan.placement.cut_layers[0]
    print(f"h = {h}, v = {v}, {len(plan.placement.aggregators)} aggregators")
    print(f"a round takes {show_time(plan.seconds.round)}, moves {show_size(plan.traffic.total)}")
    print(f"no plan takes less than {show_time(plan.lower_bound)}; gap {plan.gap:.2%}")
    print(plan.binding)


if __name__ == "__main__":
    main()
