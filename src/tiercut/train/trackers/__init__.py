"""Experiment trackers as observers of the same record that rounds.jsonl holds.

Each is a package of its own that need not be there, and is imported when it is asked for.
"""

from tiercut.train.trackers.registry import TRACKERS, find_tracker

__all__ = ["TRACKERS", "find_tracker"]
