"""Planning starts in a blink: none of what it needs pulls in torch."""

import subprocess
import sys

import pytest

MODULES = (
    "tiercut",
    "tiercut.plan.solve",
    "tiercut.cost",
    "tiercut.fleet",
    "tiercut.scenario",
    "tiercut.models.profile",
)


@pytest.mark.parametrize("module", MODULES)
def test_importing_it_leaves_torch_out(module):
    script = f"import sys, {module}; print('torch' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


def test_every_solver_can_be_loaded_without_torch():
    script = (
        "import sys\n"
        "from tiercut.plan.solve import SOLVERS\n"
        "for entry in SOLVERS.values(): entry.load()\n"
        "print('torch' in sys.modules)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
