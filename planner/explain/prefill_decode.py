"""What a plan would cost with one prefill or decode replica more or fewer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil

from planner import numbers
from planner.constraints.choice_check import Bill, bill
from planner.constraints.packing_check import fits
from planner.schema.apart import PrefillDecodeStep
from planner.schema.choice import Choice, ChoiceProblem, Option, PoolDemand

STEPS = ((1, -1), (1, 0), (-1, 1), (0, 1))
"""Replicas of prefill and decode: a step of the ratio at equal replicas, and one replica added."""


def prefill_decode_steps(problem: ChoiceProblem, choice: Choice) -> tuple[PrefillDecodeStep, ...]:
    """The steps of every workload that the plan serves apart; the largest option of each side is stepped.

    Workloads with several buckets are left out: what replicas carry then depends on how buckets are shared.
    """
    served = [
        demand.workload
        for demand in problem.demands
        if demand.role == "prefill" and len(demand.demand_rps) == 1 and demand.demand_rps[0] > 0
    ]
    return tuple(
        step
        for workload in served
        if choice.ways.get(workload, "disaggregated") == "disaggregated"
        for step in _of_workload(problem, choice, workload)
    )


def _of_workload(problem: ChoiceProblem, choice: Choice, workload: str) -> Iterator[PrefillDecodeStep]:
    sides = {role: _largest(problem, choice, workload, role) for role in ("prefill", "decode")}
    if any(option is None for option in sides.values()):
        return
    for prefill, decode in STEPS:
        counts = dict(choice.counts)
        for option, more in zip(sides.values(), (prefill, decode), strict=True):
            assert option is not None
            counts[option.id] = counts[option.id] + more
        yield _step(problem, choice, workload, (prefill, decode), counts)


def _step(
    problem: ChoiceProblem,
    choice: Choice,
    workload: str,
    moved: tuple[int, int],
    counts: Mapping[str, int],
) -> PrefillDecodeStep:
    ratio = [_size(problem, workload, role, counts) for role in ("prefill", "decode")]
    total = bill(problem, counts, _units(problem, counts))
    faults = [*_too_little(problem, workload, counts), *_too_much(problem, total)]
    dearer = total.cost_usd_per_h - choice.cost_usd_per_h
    words = [_moved(count, role) for count, role in zip(moved, ("prefill", "decode"), strict=True) if count]
    if faults:
        verdict = "; ".join(faults)
    else:
        sign = "+" if dearer >= 0 else "-"
        verdict = f"{numbers.usd(float(total.cost_usd_per_h))}/h ({sign}{numbers.usd(abs(float(dearer)))}/h)"
    return PrefillDecodeStep(
        workload=workload,
        prefill=moved[0],
        decode=moved[1],
        replicas=":".join(str(replicas) for replicas, _ in ratio),
        gpus=":".join(str(gpus) for _, gpus in ratio),
        feasible=not faults,
        cost_usd_per_hour=float(total.cost_usd_per_h) if all(n for n, _ in ratio) else None,
        text=f"{', '.join(words)}: {verdict}",
    )


def _moved(count: int, role: str) -> str:
    return f"{count:+d} {role}"


def _largest(problem: ChoiceProblem, choice: Choice, workload: str, role: str) -> Option | None:
    """The option with most replicas on one side; of equal ones the first by id."""
    used = [o for o in problem.options if o.pool == (workload, role) and choice.counts.get(o.id)]
    return min(used, key=lambda option: (-choice.counts[option.id], option.id), default=None)


def _size(problem: ChoiceProblem, workload: str, role: str, counts: Mapping[str, int]) -> tuple[int, int]:
    """Replicas and GPUs of one side."""
    mine = [(o, counts.get(o.id, 0)) for o in problem.options if o.pool == (workload, role)]
    return sum(n for _, n in mine), sum(o.gpus * n for o, n in mine)


def _too_little(problem: ChoiceProblem, workload: str, counts: Mapping[str, int]) -> Iterator[str]:
    """Sides that no longer carry their demand, spares lost."""
    for demand in problem.demands:
        if demand.workload != workload or demand.role == "serve":
            continue
        used = [(o, counts.get(o.id, 0)) for o in problem.options if o.pool == demand.pool]
        used = [(option, count) for option, count in used if count > 0]
        share = _carried(demand, used)
        if sum(count for _, count in used) < demand.min_replicas:
            yield f"{demand.role} needs {numbers.count(demand.min_replicas, 'replica')}"
        elif share < 1:
            spares = " after losses" if demand.spares.count else ""
            carried = numbers.share(float(share))
            yield f"{demand.role} carries {carried} of the demand with its headroom{spares}"


def _carried(demand: PoolDemand, used: Sequence[tuple[Option, int]]) -> Fraction:
    """What is carried of the demand when the fastest replicas are lost; of one bucket."""
    lost = demand.spares.count
    if demand.spares.kind == "per_option":
        left = [(option, max(count - lost, 0)) for option, count in used]
    else:
        left = []
        for option, count in sorted(used, key=lambda pair: -pair[0].rates_rps[0]):
            gone = min(lost, count)
            lost -= gone
            left.append((option, count - gone))
    rate = sum((option.rates_rps[0] * count for option, count in left), Fraction(0))
    return rate * demand.max_utilization / demand.demand_rps[0]


def _too_much(problem: ChoiceProblem, total: Bill) -> Iterator[str]:
    """Limits of the market that the replicas break."""
    limits = problem.limits
    for gpu, stock in limits.stock_gpus.items():
        if total.gpus.get(gpu, 0) > stock:
            yield f"{total.gpus[gpu]} of {stock} {gpu} in stock"
    if limits.max_gpus is not None and sum(total.gpus.values()) > limits.max_gpus:
        yield f"{sum(total.gpus.values()):,} of {numbers.count(limits.max_gpus, 'GPU')}"
    if limits.budget_usd_per_h is not None and total.cost_usd_per_h > limits.budget_usd_per_h:
        yield f"{numbers.usd(float(total.cost_usd_per_h))}/h is above the budget"


def _units(problem: ChoiceProblem, counts: Mapping[str, int]) -> dict[str, int]:
    """Servers by supply: as few as hold the replicas."""
    units: dict[str, int] = {}
    for supply in problem.supplies:
        used = [(o, counts.get(o.id, 0)) for o in problem.options if o.supply == supply.id]
        if supply.purchase != "unit" or not any(count for _, count in used):
            continue
        whole, sizes = 0, Counter[int]()
        for option, count in used:
            if option.units_per_replica is not None or option.gpus >= supply.unit_gpus:
                whole += count * (option.units_per_replica or ceil(option.gpus / supply.unit_gpus))
            else:
                sizes[option.gpus] += count
        shared = ceil(sum(size * count for size, count in sizes.items()) / supply.unit_gpus)
        while not fits(sizes, shared, supply.unit_gpus):
            shared += 1
        units[supply.id] = whole + shared
    return units
