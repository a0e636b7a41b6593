"""Some cuts tried at once: every client at every cut is one more replica in the stack."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tiercut.cost import Placement
from tiercut.engines.build import find_executor, find_settings
from tiercut.engines.stacked import Stacked
from tiercut.engines.task import OnEpoch, everybody, quiet
from tiercut.probe.jury import Jury
from tiercut.probe.trial import Trial
from tiercut.scenario import EngineSection


def try_cuts(
    trial: Trial, cuts: Sequence[int], engine: EngineSection, on_epoch: OnEpoch = quiet
) -> dict[int, NDArray[np.float64]]:
    """Train, and measure the full models after every epoch: [epochs, clients] for each cut."""
    task, settings = trial.task(cuts), find_settings(engine)
    stacked = Stacked(task, settings, find_executor(engine.executor, settings, task))
    jury = Jury(task, trial.held_out, settings)
    accuracies = np.empty((len(cuts), trial.epochs, len(trial.clients)))

    def measure(done: int) -> None:
        by_cut = jury.accuracies(stacked.stack).reshape(len(cuts), len(trial.clients))
        accuracies[:, done - 1] = by_cut
        on_epoch(done)

    placement = Placement.two_tiers(np.repeat(cuts, len(trial.clients)))
    stacked.run_round(everybody(task, 0, placement), measure)
    return dict(zip(cuts, accuracies, strict=True))
