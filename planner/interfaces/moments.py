"""Moments as people say them: a clock time, a date, how long ago."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from planner.interfaces.options import Checks

EXPECTED = "14:00, 2026-11-23, 2026-11-23T14:00, 2h (ago) or now"
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)")
_AGO = re.compile(r"(\d+)(s|m|min|h|d|w)")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}


def moment_s(text: str, now: datetime) -> float | None:
    """Seconds since 1970 of a moment in local time, or in the zone that it names; None: no moment.

    Args:
        text: such as in ``EXPECTED``; a clock time is the last one that has passed.
        now: the present, with its zone.
    """
    word = text.strip()
    if word == "now":
        return now.timestamp()
    ago = _AGO.fullmatch(word)
    if ago is not None:
        return now.timestamp() - int(ago[1]) * _SECONDS[ago[2]]
    clock = _CLOCK.fullmatch(word)
    try:
        if clock is not None:
            at = now.replace(hour=int(clock[1]), minute=int(clock[2]), second=0, microsecond=0)
            return (at if at <= now else at - timedelta(days=1)).timestamp()
        at = datetime.fromisoformat(word)
        return (at if at.tzinfo is not None else at.replace(tzinfo=now.tzinfo)).timestamp()
    except (ValueError, OverflowError):
        return None


def window_s(checks: Checks, flag: str, text: str, now: datetime) -> tuple[float, float] | None:
    """End and length of the window ``START/END``; a fault is noted."""
    start, mark, end = text.partition("/")
    first, last = moment_s(start, now), moment_s(end, now) if mark else now.timestamp()
    if first is None or last is None or last <= first or last > now.timestamp() + 1:
        checks.refuse(flag, f'"{text}"', f"START/END of the past, each {EXPECTED}")
        return None
    return last, last - first
