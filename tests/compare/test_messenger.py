"""What happens in a run can be told in another process."""

import pickle
from pathlib import Path

from tiercut.compare.messenger import Messenger
from tiercut.train.observer import Observer, Start

HAPPENINGS = {
    "on_warning": ("it is late",),
    "on_start": (Start(Path("run"), 0, 3, 2, {}, ()),),
    "on_replan": (2, "a new plan"),
    "on_restart": (2, "somebody left"),
    "on_epoch": (2, 1),
    "on_round": ("a record",),
    "on_end": (),
}


class Ear(Observer):
    """Remembers what it is told."""

    def __init__(self):
        self.heard = {}

    def __getattribute__(self, name):
        if name.startswith("on_"):
            return lambda *about: self.heard.update({name: about})
        return super().__getattribute__(name)


def test_all_that_an_observer_is_told_arrives():
    ear, letters = Ear(), []
    messenger = Messenger(letters.append)
    for name, about in HAPPENINGS.items():
        getattr(messenger, name)(*about)
    for letter in letters:
        pickle.loads(pickle.dumps(letter))(ear)
    assert ear.heard == HAPPENINGS
    assert {name for name in vars(Observer) if name.startswith("on_")} == set(HAPPENINGS)
