"""Variants of schemes that are compared with each other, each under a name of its own.

`tiercut compare` knows contenders by the names of their schemes. A variant trains as its scheme
does; which cut, share of aggregators or fleet it gets is said by the study that it is part of.
"""

from __future__ import annotations

from dataclasses import replace

from tiercut.schemes import Scheme, aa_hsfl_ll, dtfl, locsfl


def _called(scheme: Scheme, name: str, title: str, solver: str | None = None) -> Scheme:
    cost = replace(scheme.cost, name=name, title=title)
    return replace(scheme, cost=cost, solver=solver or scheme.solver)


DTFL_CONTENDED = _called(dtfl.SCHEME, "dtfl-contended", "DTFL, contended", "dtfl-contended")
AA_BEST = _called(aa_hsfl_ll.SCHEME, "aa-best", "AA HSFL-ll, best")

CUT_2 = _called(locsfl.SCHEME, "locsfl-v2", "v = 2")
CUT_3 = _called(locsfl.SCHEME, "locsfl-v3", "v = 3")
CUT_4 = _called(locsfl.SCHEME, "locsfl-v4", "v = 4")
CUT_5 = _called(locsfl.SCHEME, "locsfl-v5", "v = 5")
CUT_8 = _called(locsfl.SCHEME, "locsfl-v8", "v = 8")

LAMBDA_10 = _called(aa_hsfl_ll.SCHEME, "aa-lambda-10", "lambda = 0.1")
LAMBDA_25 = _called(aa_hsfl_ll.SCHEME, "aa-lambda-25", "lambda = 0.25")
LAMBDA_30 = _called(aa_hsfl_ll.SCHEME, "aa-lambda-30", "lambda = 0.3")
LAMBDA_50 = _called(aa_hsfl_ll.SCHEME, "aa-lambda-50", "lambda = 0.5")
LAMBDA_80 = _called(aa_hsfl_ll.SCHEME, "aa-lambda-80", "lambda = 0.8")

GAMMA_2 = _called(aa_hsfl_ll.SCHEME, "aa-gamma-2", "gamma = 2")
GAMMA_7 = _called(aa_hsfl_ll.SCHEME, "aa-gamma-7.5", "gamma = 7.5")
GAMMA_15 = _called(aa_hsfl_ll.SCHEME, "aa-gamma-15", "gamma = 15")
