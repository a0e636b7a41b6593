"""Choosing the layers h and v, the aggregators, and who serves whom.

problem       what is to be planned, and what the user fixed or forbade
plan          the answer, as the plan file
solve         the one call behind which all solvers stand
exact         the default: the best plan, with a lower bound that proves how good it is; it
              stands on sites, limits, relax, assign, integer and effort
paper         the paper's Algorithm 2, repaired; paper_literal: as printed
greedy_scan   every h, v and number of aggregators, with greedy assignment
greedy        the greedy assignment that these share; candidates: the fastest of many plans
brute         every plan there is; the judge in tests
lean          the fewest bytes of a round
rivals        how SFL, LocSFL, Multihop, DTFL and HSFL-ll would decide
fewest        fewer aggregators at almost the same delay
pareto        the frontier over delay, bytes and number of aggregators
replan        a new plan for a changed fleet, and what it gains
goal          the least time or bytes to a target accuracy instead of the fastest round
"""
