"""What tests of emulated networks ask of the machine: where it is not given, they are skipped."""

import pytest

from tiercut.net.emulate.obstacle import obstacle
from tiercut.net.emulate.throttle import throttle_obstacle


@pytest.fixture(scope="session")
def emulation():
    """Hosts can be emulated here, with independent links and with radios."""
    _skip_for(obstacle() or obstacle(shared=True))


@pytest.fixture(scope="session")
def throttling():
    """Processors can be throttled here."""
    _skip_for(throttle_obstacle())


def _skip_for(reason):
    if reason is not None:
        pytest.skip(reason)
