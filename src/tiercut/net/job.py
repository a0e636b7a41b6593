"""The job that a server hands out, and the task that a device makes of it with its own data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tiercut.data.dataset import Dataset, Split
from tiercut.engines.optimiser import Optimiser
from tiercut.engines.task import Examples, Task, build_initial
from tiercut.errors import InputError
from tiercut.net.frames import Refused
from tiercut.net.messages import Job
from tiercut.scenario import Scenario
from tiercut.schemes import Part, Scheme, find_scheme
from tiercut.seeds import Seeds


def make_job(scenario: Scenario, scheme: Scheme, data: Dataset) -> Job:
    """What the devices are told of a scenario."""
    training = scenario.training
    return Job(
        model=scenario.model.name,
        input_shape=scenario.model.input_shape,
        classes=len(data.classes),
        scheme=scheme.name,
        aggregator_interval=training.aggregator_interval,
        server_interval=training.server_interval,
        optimiser=training.optimiser,
        rate=training.rate,
        momentum=training.momentum,
        weight_decay=training.weight_decay,
        batch=training.batch,
        epochs=training.epochs,
        portions=training.portions,
        seed=scenario.seed,
        head=training.head,
        wire=training.wire,
        server_share=training.server_share,
        augment=scenario.data.augment,
        mean=data.mean,
        std=data.std,
    )


def check_code(job: Job, model: str | None, scheme: str | None) -> None:
    """Run no code because a peer says so: what is not shipped must be named by this device too."""
    for what, asked, own in (("model", job.model, model), ("scheme", job.scheme, scheme)):
        if ":" in asked and asked != own:
            raise InputError(
                f"the server asks for the {what} {asked!r}, which is code of somebody's own; join"
                f" with --{what} {asked} if you have it and trust it"
            )


Load = Callable[[int, tuple[int, ...]], Split]
"""Reads a device's own samples, given the number of classes and a sample's shape."""


def make_task(job: Job, name: str, load: Load) -> Task:
    """What the device called `name` trains: the model of the job, on its own samples."""
    seeds = Seeds(job.seed)
    model = build_initial(job.model, seeds, classes=job.classes, input_shape=job.input_shape)
    own = load(job.classes, model.input_shape)
    if {len(job.mean), len(job.std)} != {model.input_shape[0]}:
        raise Refused("a job whose samples are normalised as if they had other channels")
    intervals = {Part.AGGREGATOR: job.aggregator_interval, Part.SERVER: job.server_interval}
    return Task(
        model=model,
        scheme=find_scheme(job.scheme).with_intervals(intervals),
        optimiser=Optimiser(job.optimiser, job.rate, job.momentum, job.weight_decay),
        examples=Examples(own.images, own.labels, job.mean, job.std),
        clients=(name,),
        shards=(np.arange(len(own)),),
        batch=job.batch,
        epochs=job.epochs,
        portions=job.portions,
        seeds=seeds,
        head=job.head,
        wire=job.wire,
        server_share=job.server_share,
        augment=job.augment,
    )
