"""What a plan of one hour would cost with one prefill or decode replica more or fewer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from planner import numbers
from planner.constraints.packing import Held, gpus_needed
from planner.explain.bought_alone import cheapest_purchase
from planner.explain.over_limits import over_limits
from planner.schema.choice import Option
from planner.schema.fleet import FleetChoice, FleetDemand, FleetProblem, Line, Placement, Site
from planner.schema.mode_choice import PrefillDecodeStep

STEPS = ((1, -1), (1, 0), (-1, 1), (0, 1))
"""Replicas of prefill and decode: a step of the ratio at equal replicas, and one replica added."""

Counts = Mapping[Placement, int]


def prefill_decode_steps(problem: FleetProblem, choice: FleetChoice) -> tuple[PrefillDecodeStep, ...]:
    """The steps of every workload that is disaggregated; the largest option of each side is stepped.

    Workloads with several buckets are left out: what replicas carry then depends on how buckets are shared.
    So are plans over several hours, each of which has a ratio of its own.
    """
    if problem.periods > 1 or choice.value is None:
        return ()
    stepped = [
        demand.workload
        for demand in problem.demands
        if demand.role == "prefill" and len(demand.buckets) == 1 and demand.demand_rps[0][0] > 0
    ]
    return tuple(step for workload in stepped for step in _of_workload(problem, choice, workload))


def _of_workload(problem: FleetProblem, choice: FleetChoice, workload: str) -> Iterator[PrefillDecodeStep]:
    options = {option.id: option for option in problem.options if option.workload == workload}
    counts = choice.periods[0].counts
    sides = [_largest(options, counts, role) for role in ("prefill", "decode")]
    if None in sides:
        return
    for moved in STEPS:
        after = dict(counts)
        for place, more in zip(sides, moved, strict=True):
            assert place is not None
            after[place] = after[place] + more
        yield _step(problem, choice, workload, moved, after)


def _largest(options: Mapping[str, Option], counts: Counts, role: str) -> Placement | None:
    """The placement with most replicas on one side; of equal ones the first."""
    used = [
        place for place, n in counts.items() if n and place[0] in options and options[place[0]].role == role
    ]
    return min(used, key=lambda place: (-counts[place], place), default=None)


def _step(
    problem: FleetProblem, choice: FleetChoice, workload: str, moved: tuple[int, int], counts: Counts
) -> PrefillDecodeStep:
    options = {option.id: option for option in problem.options}
    sizes = [_size(options, counts, workload, role) for role in ("prefill", "decode")]
    bought, usd_per_h, missing = _bill(problem, options, counts)
    faults = [
        *_too_little(problem, options, workload, counts),
        *_too_much(problem, counts, bought, usd_per_h, missing),
    ]
    dearer = float(usd_per_h - choice.cost_usd)
    words = [f"{count:+d} {role}" for count, role in zip(moved, ("prefill", "decode"), strict=True) if count]
    sign = "+" if dearer >= 0 else "-"
    money = f"{numbers.usd(float(usd_per_h))}/h ({sign}{numbers.usd(abs(dearer))}/h)"
    return PrefillDecodeStep(
        workload=workload,
        prefill=moved[0],
        decode=moved[1],
        replicas=":".join(str(replicas) for replicas, _ in sizes),
        gpus=":".join(str(gpus) for _, gpus in sizes),
        feasible=not faults,
        cost_usd_per_hour=float(usd_per_h) if all(replicas for replicas, _ in sizes) else None,
        text=f"{', '.join(words)}: {'; '.join(faults) or money}",
    )


def _size(options: Mapping[str, Option], counts: Counts, workload: str, role: str) -> tuple[int, int]:
    """Replicas and GPUs of one side."""
    mine = [(options[name], n) for (name, _), n in counts.items() if options[name].pool == (workload, role)]
    return sum(n for _, n in mine), sum(option.gpus * n for option, n in mine)


def _bill(
    problem: FleetProblem, options: Mapping[str, Option], counts: Counts
) -> tuple[Mapping[str, int], Fraction, int]:
    """GPUs by type, USD an hour, and GPUs that no line has left: as few servers as hold the replicas."""
    hosts = {host.id: host for host in problem.hosts}
    lines: dict[tuple[str, Site], list[Line]] = defaultdict(list)
    for line in problem.lines:
        lines[line.host, line.site].append(line)
    held: dict[tuple[str, Site], list[Held]] = defaultdict(list)
    for (name, site), count in counts.items():
        held[options[name].supply, site].append((options[name], count))
    gpus: dict[str, int] = defaultdict(int)
    usd_per_h, missing = Fraction(0), 0
    for (host_id, site), here in sorted(held.items(), key=lambda item: item[0]):
        bought, usd, short = cheapest_purchase(lines[host_id, site], gpus_needed(hosts[host_id], here))
        gpus[hosts[host_id].gpu] += bought
        usd_per_h, missing = usd_per_h + usd, missing + short
    return gpus, usd_per_h, missing


def _too_little(
    problem: FleetProblem, options: Mapping[str, Option], workload: str, counts: Counts
) -> Iterator[str]:
    """Sides that no longer carry their demand, spares lost."""
    for demand in problem.demands:
        if demand.workload != workload or demand.role == "serve":
            continue
        used = [
            (options[name], n) for (name, _), n in counts.items() if options[name].pool == demand.pool and n
        ]
        share = _carried(demand, used)
        if sum(count for _, count in used) < demand.min_replicas:
            yield f"{demand.role} needs {numbers.count(demand.min_replicas, 'replica')}"
        elif share < 1:
            spares = " after losses" if demand.spares.count else ""
            carried = numbers.share(float(share))
            yield f"{demand.role} carries {carried} of the demand with its headroom{spares}"


def _carried(demand: FleetDemand, used: Sequence[tuple[Option, int]]) -> Fraction:
    """What is carried of the demand when the fastest replicas are lost; of one bucket."""
    lost, left = demand.spares.count, []
    for option, count in sorted(used, key=lambda pair: -pair[0].rates_rps[0]):
        gone = min(demand.spares.count if demand.spares.kind == "per_option" else lost, count)
        lost -= gone
        left.append((option, count - gone))
    rate = sum((option.rates_rps[0] * count for option, count in left), Fraction(0))
    return rate * demand.max_utilization / demand.demand_rps[0][0]


def _too_much(
    problem: FleetProblem, counts: Counts, gpus: Mapping[str, int], usd_per_h: Fraction, missing: int
) -> Iterator[str]:
    """Limits of the plan that the replicas break."""
    if missing:
        yield f"the supply is short of {numbers.count(missing, 'GPU')}"
    replicas: dict[str, int] = defaultdict(int)
    for (option, _), count in counts.items():
        replicas[option] += count
    yield from over_limits(problem, gpus, replicas, usd_per_h)
