"""A fleet that nobody need measure, and a status as a server tells it."""

import numpy as np

from tiercut.documents import to_json, write_text
from tiercut.fleet import Between, Fleet
from tiercut.models.profile import shipped_profile
from tiercut.net.status import DeviceStatus, LastRound, Status
from tiercut.train.folder import RunFolder
from tiercut.train.record import Phases, RealRound, Traffic

NEAR, FAR = 1e9, 5e6
STRONG, WEAK = 4e8, 1e8


def in_pairs(throughput, examples):
    """Devices two of which are near each other: there the strong one serves the weak one."""
    count = len(throughput)
    pair = np.arange(count) // 2
    return Fleet(
        tuple(f"client-{n}" for n in range(1, count + 1)),
        throughput=np.array(throughput),
        examples=np.full(count, examples),
        server_throughput=1e10,
        to_server=np.full(count, 1e8),
        links=Between(np.where(pair[:, None] == pair, NEAR, FAR)),
    )


FLEET = in_pairs([STRONG, WEAK, WEAK, STRONG], 24)


def make_known(folder, fleet=FLEET):
    """A run's folder as if the fleet had been measured; a server that resumes there goes on."""
    run = RunFolder(folder)
    write_text(run.profile, to_json(shipped_profile("small").to_dict()))
    write_text(run.fleet, to_json(fleet.to_dict()))
    return folder


# -------------------------------------------------------------------------------------- a status

REAL = RealRound(
    attempts=2,
    predicted=Phases(download=1.0, training=8.0, upload=1.0, round=10.0),
    measured=Phases(download=1.5, training=9.0, upload=1.0, round=11.5),
    predicted_bytes=Traffic(between=1e6, server=2e6, weights=3e6),
    measured_bytes=Traffic(between=1e6, server=2e6, weights=3e6),
)


def device(name, **changes):
    """One that waits."""
    waiting = {
        "address": "10.0.0.5:7601",
        "version": "0.1.0",
        "joined": True,
        "examples": 1200,
        "silent": 1.6,
        "sent": 2_500_000,
        "received": 1_000_000,
        "at": "waiting",
        "reason": None,
        "role": None,
        "served_by": None,
        "serves": 0,
    }
    return DeviceStatus(name=name, **{**waiting, **changes})


GONE = {"address": None, "version": None, "joined": False, "examples": None, "silent": None}
DEVICES = (
    device("pi-1", at="training", role="aggregator", serves=1),
    device("pi-2", at="training", role="client", served_by="pi-1"),
    device("pi-3", at="lost", role="client", reason="an epoch took longer than 9.0 s"),
    device("pi-4", at="absent", **GONE, sent=0, received=0),
)


def status(**changes):
    """In the middle of a round."""
    now = {
        "tiercut": "0.1.0",
        "scenario": "field",
        "scheme": "aa-hsfl-ll",
        "state": "training",
        "expected": 4,
        "rounds": 40,
        "done": 11,
        "round": 12,
        "epochs": 3,
        "epoch": 1,
        "last": LastRound(round=11, accuracy=0.625, clients=4, lost=1, real=REAL),
        "devices": DEVICES,
        "trained": 5,
        "restarts": 2,
        "bytes": Traffic(between=5e6, server=1e7, weights=1.5e7),
        "losses": {"gone": 2, "late": 1},
        "refusals": {"caller": 7},
    }
    return Status(**{**now, **changes})
