"""Training while devices and the server are killed, stopped and cut off.

    python benchmarks/net/faults.py            200 faults, some ten minutes; faults.md beside this
    python benchmarks/net/faults.py --quick    a few, nothing written

The campaign itself is tests/net/campaign.py, of which the gate runs a small one.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from tests.net.campaign import main  # noqa: E402 - it is in no package that is installed

if __name__ == "__main__":
    quick = "--quick" in sys.argv[1:]
    small = ["--faults", "10", "--devices", "3"]
    main(small if quick else ["--faults", "200", "--seed", "0", "-o", str(HERE / "faults.md")])
