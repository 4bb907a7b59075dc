"""Bounds on single columns that follow from the limits of the plan."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from planner.constraints.plan.registry import in_order, plan_rows
from planner.schema.choice import Option
from planner.schema.fleet import FleetProblem
from planner.schema.limit_rows import LimitRow, ReplicaWeight, Watts
from planner.schema.supply_lines import Line, Site


class Caps:
    """The most that the limits of one question leave to a line, a host or an option in any period."""

    def __init__(self, question: FleetProblem) -> None:
        """Of rows that hold in every period; those on the mean bound no single one."""
        self.question = question
        rows = [row for row in plan_rows(question) if row.every_period and row.part_of is None]
        self.of_gpus: Sequence[LimitRow] = [row for row in rows if row.of_gpus]
        self.of_replicas = [row for row in rows if row.replicas is not None]
        self.lines = {line.id: self._line(line) for line in question.lines}

    def _line(self, line: Line) -> Fraction | None:
        """GPUs of one line at most; None without a bound."""
        weights = ((row.gpus(line), row.most) for row in self.of_gpus if row.gpus is not None)
        return min((most / weight for weight, most in weights if weight), default=None)

    def gpus(self, host: str) -> Fraction | None:
        """GPUs of all lines of one host together at most; None without a bound."""
        lines = [line for line in self.question.lines if line.host == host]
        own = [self.lines[line.id] for line in lines]
        caps = [] if None in own else [sum((cap for cap in own if cap is not None), Fraction(0))]
        for row in self.of_gpus:
            least = min((row.gpus(line) for line in lines if row.gpus is not None), default=0)
            if least:
                caps.append(row.most / least)
        return min(caps, default=None)

    def replicas(self, option: Option, sites: Sequence[Site]) -> int | None:
        """Replicas of one option at most by the limits that count them; None without a bound."""
        found = []
        for row in self.of_replicas:
            least = min((row.replicas(option, site) for site in sites if row.replicas is not None), default=0)
            if least:
                found.append(math.floor(row.most / least))
        return min(found, default=None)


def posted(question: FleetProblem) -> list[LimitRow]:
    """The limits that need a row: shares, those on GPUs, on replicas, on money; each kind in its order."""

    def group(row: LimitRow) -> tuple[bool, bool, bool]:
        return (row.part_of is None, row.replicas is not None or row.money, row.money)

    rows = (row for row in in_order(plan_rows(question)) if not _bound_only(row, question.lines))
    return sorted(rows, key=group)


def _bound_only(row: LimitRow, lines: Sequence[Line]) -> bool:
    """The row is a bound of one line, so no row has to say it again."""
    if not row.of_gpus or not row.every_period or row.gpus is None:
        return False
    return sum(1 for line in lines if row.gpus(line)) <= 1


def replica_weights(question: FleetProblem) -> tuple[ReplicaWeight, ...]:
    """What limits and the objective count of replicas, each once."""
    weights = [row.replicas for row in question.limits.rows if row.replicas is not None]
    minimized = [Watts()] if question.limits.objective == "power" else []
    return tuple(dict.fromkeys([*weights, *minimized]))


def counted_weights(question: FleetProblem, options: Iterable[Option]) -> dict[str, tuple[Fraction, ...]]:
    """By option, what a replica counts by each weight and what its start costs, at every site."""
    weights: list[ReplicaWeight] = list(replica_weights(question))
    if question.pays_starts:
        weights.append(question.start_usd)
    return {
        option.id: tuple(
            Fraction(weight(option, site)) for weight in weights for site in question.sites_of(option)
        )
        for option in options
        if weights
    }
