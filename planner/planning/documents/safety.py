"""The stack of safety: the bare need of a plan's layouts, and what each layer of safety adds to it.

Only the chosen layouts are sized again. Each of them keeps its share of the requests, so a step may need
more than the optimum at that step does (`planner.app.safety` finds it).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.planning.documents.pool_document import PoolCase
from planner.planning.documents.pools import FleetPool
from planner.planning.documents.resizing import Layout, capacity_ratios, layouts
from planner.planning.formulation.fleet_case import FleetCase
from planner.planning.workload.resized import Sizing
from planner.schema.catalog import Calibration
from planner.schema.fleet import FleetChoice
from planner.schema.safety import SafetyName, SafetyShare, SafetyStep

MEDIAN = 0.5
"""Confidence of a fleet without a margin for the errors of the model."""
_NONE = Fraction(0)
_SIZINGS: Mapping[SafetyName, Sizing] = {
    "confidence": Sizing(headroom=False),
    "percentiles": Sizing(MEDIAN, headroom=False),
    "means": Sizing(MEDIAN, by_mean=True, headroom=False),
}
"""The steps without headroom, from the plan down."""


@dataclass(frozen=True, eq=False)
class _Replicas:
    """Replicas of every layout by period, at one step."""

    step: SafetyName
    counts: Mapping[str, tuple[int, ...]]


def safety_steps(
    case: FleetCase,
    choice: FleetChoice,
    pools: Sequence[FleetPool],
    cases: Sequence[PoolCase],
    calibration: Calibration,
) -> tuple[SafetyStep, ...]:
    """The steps from the bare need to the plan; none for tables of measured workers.

    A layer that does not ask for more leaves the numbers of the step before: what carries the demand with
    it also does so without it.

    Args:
        case: the question.
        choice: its answer.
        pools: of the answer.
        cases: what is behind each pool.
        calibration: spreads of step times.
    """
    if case.formulation is None or not pools:
        return ()
    mine = layouts(case, choice, pools, cases)
    ratios = {
        step: capacity_ratios(case, pools, cases, sizing, calibration) for step, sizing in _SIZINGS.items()
    }
    plan = {name: layout.counts for name, layout in mine.items()}
    needs: list[tuple[SafetyName, dict[str, tuple[int, ...]]]] = [
        ("redundancy", plan),
        # Where nothing is spared all replicas carry demand.
        ("headroom", {n: one.needed() if one.spared else one.counts for n, one in mine.items()}),
    ]
    largest = dict.fromkeys(mine, 0.0)
    for step, ratio in ratios.items():
        largest = {n: max(ratio[n], largest[n]) for n in mine}
        needs.append((step, {n: one.needed(largest[n], headroom=False) for n, one in mine.items()}))
    steps: list[_Replicas] = []
    for name, counts in needs:
        above = steps[-1].counts if steps else plan
        least = {n: tuple(map(min, counts[n], above[n])) for n in counts}
        steps.append(_Replicas(name, least))
    found = [_step(case, choice, mine, step) for step in reversed(steps)]
    return (*found, _purchase(case, choice, pools, mine))


def _step(case: FleetCase, choice: FleetChoice, mine: Mapping[str, Layout], step: _Replicas) -> SafetyStep:
    """Replicas as GPUs and money; what outside suppliers are paid belongs to every step."""
    api = _api_usd_per_h(case, choice)
    every = [(layout, step.counts[name]) for name, layout in mine.items()]
    shares = {}
    for name in _several(case):
        own = [(layout, counts) for layout, counts in every if layout.workload == name]
        shares[name] = SafetyShare(gpus=_gpus(own), cost_usd_per_hour=float(_usd_per_h(own) + api[name]))
    return SafetyStep(
        step=step.step,
        gpus=_gpus(every),
        cost_usd_per_hour=float(_usd_per_h(every) + sum(api.values(), _NONE)),
        by_workload=shares,
    )


def _several(case: FleetCase) -> tuple[str, ...]:
    """The workloads, where there is more than one."""
    names = tuple(workload.name for workload in case.problem.workloads)
    return names if len(names) > 1 else ()


def _gpus(counted: Sequence[tuple[Layout, Sequence[int]]]) -> int:
    """GPUs of the replicas: of each type the most of any period."""
    by_type: dict[str, list[Fraction]] = {}
    for layout, counts in counted:
        before = by_type.setdefault(layout.gpu, [_NONE] * len(counts))
        by_type[layout.gpu] = [
            gpus + layout.own_gpus * count for gpus, count in zip(before, counts, strict=True)
        ]
    return sum(math.ceil(max(gpus)) for gpus in by_type.values())


def _usd_per_h(counted: Sequence[tuple[Layout, Sequence[int]]]) -> Fraction:
    """Their cost, on average over the periods."""
    each = (layout.usd_per_replica_h * Fraction(sum(counts), len(counts)) for layout, counts in counted)
    return sum(each, _NONE)


def _api_usd_per_h(case: FleetCase, choice: FleetChoice) -> dict[str, Fraction]:
    """What outside suppliers are paid, by workload, on average over the periods."""
    question = case.question
    prices = {api.id: api for api in question.apis}
    buckets = {demand.pool: demand.buckets for demand in question.demands}
    paid: dict[str, Fraction] = defaultdict(Fraction)
    for t, period in enumerate(choice.periods):
        for share in period.shares:
            # What a supplier takes of prefill it takes of decode too, and is paid once.
            if share.option in prices and share.role != "decode":
                bucket = buckets[share.workload, share.role].index(share.bucket)
                level = period.levels.get(share.workload, Fraction(1))
                paid[share.workload] += prices[share.option].usd_per_h[t][bucket] * share.share * level
    return defaultdict(Fraction, {name: usd / question.periods for name, usd in paid.items()})


def _purchase(
    case: FleetCase, choice: FleetChoice, pools: Sequence[FleetPool], mine: Mapping[str, Layout]
) -> SafetyStep:
    """The plan."""
    api = _api_usd_per_h(case, choice)
    shares = {}
    for name in _several(case):
        hosts = {layout.host for layout in mine.values() if layout.workload == name}
        shared = any(layout.host in hosts and layout.workload != name for layout in mine.values())
        usd = sum((pool.usd_per_h for pool in pools if pool.option.workload == name), api[name])
        gpus = None if shared else _bought_gpus(case, choice, hosts)
        shares[name] = SafetyShare(gpus=gpus, cost_usd_per_hour=float(usd))
    return SafetyStep(
        step="purchase",
        gpus=_bought_gpus(case, choice, {host.id for host in case.question.hosts}),
        cost_usd_per_hour=float(choice.cost_usd / case.question.periods),
        by_workload=shares,
    )


def _bought_gpus(case: FleetCase, choice: FleetChoice, hosts: Collection[str]) -> int:
    """GPUs bought of some machines, idle ones included: of each type the most of any period."""
    most: dict[str, int] = defaultdict(int)
    for period in choice.periods:
        bought: dict[str, int] = defaultdict(int)
        for line in case.question.lines:
            if line.host in hosts:
                bought[line.gpu] += period.bought.get(line.id, 0)
        for gpu, count in bought.items():
            most[gpu] = max(most[gpu], count)
    return sum(most.values())
