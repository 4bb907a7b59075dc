"""Hours of a plan on a clock: runs of hours with the same number of replicas, of a day or of a week.

Hour 0 is midnight, of a week that on Monday.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

DAY_H = 24
WEEK_H = 7 * DAY_H


@dataclass(frozen=True)
class HourRun:
    """Hours in a row with the same number of replicas."""

    first: int
    end: int
    """The hour after the last one."""
    replicas: int


@dataclass(frozen=True)
class DayHours:
    """All hours of a day or a week."""

    period: Literal["day", "week"]
    runs: tuple[HourRun, ...]


def day_hours(replicas: Sequence[int]) -> DayHours | None:
    """Replicas by hour as runs; None where the hours repeat in no day and no week."""
    if DAY_H % len(replicas) == 0:
        return DayHours("day", _runs(list(replicas) * (DAY_H // len(replicas))))
    if WEEK_H % len(replicas) == 0:
        return DayHours("week", _runs(list(replicas) * (WEEK_H // len(replicas))))
    return None


def _runs(replicas: Sequence[int]) -> tuple[HourRun, ...]:
    found = []
    for count, hours in itertools.groupby(enumerate(replicas), key=lambda pair: pair[1]):
        listed = [hour for hour, _ in hours]
        found.append(HourRun(listed[0], listed[-1] + 1, count))
    return tuple(found)
