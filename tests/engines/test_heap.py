"""Memory that threads free is not fetched from the system again."""

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys, threading
from tiercut.engines.heap import keep_freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

size = 40 * 2**20

def work():
    for _ in range(20):
        bytes([7]) * size

if "keep" in sys.argv:
    keep_freed_memory()
before = faults()
for _ in range(2):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
print(faults() - before)
"""


def faults(*arguments):
    """The pages fetched for 40 blocks of 40 MiB, one at a time."""
    command = [sys.executable, "-c", PROGRAM, *arguments]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="elsewhere nothing changes")
def test_a_freed_block_is_used_again():
    assert faults("keep") < faults() / 10
