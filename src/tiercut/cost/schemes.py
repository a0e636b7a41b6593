"""What a scheme costs depends on four facts about it; everything else is training's business."""

from __future__ import annotations

from dataclasses import dataclass

from tiercut.errors import InputError, nearest


@dataclass(frozen=True)
class SchemeCost:
    """The facts about a scheme that its delay and traffic follow from."""

    name: str
    title: str
    local_loss: bool
    """Clients learn from a loss at the cut, so that nobody below it waits for the server."""
    three_tiers: bool
    """Aggregators run the layers between h and v for other clients."""
    one_model_per_group: bool = False
    """A group's models of layers h+1..v are averaged where they are, and travel as one."""
    cut_per_client: bool = False
    """Every client may have a cut layer of its own."""


SCHEMES = {
    scheme.name: scheme
    for scheme in (
        SchemeCost("sfl", "SFL", local_loss=False, three_tiers=False),
        SchemeCost("multihop", "Multihop SFL", local_loss=False, three_tiers=True),
        SchemeCost("locsfl", "LocSFL", local_loss=True, three_tiers=False),
        SchemeCost("dtfl", "DTFL", local_loss=True, three_tiers=False, cut_per_client=True),
        SchemeCost("hsfl-ll", "HSFL-ll", True, True, one_model_per_group=True),
        SchemeCost("aa-hsfl-ll", "AA HSFL-ll", True, True, one_model_per_group=True),
    )
}


def scheme_named(name: str) -> SchemeCost:
    """The scheme called `name`."""
    if name not in SCHEMES:
        raise InputError(
            f"there is no scheme {name!r}{nearest(name, SCHEMES)}; expected one of"
            f" {', '.join(SCHEMES)}"
        )
    return SCHEMES[name]
