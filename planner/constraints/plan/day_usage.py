"""What a plan takes of the limits on its day, without a solver: layouts, changes, hours and places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from planner.schema.choice import Option
from planner.schema.fleet import FleetProblem, PeriodChoice
from planner.schema.limit_rows import DayRow
from planner.schema.supply_lines import Site

Layout = tuple[str, str, str]
"""Workload, role and configuration."""


class DayUsage:
    """Of one plan."""

    def __init__(self, question: FleetProblem, periods: Sequence[PeriodChoice]) -> None:
        """Which layouts are in use in every hour, and where."""
        options = question.options_by_id
        self.workloads = sorted({demand.workload for demand in question.demands})
        self._pools: set[tuple[str, str, Site]] = set()
        self._hours: list[frozenset[Layout]] = []
        for period in periods:
            used = [(options[name], site) for (name, site), count in period.counts.items() if count]
            self._hours.append(frozenset(layout(option) for option, _ in used))
            self._pools |= {(option.workload, option.id, site) for option, site in used}

    def of(self, row: DayRow) -> int:
        """What the row must allow at least; of hours the life of the shortest-lived layout."""
        mine = [name for name in self.workloads if row.of(name)]
        found = [self._count(row, name) for name in mine]
        if row.counts == "hours":
            return min(found, default=len(self._hours))
        return max(found, default=0) if row.each else sum(found)

    def breaks(self, row: DayRow) -> bool:
        """The plan does not keep the row; a layout that lives all day lives long enough."""
        found = self.of(row)
        if row.counts == "hours":
            return found < min(row.most, len(self._hours))
        return found > row.most

    def _count(self, row: DayRow, workload: str) -> int:
        hours = [frozenset(one for one in hour if one[0] == workload) for hour in self._hours]
        if row.counts == "changes":
            return sum(hour != hours[t - 1] for t, hour in enumerate(hours))
        if row.counts == "hours":
            return shortest(hours)
        mine = [(option, site) for name, option, site in self._pools if name == workload]
        if row.counts == "pools":
            return len({(option, site.place) for option, site in mine})
        if row.counts == "places":
            named = dict(row.sites)
            return len({named[site] for _, site in mine if site in named})
        roles = {role: len({one for one in frozenset().union(*hours) if one[1] == role})
                 for role in ("serve", "prefill", "decode")}  # fmt: skip
        return roles["serve"] + max(roles["prefill"], roles["decode"])


def layout(option: Option) -> Layout:
    """What counts as one layout, wherever it stands."""
    return (option.workload, option.role, option.anywhere)


def shortest(hours: Sequence[frozenset[Layout]]) -> int:
    """Hours in a row, around the day, of the layout that is in use for the shortest time."""
    count, found = len(hours), len(hours)
    for one in frozenset().union(*hours):
        used = [one in hour for hour in hours]
        for start in range(count):
            if used[start] and not used[start - 1]:
                life = next((n for n in range(1, count) if not used[(start + n) % count]), count)
                found = min(found, life)
    return found


def day_usage(question: FleetProblem, periods: Sequence[PeriodChoice]) -> Mapping[str, int]:
    """By id of the limits on the day."""
    usage = DayUsage(question, periods)
    return {row.id: usage.of(row) for row in question.limits.day}


def broken_day(question: FleetProblem, periods: Sequence[PeriodChoice]) -> Iterable[str]:
    """Limits on the day that the plan breaks, in words."""
    usage = DayUsage(question, periods)
    for row in question.limits.day:
        if usage.breaks(row):
            yield f"{row.id}: {usage.of(row)} of {row.most}"
