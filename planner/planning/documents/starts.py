"""What starts in an hour of a plan, and what each start costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.constraints.fleet_check import starts_usd
from planner.planning.documents.pools import FleetPool
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.fleet_plan import StartTaken

_HOUR_S = 3600


def starts_taken(
    problem: FleetProblem, choice: FleetChoice, pools: Sequence[FleetPool], period: int
) -> Iterator[StartTaken]:
    """The paid starts of a period: of replicas by pool, and of GPUs where a charge is stated for them.

    They sum to what starts cost in the period. The day is cyclic.
    """
    paid = starts_usd(problem, choice.periods, period)
    for pool in pools:
        usd = paid.get((pool.option.id, pool.site))
        if usd:
            more = pool.counts[period] - pool.counts[period - 1]
            lead_s = float(pool.option.start_h * _HOUR_S)
            yield StartTaken(what=pool.id, count=more, lead_s=lead_s, usd=float(usd))
    now, before = choice.periods[period].bought, choice.periods[period - 1].bought
    for start in problem.starts:
        more = sum(now.get(line, 0) - before.get(line, 0) for line in start.lines)
        if more > 0 and start.usd_per_gpu:
            yield StartTaken(what=", ".join(start.lines), count=more, usd=float(start.usd_per_gpu * more))
