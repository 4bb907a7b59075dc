"""The hours of a fleet plan: who runs when, what is bought under which line, and times of the day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planner import numbers
from planner.explain.problem_values import hourly_rps
from planner.schema.fleet_plan import SupplyTaken
from planner.schema.plan import Plan
from planner.schema.pool import Pool
from planner.schema.supply import HOURS_PER_DAY

_HOUR_S = 3600
_MINUTE_S = 60
_THREE_DIGITS = 100


def has_hours(plan: Plan) -> bool:
    """The plan changes with the hour: it has more than one period."""
    return len(plan.periods) > 1


def replicas_by_hour(plan: Plan, pool: Pool) -> tuple[int, ...]:
    """Replicas of a pool in every hour; of a plan without hours its one number."""
    if not plan.periods:
        return (pool.replicas,)
    return tuple(period.replicas.get(pool.id, 0) for period in plan.periods)


def mean(values: Sequence[float]) -> float:
    """Their mean; 0 where there are none."""
    return sum(values) / len(values) if values else 0.0


def running_gpus(plan: Plan, pools: Sequence[Pool]) -> int:
    """GPUs that the replicas of pools take, the most of any hour."""
    counts = [replicas_by_hour(plan, pool) for pool in pools]
    sizes = [pool.gpus_per_replica for pool in pools]
    hours = range(max(len(plan.periods), 1))
    return max(sum(n[t] * size for n, size in zip(counts, sizes, strict=True)) for t in hours)


@dataclass(frozen=True)
class BoughtLine:
    """What is bought of one line of the supply."""

    line: str
    gpu: str
    term: str
    place: str
    """Provider, region and zone, as far as they are stated."""
    gpus: tuple[int, ...]
    """By hour."""
    usd: float
    """In all hours together."""

    @property
    def usd_per_gpu_h(self) -> float:
        """Price."""
        return self.usd / sum(self.gpus)


def bought_lines(plan: Plan) -> tuple[BoughtLine, ...]:
    """Lines of which anything is bought, by name."""
    hours = max(len(plan.periods), 1)
    gpus: dict[str, list[int]] = {}
    usd: dict[str, float] = {}
    first: dict[str, SupplyTaken] = {}
    for item in plan.supply:
        first.setdefault(item.line, item)
        counts = gpus.setdefault(item.line, [0] * hours)
        if item.gpus and 0 <= item.period < hours:
            counts[item.period] += item.gpus
            usd[item.line] = usd.get(item.line, 0.0) + item.usd
    return tuple(
        BoughtLine(
            line=name,
            gpu=item.gpu,
            term=item.term,
            place="/".join(part for part in (item.provider, item.region, item.zone) if part),
            gpus=tuple(gpus[name]),
            usd=usd.get(name, 0.0),
        )
        for name, item in sorted(first.items())
        if any(gpus[name])
    )


def gpu_h_price(plan: Plan, pool: Pool) -> float | None:
    """USD for one paid GPU-hour of the pool's GPU type at its site; None where no line says so."""
    lines = [line for line in bought_lines(plan) if line.gpu == pool.gpu]
    near = [line for line in lines if line.place == (pool.site or "")]
    paid = [(line.usd, sum(line.gpus)) for line in near or lines]
    gpu_h = sum(gpus for _, gpus in paid)
    return sum(usd for usd, _ in paid) / gpu_h if gpu_h else None


def runs(values: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Equal neighbors together: first hour, last hour, value."""
    start = 0
    for hour in range(1, len(values) + 1):
        if hour == len(values) or values[hour] != values[start]:
            yield start, hour - 1, values[start]
            start = hour


def clock(at_s: float, periods: int) -> str:
    """``05:50``; of more than a day ``day 2, 05:50``.

    The hours repeat: what lies before the first hour is late in the last.
    """
    wrapped_s = round(at_s) % (max(periods, 1) * _HOUR_S)
    day, rest_s = divmod(wrapped_s, HOURS_PER_DAY * _HOUR_S)
    words = f"{rest_s // _HOUR_S:02d}:{rest_s % _HOUR_S // _MINUTE_S:02d}"
    seconds = rest_s % _MINUTE_S
    words += f":{seconds:02d}" if seconds else ""
    return f"day {day + 1}, {words}" if periods > HOURS_PER_DAY else words


def spread(values: Sequence[int], noun: str = "", of: str = "") -> str:
    """``2 to 6 (3.5 on average)``; ``4`` where all are the same; ``noun`` or ``of`` follow the counts."""
    least, most = min(values, default=0), max(values, default=0)
    counts = numbers.between(least, most)
    counts = numbers.counted(counts, noun) if noun else f"{counts}{of}"
    return counts if least == most else f"{counts} ({_short(mean(values))} on average)"


def busiest_hour(plan: Plan, workload: str) -> int:
    """The hour in which most is asked of a workload; where nobody says, in which its pools carry most."""
    hours = len(plan.periods)
    stated = hourly_rps(plan, workload)
    if len(stated) != hours:
        pools = [pool for pool in plan.pools if pool.workload == workload]
        counts = [(pool.capacity_rps, replicas_by_hour(plan, pool)) for pool in pools]
        stated = tuple(sum(rate * n[t] for rate, n in counts) for t in range(hours))
    return max(range(hours), key=lambda t: (stated[t], -t), default=0)


def at_hour(plan: Plan, pools: Sequence[Pool], hour: int) -> list[Pool]:
    """Pools with the replicas that they have in one hour; those with none are left out."""
    if not has_hours(plan):
        return list(pools)
    counted = [(pool, plan.periods[hour].replicas.get(pool.id, 0)) for pool in pools]
    return [pool.model_copy(update={"replicas": count}) for pool, count in counted if count]


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= _THREE_DIGITS else f"{value:.3g}"
