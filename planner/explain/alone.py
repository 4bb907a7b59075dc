"""Replicas that nobody stands in for: their loss stops a workload."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from planner import numbers
from planner.explain.hours import replicas_by_hour
from planner.explain.phrases import listing
from planner.explain.problem_values import may_wait
from planner.schema.plan import Plan


def alone(plan: Plan) -> Iterator[str]:
    """A sentence by workload that one replica alone serves, in some role and some hour.

    Left out: work that may wait, and workloads that an outside supplier serves too.
    """
    helped = {supplier.workload for supplier in plan.api}
    counts: dict[str, dict[str, tuple[int, ...]]] = defaultdict(dict)
    for pool in plan.pools:
        mine = replicas_by_hour(plan, pool)
        before = counts[pool.workload].get(pool.role, (0,) * len(mine))
        counts[pool.workload][pool.role] = tuple(a + b for a, b in zip(before, mine, strict=True))
    for workload, roles in counts.items():
        single = {role: sum(count == 1 for count in found) for role, found in roles.items()}
        hours = max(single.values())
        if hours and workload not in helped and not may_wait(plan, workload):
            yield _sentence(workload, [role for role in single if single[role]], hours, len(plan.periods))


def _sentence(workload: str, roles: list[str], hours: int, periods: int) -> str:
    of_roles = "" if roles == ["serve"] else f" for {listing(roles)}"
    when = f" in {hours} of {numbers.count(periods, 'hour')}" if hours < periods else ""
    return (
        f"One replica alone: {workload} has a single replica{of_roles}{when}. Its loss stops {workload} "
        "until another one is up (redundancy: 1 keeps a spare)."
    )
