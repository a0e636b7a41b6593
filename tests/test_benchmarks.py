"""The benchmarks run; what they say is for people to read."""

import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_quick_benchmark_runs_and_finds_what_must_not_change():
    command = [sys.executable, "benchmarks/speed/run.py", "--quick"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "without_torch True" in result.stdout
    assert "paper's cuts, everything: problems 4" in result.stdout


def test_runs_repeat_beside_others():
    command = "benchmarks/speed/repeat.py scenarios/demo.toml --rounds 1 --times 2 --others 1"
    result = subprocess.run(
        [sys.executable, *command.split(), "--threads", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout == "beside 1 others 0 of 1 runs differ\n", result.stderr


def test_the_table_about_momentum_follows_from_its_runs():
    folder = ROOT / "benchmarks/momentum"
    spec = importlib.util.spec_from_file_location("momentum", folder / "run.py")
    benchmark = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = benchmark  # where dataclasses look themselves up
    spec.loader.exec_module(benchmark)
    assert benchmark.table() in (folder / "README.md").read_text()
