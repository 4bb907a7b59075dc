"""The replicas of a day at fewer places: which of them stand where, all workloads together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from planner.solver.mip.hours.hour_replicas import At, HourReplicas, Written, at_places
from planner.solver.mip.hours.pool_looks import Day
from planner.solver.mip.limits import Terms
from planner.solver.mip.mip import Model
from planner.solver.mip.pool_rows import Block
from planner.solver.mip.prepared import Prepared

_START_PART = 1e-3
"""Of a pool, what a replica counts that starts where its GPUs cost nothing."""

Alike = tuple[int, int]
"""Numbers of a pool of a workload, and of one of its options."""
Name = tuple[int, str, str]
"""A pool: number of the workload, option and place."""


def gathered(
    replicas: HourReplicas,
    days: Mapping[int, Day],
    allowed: Mapping[int, frozenset[At]],
    name: Mapping[tuple[int, At], Name],
    pool_usd: float,
) -> dict[int, Day] | None:
    """The same replicas of every option in every hour at other places; None where none are found.

        minimize  USD + pool_usd sum_p u_p      n_p,t <= N_o,t u_p      sum_(p of o) n_p,t = N_o,t

    with n the replicas of pool p in hour t, N those of its option o, and u 1 where a pool is used.

    Args:
        replicas: of the fleet.
        days: by workload, its hours now.
        allowed: by workload that is placed anew, where its replicas may stand.
        name: by workload and place, of its pool.
        pool_usd: what a pool counts, over all periods.
    """
    prepared = replicas.state.prepared
    others = [
        [day[period] for work, day in days.items() if work not in allowed]
        for period in range(prepared.periods)
    ]
    also = _held_replicas(prepared, days, name, pool_usd)
    found = replicas.day(allowed, others, 0, also)
    return None if found is None else {work: dict(enumerate(day)) for work, day in found.items()}


def _held_replicas(
    prepared: Prepared, days: Mapping[int, Day], name: Mapping[tuple[int, At], Name], pool_usd: float
) -> Written:
    """Rows that hold the replicas of every option, and what pools count."""

    def write(model: Model, blocks: Mapping[int, Sequence[Block]]) -> None:
        used: dict[Name, int] = {}
        for work, hours in blocks.items():
            before = hours[-1]
            for period, block in enumerate(hours):
                now = _options(prepared, work, at_places(days[work][period]))
                columns: dict[Alike, Terms] = defaultdict(list)
                for (_, pool, place), column in block.counts.items():
                    alike = pool, prepared.works[work].pools[pool].places[place].option
                    columns[alike].append((column, 1.0))
                    mine = name[work, (pool, place)]
                    if mine not in used:
                        used[mine] = model.column(0, 1, whole=True, cost=pool_usd)
                    model.row([(column, 1.0), (used[mine], -float(now[alike]))], upper=0.0)
                for alike, terms in columns.items():
                    model.row(terms, now[alike], now[alike])
                _few_starts(model, before, block, _START_PART * pool_usd)
                before = block

    return write


def _options(prepared: Prepared, work: int, counts: Mapping[At, int]) -> Counter[Alike]:
    """Replicas of each option in one hour, wherever they stand."""
    found: Counter[Alike] = Counter()
    for (pool, place), count in counts.items():
        found[pool, prepared.works[work].pools[pool].places[place].option] += count
    return found


def _few_starts(model: Model, before: Block, now: Block, usd: float) -> None:
    """Replicas that begin at a place after an hour, so that those stay which need not move."""
    had = {key[1:]: column for key, column in before.counts.items()}
    for (_, *at), column in now.counts.items():
        more = model.column(0, float("inf"), cost=usd)
        model.row([(more, 1.0), (column, -1.0), (had[at[0], at[1]], 1.0)], lower=0.0)
