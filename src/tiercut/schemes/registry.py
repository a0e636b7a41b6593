"""Schemes by name: the shipped ones, and a user's own as `package.module:SCHEME`."""

from __future__ import annotations

from typing import Final

from tiercut.errors import InputError, nearest
from tiercut.own import find_own
from tiercut.schemes import aa_hsfl_ll, dtfl, hsfl_ll, locsfl, multihop, sfl
from tiercut.schemes.scheme import Scheme

_MODULES = (sfl, multihop, locsfl, dtfl, hsfl_ll, aa_hsfl_ll)
SHIPPED: Final[dict[str, Scheme]] = {module.SCHEME.name: module.SCHEME for module in _MODULES}


def find_scheme(name: str) -> Scheme:
    """The scheme called `name`."""
    if ":" in name:
        found = find_own(name, "scheme", "my_schemes:SCHEME")
        if not isinstance(found, Scheme):
            raise InputError(
                f"{name} is a {type(found).__name__}; expected a tiercut.schemes.Scheme"
            )
        return found
    if name not in SHIPPED:
        raise InputError(
            f"there is no scheme {name!r}{nearest(name, SHIPPED)}; expected one of"
            f" {', '.join(SHIPPED)}, or one of your own written as package.module:SCHEME"
        )
    return SHIPPED[name]
