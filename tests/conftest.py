"""What holds for all tests: kernels run as Python where there is no GPU, and nothing is timed."""

import os
import signal

import torch
from hypothesis import settings

# Triton decides that when it is first imported.
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

# Programs that a shell starts in the background ignore Ctrl-C, which tests are about to send.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A machine that is busy with something else is slow, and no test fails for it.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
