"""Every limit of a choice checked again, in exact arithmetic and without a solver."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.constraints.packing_check import broken_packing
from planner.constraints.server_losses import ALONE, Stand, server_losses
from planner.constraints.ways import ways_by_workload
from planner.schema.choice import Choice, ChoiceProblem, Coupling, Option, PoolDemand, Share, Way


@dataclass(frozen=True)
class Bill:
    """What a choice buys."""

    cost_usd_per_h: Fraction
    gpus: dict[str, int]
    power_w: Fraction


def bill(problem: ChoiceProblem, counts: Mapping[str, int], units: Mapping[str, int]) -> Bill:
    """Cost, GPUs by type (idle ones included) and power of replicas and servers."""
    cost, power = Fraction(0), Fraction(0)
    gpus: dict[str, int] = defaultdict(int)
    supplies = {supply.id: supply for supply in problem.supplies}
    for supply in problem.supplies:
        if supply.purchase == "unit" and units.get(supply.id):
            cost += supply.usd_per_unit_h * units[supply.id]
            gpus[supply.gpu] += supply.unit_gpus * units[supply.id]
    for option in problem.options:
        count, supply = counts.get(option.id, 0), supplies[option.supply]
        if not count:
            continue
        power += option.power_w * count
        if supply.purchase != "unit":
            gpus[supply.gpu] += option.gpus * count
            cost += count * (
                option.usd_per_h if supply.purchase == "option" else supply.usd_per_unit_h * option.gpus
            )
    return Bill(cost, dict(sorted(gpus.items())), power)


def broken(problem: ChoiceProblem, choice: Choice) -> list[str]:
    """What the choice breaks, in words; empty when it keeps everything."""
    total = bill(problem, choice.counts, choice.units)
    faults = [*_broken_limits(problem, choice, total), *broken_packing(problem, choice)]
    ways, stray = _ways(problem, choice)
    faults.extend(stray)
    for demand in problem.demands:
        if ways.get(demand.workload) == demand.way:
            faults.extend(_broken_pool(problem, choice, demand))
    for coupling in problem.couplings:
        used = [o for o in problem.options if o.workload == coupling.workload and choice.counts.get(o.id, 0)]
        faults.extend(broken_pairs(used, coupling))
    if (total.cost_usd_per_h, total.gpus, total.power_w) != (
        choice.cost_usd_per_h,
        choice.gpus,
        choice.power_w,
    ):
        faults.append(f"bill: stated {choice.cost_usd_per_h}, counted {total.cost_usd_per_h}")
    return faults


def _ways(problem: ChoiceProblem, choice: Choice) -> tuple[dict[str, Way], list[str]]:
    """The way in which each workload is served, and what contradicts it."""
    ways: dict[str, Way] = {}
    faults = []
    for workload, possible in ways_by_workload(problem.demands).items():
        way = choice.ways.get(workload, possible[0] if len(possible) == 1 else None)
        if way is None or way not in possible:
            faults.append(f"way: {workload} is served {way or 'in no stated way'}")
        else:
            ways[workload] = way
    asked = {demand.pool for demand in problem.demands if ways.get(demand.workload) == demand.way}
    for option in problem.options:
        if choice.counts.get(option.id, 0) and option.pool not in asked:
            faults.append(f"way: {option.id} serves nothing")
    return ways, faults


def _broken_limits(problem: ChoiceProblem, choice: Choice, total: Bill) -> Iterator[str]:
    limits = problem.limits
    for gpu, stock in limits.stock_gpus.items():
        if total.gpus.get(gpu, 0) > stock:
            yield f"stock:{gpu}: {total.gpus[gpu]} of {stock}"
    if limits.budget_usd_per_h is not None and total.cost_usd_per_h > limits.budget_usd_per_h:
        yield f"budget: {total.cost_usd_per_h} of {limits.budget_usd_per_h}"
    if limits.max_gpus is not None and sum(total.gpus.values()) > limits.max_gpus:
        yield f"max-gpus: {sum(total.gpus.values())} of {limits.max_gpus}"
    if limits.power_w is not None and total.power_w > limits.power_w:
        yield f"power: {total.power_w} of {limits.power_w}"
    in_use = {option.gpu for option in problem.options if choice.counts.get(option.id, 0)}
    for gpu in limits.must_use:
        if gpu not in in_use:
            yield f"must-use:{gpu}: none in use"


# -- one pool -----------------------------------------------------------------------------------------------


def _broken_pool(problem: ChoiceProblem, choice: Choice, demand: PoolDemand) -> Iterator[str]:
    name = f"{demand.workload}/{demand.role}"
    used = {o.id: o for o in problem.options if o.pool == demand.pool and choice.counts.get(o.id, 0)}
    counts = {option: choice.counts[option] for option in used}
    if sum(counts.values()) < demand.min_replicas:
        yield f"min_replicas: {name} has {sum(counts.values())} of {demand.min_replicas}"
    if not demand.mix and len(used) != 1:
        yield f"mix: {name} uses {len(used)} options"
    total = sum(counts.values())
    for replica in used.values():
        if not replica.holds_for(total):
            yield f"replicas: {name} has {total}, the rates of {replica.id} hold for other numbers"
    mine = [s for s in choice.shares if (s.workload, s.role) == demand.pool]
    yield from (f"cover: {name} {fault}" for fault in _overload(demand, used, counts, mine))
    if demand.spares.kind == "per_option":
        for option, count in counts.items():
            if count < demand.spares.count:
                yield f"redundancy: {name} {option} has {count} of {demand.spares.count} spares"
    if demand.spares.count:
        yield from _broken_spares(choice, demand, used, _losses(demand, counts, stands_of(problem)), name)


def _overload(
    demand: PoolDemand, used: Mapping[str, Option], counts: Mapping[str, int], shares: Sequence[Share]
) -> Iterator[str]:
    """Shares of every bucket sum to 1, and no option carries more than its replicas can."""
    loads: dict[str, Fraction] = defaultdict(Fraction)
    for b, (bucket, need) in enumerate(zip(demand.buckets, demand.demand_rps, strict=True)):
        lines = [share for share in shares if share.bucket == bucket]
        if need > 0 and sum(line.share for line in lines) != 1:
            yield f"bucket {bucket} is served to {float(sum(line.share for line in lines))}"
        for line in lines:
            rate = used[line.option].rates_rps[b] if line.option in used else Fraction(0)
            if line.share < 0 or (rate == 0 and line.share > 0):
                yield f"{line.option} cannot serve {bucket}"
            elif line.share:
                loads[line.option] += line.share * need / rate
    for option, load in loads.items():
        if load > counts[option] * demand.max_utilization:
            most = counts[option] * demand.max_utilization
            yield f"{option} carries {float(load)} of {float(most)} replicas"


def _broken_spares(
    choice: Choice,
    demand: PoolDemand,
    used: Mapping[str, Option],
    losses: Iterable[Mapping[str, int]],
    name: str,
) -> Iterator[str]:
    """Every loss is survived: by adding up rates for one bucket, by the shares in evidence for several."""
    live = [b for b, need in enumerate(demand.demand_rps) if need > 0]
    evidence = {
        tuple(sorted(dict(line.lost).items())): line.shares
        for line in choice.loss_shares
        if (line.workload, line.role) == demand.pool
    }
    counts = {option: choice.counts[option] for option in used}
    for lost in losses:
        left = {option: count - lost.get(option, 0) for option, count in counts.items()}
        if len(live) == 1:
            carried = sum(left[o] * used[o].rates_rps[live[0]] for o in left) * demand.max_utilization
            if carried < demand.demand_rps[live[0]]:
                yield f"redundancy: {name} carries {float(carried)} after losing {lost}"
            continue
        shares = evidence.get(tuple(sorted((o, n) for o, n in lost.items() if n)))
        if live and (shares is None or any(_overload(demand, used, left, shares))):
            yield f"redundancy: {name} after losing {lost}"


def stands_of(problem: ChoiceProblem) -> dict[str, Stand]:
    """Where replicas stand, by option id, of what is bought by the server."""
    supplies = {supply.id: supply for supply in problem.supplies if supply.purchase == "unit"}
    return {
        option.id: Stand(option.supply, supply.gpus_of_server(option), supply.unit_gpus)
        for option in problem.options
        if (supply := supplies.get(option.supply)) is not None
    }


def _losses(
    demand: PoolDemand, counts: Mapping[str, int], stands: Mapping[str, Stand]
) -> Iterator[dict[str, int]]:
    spares = demand.spares.count
    if demand.spares.kind == "servers":
        where = [stands.get(option, ALONE) for option in counts]
        for gone in server_losses(list(counts.values()), where, spares):
            yield dict(zip(counts, gone, strict=True))
        return
    if demand.spares.kind == "per_option":
        yield {option: min(spares, count) for option, count in counts.items()}
        return
    names, total = list(counts), min(spares, sum(counts.values()))
    for lost in itertools.product(*(range(min(spares, counts[name]) + 1) for name in names)):
        if sum(lost) == total:
            yield dict(zip(names, lost, strict=True))


def broken_pairs(used: Sequence[Option], coupling: Coupling) -> Iterator[str]:
    """Prefill and decode options in use of one workload and place that do not fit each other, in words."""
    limit_s = coupling.ttft_limit_s
    for prefill in (o for o in used if o.role == "prefill"):
        for decode in (o for o in used if o.role == "decode"):
            if prefill.place != decode.place:
                continue
            if prefill.kv and decode.kv and prefill.kv != decode.kv:
                yield f"kv: {prefill.id} has {prefill.kv}, {decode.id} has {decode.kv}"
            ttft_s = pair_ttft_s(prefill, decode)
            if limit_s is not None and ttft_s is not None and ttft_s > limit_s:
                yield f"ttft:{coupling.workload}: {prefill.id} with {decode.id}"


def pair_ttft_s(prefill: Option, decode: Option) -> Fraction | None:
    """Time to first token of a pair, with the slower hand-over of the two; None where nobody states one."""
    if prefill.ttft_s is None:
        return None
    return prefill.ttft_s + max(prefill.transfer_s or Fraction(0), decode.transfer_s or Fraction(0))
