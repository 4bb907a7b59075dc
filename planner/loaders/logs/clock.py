"""Times of log lines as seconds, whatever program wrote them; only differences mean something."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

_LEAP_YEAR = 2000
"""For times without a year: every day exists in it."""
_YEAR_S = 366 * 86_400.0
_HALF_YEAR_S = _YEAR_S / 2
_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: number for number, name in enumerate(_NAMES, start=1)}
_HEAD = 400
"""Characters of a line in which its time stands."""


class Clock:
    """The times of one log. All come from patterns of one kind, with a year or without."""

    def __init__(self, patterns: Sequence[re.Pattern[str]]) -> None:
        """Patterns in the order in which they are tried."""
        self._patterns = list(patterns)
        self._kept: list[re.Pattern[str]] = []
        self._later_s = 0.0
        self.begun = False
        """Something of the log was read."""
        self.last_s: float | None = None
        """Of the newest line that had one."""

    def at(self, line: str) -> float | None:
        """The time of a line; of a line without one that of the line before."""
        for pattern in self._kept or self._patterns:
            found = pattern.search(line, 0, _HEAD)
            if found is None:
                continue
            time_s = _seconds(found)
            if time_s is None:
                continue
            if not self._kept:
                dated = "year" in pattern.groupindex
                same = [one for one in self._patterns if ("year" in one.groupindex) == dated]
                self._kept = [pattern, *(one for one in same if one is not pattern)]
            self.last_s = self._onward(time_s, "year" in pattern.groupindex)
            break
        return self.last_s

    def _onward(self, time_s: float, dated: bool) -> float:
        """A new year in a log without years is no way back."""
        if not dated and self.last_s is not None and time_s + self._later_s < self.last_s - _HALF_YEAR_S:
            self._later_s += _YEAR_S
        return time_s + (0.0 if dated else self._later_s)


def _seconds(found: re.Match[str]) -> float | None:
    part = found.groupdict()
    try:
        moment = datetime(
            int(part.get("year") or _LEAP_YEAR),
            _MONTHS.get(part["month"].lower()) or int(part["month"]),
            int(part["day"]),
            int(part["hour"]),
            int(part["minute"]),
            int(part["second"]),
        )
    except ValueError:
        return None
    whole = (moment - datetime(1970, 1, 1)).total_seconds()
    return whole + float(f"0.{part.get('fraction') or 0}")
