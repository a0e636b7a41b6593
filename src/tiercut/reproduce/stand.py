"""Whether the runs of a study are all there, so that nothing has to be trained."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiercut.measure.manifest import Manifest, manifest_path
from tiercut.measure.results import has_rounds, read_results
from tiercut.reproduce.study import Study
from tiercut.scenario import Scenario


@dataclass(frozen=True, eq=False)
class Wanted:
    """A study with everything decided: what is trained, and from which seeds."""

    study: Study
    scenario: Scenario
    overrides: dict[str, dict[str, Any]]
    seeds: Sequence[int]

    def is_there(self, folder: Path) -> bool:
        """Whether a folder has all of it."""
        return (
            self.is_begun(folder)
            and self._is_of(read_results(folder).manifest)
            and all(
                has_rounds(folder, one.name, seed, self.scenario.training.rounds)
                for one in self.study.contenders
                for seed in self.seeds
            )
        )

    @staticmethod
    def is_begun(folder: Path) -> bool:
        """Whether a folder has anything."""
        return manifest_path(folder).exists()

    def _is_of(self, manifest: Manifest) -> bool:
        """Whether runs were made from the same, wherever and for however long that was."""
        made = manifest.scenario
        precision = {"precision": made.engine.precision}
        free = {
            "training": made.training.model_copy(update={"rounds": self.scenario.training.rounds}),
            "engine": self.scenario.engine.model_copy(update=precision),
        }
        same = made.model_copy(update=free) == self.scenario
        return same and manifest.overrides == json.loads(json.dumps(self.overrides))
