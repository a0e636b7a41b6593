"""What holds for all tests: kernels run as Python where there is no GPU, and nothing is timed."""

import os
import signal
from collections import defaultdict
from functools import cache

import pytest
import torch
import typer.testing
from coverage import Coverage
from hypothesis import settings

# Triton decides that when it is first imported.
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

# Programs that a shell starts in the background ignore Ctrl-C, which tests are about to send.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A machine that is busy with something else is slow, and no test fails for it.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# To build all commands takes longer than most of them, and they are the same every time.
typer.testing._get_command = cache(typer.testing._get_command)

# pytest-cov counts lines before it knows that this process is one of several, and then anew. What
# began first is never asked, and would count wherever the second pauses.
if "PYTEST_XDIST_WORKER" in os.environ and (first := Coverage.current()):
    first.stop()


def pytest_collection_modifyitems(items):
    """Coverage counts a test with every value of its parameters, and not with all combinations.

    Those are tested as much as the others, and run the same lines: to count them again would make
    them take half as long again.
    """
    counted = defaultdict(set)
    for item in items:
        if hasattr(item, "callspec"):
            values = {(name, repr(value)) for name, value in item.callspec.params.items()}
            known = counted[item.parent, item.originalname]
            if values <= known:
                item.add_marker(pytest.mark.no_cover)
            known |= values
