"""Small comparisons that the tests share."""

from tests.train.instances import scenario
from tiercut.compare.check import check_comparison
from tiercut.compare.comparison import Comparison
from tiercut.compare.runs import run_comparison
from tiercut.measure.results import run_path


def comparison(specs=("sfl", "aa-hsfl-ll"), seeds=(0, 1), rounds=2, changes=None, **options):
    """Two schemes and two seeds of the tiny scenario; a run takes a fifth of a second."""
    changes = {"training": {"rounds": rounds}} if changes is None else changes
    return Comparison(scenario(**changes), tuple(specs), tuple(seeds), **options)


def carry_out(made, folder, **options):
    """Check a comparison and run it."""
    return run_comparison(made, folder, check_comparison(made, folder), **options)


def files(folder, made, name):
    """A file of every run, as bytes."""
    return {job: (run_path(folder, job.scheme, job.seed) / name).read_bytes() for job in made.jobs}
