"""A run over the network against the reference engine: the same rounds with the same devices."""

from dataclasses import dataclass, replace

import torch

from tests.net.test_faults import CLOSE, NAMES
from tiercut.engines.reference import Reference
from tiercut.engines.task import Round, quiet
from tiercut.net.engine import Networked
from tiercut.train.observer import Observer
from tiercut.train.setting import build_setting

SCHEME = "aa-hsfl-ll"
WEAK, STRONG = NAMES[1], NAMES[0]
"""One who is served by another, and one who serves."""


@dataclass(frozen=True)
class Noted:
    """A round that was trained to its end: as it was planned, what it began with and came to."""

    plan: Round
    before: dict
    after: dict


def note_rounds(monkeypatch):
    """The rounds that are trained from now on."""
    noted, run_round = [], Networked.run_round

    def run_and_note(self, plan, on_epoch=quiet):
        before = {place: value.clone() for place, value in self.common.to_state().items()}
        trained = run_round(self, plan, on_epoch)
        after = {place: value.clone() for place, value in self.common.to_state().items()}
        noted.append(Noted(plan, before, after))
        return trained

    monkeypatch.setattr(Networked, "run_round", run_and_note)
    return noted


def assert_as_replayed(work, rounds, absent=()):
    """Every round does what it does on the reference engine, without those (round, name) who were
    lost in it. Each is begun anew, for small differences grow from round to round."""
    task = build_setting(work, scheme=SCHEME).task
    for noted in rounds:
        reference = Reference(task)
        reference.common.load_state(noted.before)
        present = noted.plan.present.copy()
        for name in (name for number, name in absent if number == noted.plan.index):
            present[:, NAMES.index(name)] = False
        reference.run_round(replace(noted.plan, present=present))
        wanted = reference.common.to_state()
        assert wanted.keys() == noted.after.keys()
        for place, value in wanted.items():
            torch.testing.assert_close(noted.after[place], value, **CLOSE)


class After(Observer):
    """Does something after each round, before the next is planned."""

    def __init__(self, act):
        self._act = act

    def on_round(self, record):
        self._act()


class During(Observer):
    """Does something once, when the first epoch of a round is over at the server."""

    def __init__(self, act, number=1):
        self._acts = {number: act}

    def on_epoch(self, number, epochs):
        self._acts.pop(number, bool)()
