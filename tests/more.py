"""How many random instances a property looks at: few in the suite, many under `make judges`."""

import os

TIMES = int(os.environ.get("PLANNER_MORE", "1"))
"""`make judges` sets it: so many times as many, and others than those of the suite."""


def seeds(count, start=0):
    """The seeds of a property."""
    return (
        range(start, start + count) if TIMES == 1 else range(start + 10_000, start + 10_000 + TIMES * count)
    )
