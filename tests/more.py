"""How many random instances a property looks at: few in the suite, many under `make judges`."""

import os

TIMES = int(os.environ.get("PLANNER_MORE", "1"))
"""`make judges` sets it: so many times as many, and others than those of the suite."""


LEAST = 8
"""Seeds of a property in the suite, where it has so many."""


def seeds(count, start=0):
    """The seeds of a property: half of ``count`` in the suite, and others under `make judges`."""
    if TIMES == 1:
        return range(start, start + max(count // 2, min(count, LEAST)))
    return range(start + 10_000, start + 10_000 + TIMES * count)
