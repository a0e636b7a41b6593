"""HSFL-ll: the training of AA HSFL-ll, with h, v and lambda fixed instead of planned."""

from dataclasses import replace

from tiercut.cost import scheme_named
from tiercut.schemes import aa_hsfl_ll

SCHEME = replace(aa_hsfl_ll.SCHEME, cost=scheme_named("hsfl-ll"), solver="hsfl-ll")
