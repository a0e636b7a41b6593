"""MLflow: a run in the experiment `tiercut`, wherever MLFLOW_TRACKING_URI points."""

from __future__ import annotations

from typing import Any

from tiercut.train.identity import flatten
from tiercut.train.observer import Observer, Start
from tiercut.train.record import Record
from tiercut.train.trackers.metrics import metrics_of

EXPERIMENT = "tiercut"
TAG = "tiercut.id"
"""The tag by which a resumed run is found again."""


class Mlflow(Observer):
    """Logs the scenario as parameters, and every round's numbers."""

    def __init__(self, package: Any) -> None:
        self._package = package

    def on_start(self, start: Start) -> None:
        """See Observer."""
        mlflow, manifest = self._package, start.manifest
        experiment = mlflow.set_experiment(EXPERIMENT)
        found = mlflow.MlflowClient().search_runs(
            [experiment.experiment_id], f"tags.`{TAG}` = '{manifest['id']}'", max_results=1
        )
        if found:
            mlflow.start_run(run_id=found[0].info.run_id)
            return
        mlflow.start_run(run_name=start.folder.name, tags={TAG: manifest["id"]})
        parameters = flatten(manifest["scenario"]) | {"scheme": manifest["scheme"]}
        # MLflow keeps a parameter for ever, and the number of rounds may grow.
        del parameters["training.rounds"]
        mlflow.log_params(parameters)

    def on_round(self, record: Record) -> None:
        """See Observer."""
        self._package.log_metrics(metrics_of(record), step=record.round)

    def on_end(self) -> None:
        """See Observer."""
        self._package.end_run()
