"""The chosen pools of a fleet sized again: replicas and money under other limits, margins or spares."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.planning.documents.chosen import chosen_of
from planner.planning.documents.pool_document import PoolCase
from planner.planning.documents.pools import FleetPool
from planner.planning.formulation.fleet_case import FleetCase
from planner.planning.workload.case import Case
from planner.planning.workload.resized import Need, Sizing, serving_ratios, side_ratio
from planner.schema.catalog import Calibration
from planner.schema.fleet import FleetChoice, Site
from planner.schema.hardware import Fleet

_NONE = Fraction(0)


@dataclass(frozen=True, eq=False)
class Layout:
    """The pools of one option, wherever they stand."""

    workload: str
    gpu: str
    host: str
    own_gpus: Fraction
    """Of one replica; what it leaves unused of whole servers is no part of them."""
    counts: tuple[int, ...]
    """Replicas of the plan by period."""
    busy: tuple[Fraction, ...]
    """Busy replicas by period, headroom included."""
    usd_per_replica_h: Fraction
    """Its own GPUs at what the plan pays for one there."""
    headroom: Fraction
    max_utilization: Fraction
    spared: bool
    """Spares or a least number of replicas are asked for."""

    def needed(self, ratio: float = 1.0, headroom: bool = True) -> tuple[int, ...]:
        """Replicas by period that carry the demand, without spares.

        Equation: ``ceil(busy / (room x ratio))``.

        Args:
            ratio: what one replica carries over what it carries in the plan.
            headroom: with room for more demand and the limit on utilization.
        """
        room = self.max_utilization if headroom else 1 + self.headroom
        return tuple(math.ceil(busy / room / Fraction(ratio)) for busy in self.busy)


def layouts(
    case: FleetCase, choice: FleetChoice, pools: Sequence[FleetPool], cases: Sequence[PoolCase]
) -> dict[str, Layout]:
    """The layouts of a plan by the id of their option.

    Args:
        case: the question.
        choice: its answer.
        pools: of the answer.
        cases: what is behind each pool.
    """
    by_option: dict[str, list[FleetPool]] = defaultdict(list)
    for pool in pools:
        by_option[pool.option.id].append(pool)
    own_gpus = {
        pool.option.id: Fraction(_gpus(item), pool.option.slices)
        for pool, item in zip(pools, cases, strict=True)
    }
    paid = _usd_per_gpu_h(case, choice)
    headrooms = {w.name: case.problem.fleet.headroom_of(w).capacity for w in case.problem.workloads}
    return {
        name: _layout(mine, own_gpus[name], Fraction(headrooms[mine[0].option.workload]), paid)
        for name, mine in by_option.items()
    }


def _layout(
    mine: Sequence[FleetPool],
    own_gpus: Fraction,
    headroom: Fraction,
    paid: Mapping[tuple[str, Site], Fraction],
) -> Layout:
    option, demand = mine[0].option, mine[0].demand
    counts = tuple(map(sum, zip(*(pool.counts for pool in mine), strict=True)))
    everywhere = [(paid[option.supply, pool.site], sum(pool.counts)) for pool in mine]
    spent = sum((price * count for price, count in everywhere), _NONE)
    return Layout(
        workload=option.workload,
        gpu=option.gpu,
        host=option.supply,
        own_gpus=own_gpus,
        counts=counts,
        busy=tuple(sum((pool.load(t) for pool in mine), _NONE) for t in range(len(counts))),
        usd_per_replica_h=own_gpus * spent / sum(counts),
        headroom=headroom,
        max_utilization=demand.max_utilization,
        spared=demand.spares.count > 0 or demand.min_replicas > 1,
    )


def _gpus(item: PoolCase) -> int:
    part = item.evaluated.evaluation
    return part.candidates.configurations[item.placed.configuration].gpus


def _usd_per_gpu_h(case: FleetCase, choice: FleetChoice) -> dict[tuple[str, Site], Fraction]:
    """By host and place: what the plan pays for an hour of a GPU, over all periods and lines there."""
    usd: dict[tuple[str, Site], Fraction] = defaultdict(Fraction)
    gpus: dict[tuple[str, Site], int] = defaultdict(int)
    for period in choice.periods:
        for line in case.question.lines:
            count = period.bought.get(line.id, 0)
            usd[line.host, line.site.place] += line.usd_per_gpu_h * count
            gpus[line.host, line.site.place] += count
    return {place: usd[place] / count for place, count in gpus.items() if count}


def capacity_ratios(
    case: FleetCase,
    pools: Sequence[FleetPool],
    cases: Sequence[PoolCase],
    sizing: Sizing,
    calibration: Calibration,
) -> dict[str, float]:
    """Rate of one replica sized so over its rate in the plan, by option; only chosen ones are evaluated."""
    assert case.formulation is not None, "only predicted replicas can be sized again"
    search, found = case.formulation.problem.search, dict[str, float]()
    needs = {name: need_of(one, case.problem.fleet, sizing) for name, one in case.formulation.cases.items()}
    serving: dict[int, list[tuple[str, PoolCase]]] = defaultdict(list)
    for pool, item in zip(pools, cases, strict=True):
        name, placed, need = pool.option.id, item.placed, needs[item.placed.workload]
        if placed.role == "serve":
            serving[id(item.evaluated)].append((name, item))
        elif name not in found:
            split = chosen_of(case.linked.get(pool.option.place, case.formulation)).disaggregated[
                placed.workload
            ]
            at = (placed.side, placed.configuration)
            found[name] = side_ratio(split, *at, sizing, need, item.evaluated.case, calibration)
    for members in serving.values():
        indices = [item.placed.configuration for _, item in members]
        part, need = members[0][1].evaluated, needs[members[0][1].placed.workload]
        ratios = serving_ratios(part, indices, sizing, need, calibration, search)
        found.update(zip((name for name, _ in members), ratios, strict=True))
    return found


def need_of(workload: Case, fleet: Fleet, sizing: Sizing) -> Need:
    """What the pool of a workload carries in the busiest hour, as the question was formulated."""
    if not sizing.headroom:
        return Need(float(workload.peak_rps))
    room = (1.0 + float(workload.headroom.capacity)) / float(fleet.max_utilization)
    return Need(float(workload.peak_rps) * room, workload.workload.min_replicas or fleet.min_replicas)
