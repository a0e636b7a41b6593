"""The learning rates of the tuned figures: for each scheme the best of four.

Found by `tiercut tune` with one budget for all, as docs/reproducing.md says, and kept in
benchmarks/paper/rates-MODEL. Models that are not here have their scenario's rate for all schemes.
"""

from __future__ import annotations

RATES: dict[str, dict[str, float]] = {
    "alexnet": {
        "sfl": 1e-3,
        "multihop": 1e-3,
        "locsfl": 1e-3,
        "dtfl": 1e-3,
        "dtfl-contended": 1e-3,
        "aa-hsfl-ll": 1e-3,
    },
    "vgg11": {
        "sfl": 3e-4,
        "multihop": 3e-4,
        "locsfl": 3e-4,
        "dtfl": 3e-4,
        "dtfl-contended": 3e-4,
        "aa-hsfl-ll": 3e-4,
    },
}
"""By model and scheme."""
