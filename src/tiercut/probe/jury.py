"""How good all replicas of a stack are: a judge per core, each with some of the replicas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tiercut.engines.cores import spread
from tiercut.engines.executor import Settings
from tiercut.engines.judge import Judge
from tiercut.engines.stack import Stack
from tiercut.engines.task import Examples, Task


class Jury:
    """Measures the full models of a task's clients, again and again."""

    def __init__(self, task: Task, examples: Examples, settings: Settings) -> None:
        on_cpu = settings.device.type == "cpu"
        count = min(settings.threads, len(task.clients)) if on_cpu else 1
        # A judge puts the weights it measures into its own model: two cores need two.
        alone = replace(settings, threads=1)
        self._judges = [Judge(task, examples, alone) for _ in range(count)]

    def accuracies(self, stack: Stack) -> NDArray[np.float64]:
        """Every client's accuracy, in the task's order."""
        accuracies = np.empty(len(stack.rows))

        def measure(judge: int) -> None:
            rows = range(judge, len(stack.rows), len(self._judges))
            scores = self._judges[judge].score_rows(stack.weights, rows)
            accuracies[stack.rows[rows]] = [score.accuracy for score in scores]

        spread(measure, range(len(self._judges)), len(self._judges))
        return accuracies
