"""A fleet's plan checked again: every limit, in exact arithmetic and without a solver."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.constraints.fleet_check_market import broken_limits, broken_purchases
from planner.constraints.fleet_check_pools import broken_layouts, broken_workloads
from planner.constraints.fleet_check_waiting import broken_levels
from planner.schema.choice import Objective
from planner.schema.fleet import FleetChoice, FleetProblem, PeriodChoice, Placement

_NONE = Fraction(0)


@dataclass(frozen=True)
class PeriodBill:
    """What one period buys and costs."""

    gpu_usd: Fraction
    """GPUs, by their lines' prices."""
    api_usd: Fraction
    start_usd: Fraction
    """Start charges for GPUs that the period before did not have."""
    gpus: dict[str, int]
    """GPUs bought by type, idle ones included."""
    power_w: Fraction
    """Of all replicas."""

    @property
    def usd(self) -> Fraction:
        """Everything that the period costs."""
        return self.gpu_usd + self.api_usd + self.start_usd


@dataclass(frozen=True)
class FleetBill:
    """What a plan buys and costs, by period."""

    periods: tuple[PeriodBill, ...]

    @property
    def usd(self) -> Fraction:
        """Sum over the periods."""
        return sum((period.usd for period in self.periods), _NONE)

    def value(self, objective: Objective) -> Fraction:
        """The objective: USD, GPU-hours bought or watts, summed over the periods."""
        if objective == "cost":
            return self.usd
        if objective == "gpus":
            return Fraction(sum(sum(period.gpus.values()) for period in self.periods))
        return sum((period.power_w for period in self.periods), _NONE)


def bill(problem: FleetProblem, periods: Sequence[PeriodChoice]) -> FleetBill:
    """Cost, GPUs by type and power of every period; start charges run around the cyclic day."""
    prices = {api.id: api for api in problem.apis}
    options = problem.options_by_id
    buckets = {demand.pool: demand.buckets for demand in problem.demands}
    bills = []
    for t, period in enumerate(periods):
        gpu_usd, api_usd, start_usd = _NONE, _NONE, _NONE
        gpus: dict[str, int] = defaultdict(int)
        for line in problem.lines:
            count = period.bought.get(line.id, 0)
            gpu_usd += line.usd_per_gpu_h * count
            gpus[line.gpu] += count
        for share in period.shares:
            # What an API takes of prefill it takes of decode too, and is paid once.
            if share.option in prices and share.role != "decode":
                b = buckets[share.workload, share.role].index(share.bucket)
                level = period.levels.get(share.workload, Fraction(1))
                api_usd += prices[share.option].usd_per_h[t][b] * share.share * level
        for start in problem.starts:
            now, before = (sum(p.bought.get(n, 0) for n in start.lines) for p in (period, periods[t - 1]))
            start_usd += start.usd_per_gpu * max(0, now - before)
        start_usd += sum(starts_usd(problem, periods, t).values(), _NONE)
        known = ((options.get(name), count) for (name, _), count in period.counts.items())
        watts = (option.power_w * count for option, count in known if option is not None)
        held = {gpu: count for gpu, count in sorted(gpus.items()) if count}
        bills.append(PeriodBill(gpu_usd, api_usd, start_usd, held, sum(watts, _NONE)))
    return FleetBill(tuple(bills))


def starts_usd(problem: FleetProblem, periods: Sequence[PeriodChoice], t: int) -> dict[Placement, Fraction]:
    """What the replicas that start in a period cost, by option and site; the day is cyclic."""
    if not problem.pays_starts:
        return {}
    options = problem.options_by_id
    before, found = periods[t - 1].counts, {}
    for place, count in sorted(periods[t].counts.items()):
        more = count - before.get(place, 0)
        usd = problem.start_usd(options[place[0]], place[1]) if more > 0 else _NONE
        if usd:
            found[place] = usd * more
    return found


def broken(problem: FleetProblem, choice: FleetChoice) -> list[str]:
    """What the plan breaks, in words; empty when it keeps everything or there is no plan."""
    if choice.status in ("infeasible", "unknown"):
        return [] if not choice.periods else [f"status: {choice.status} with a plan"]
    if len(choice.periods) != problem.periods:
        return [f"periods: {len(choice.periods)} of {problem.periods}"]
    strangers = list(_strangers(problem, choice))
    if strangers:
        return strangers
    total = bill(problem, choice.periods)
    faults: list[str] = []
    for t, period in enumerate(choice.periods):
        found = [*broken_purchases(problem, period), *broken_workloads(problem, period, t)]
        faults.extend(f"period {t}: {fault}" for fault in found)
    faults.extend(broken_layouts(problem, choice.periods))
    faults.extend(broken_levels(problem, choice.periods))
    usd, gpus = [one.usd for one in total.periods], [one.gpus for one in total.periods]
    faults.extend(broken_limits(problem, choice.periods, usd, gpus))
    faults.extend(_misstated(problem, choice, total))
    return faults


def _strangers(problem: FleetProblem, choice: FleetChoice) -> Iterator[str]:
    """Names that the problem does not know, and counts that are no whole numbers from 0."""
    options = {option.id: problem.sites_of(option) for option in problem.options}
    lines = {line.id for line in problem.lines}
    servers = options.keys() | {api.id for api in problem.apis}
    pools = {demand.pool: demand.buckets for demand in problem.demands}
    for t, period in enumerate(choice.periods):
        for (option, site), count in period.counts.items():
            if option not in options:
                yield f"period {t}: no option {option}"
            elif site not in options[option] and count:
                yield f"period {t}: residency: {option} may not stand at {site}"
            if not isinstance(count, int) or count < 0:
                yield f"period {t}: {count} replicas of {option}"
        for line, count in period.bought.items():
            if line not in lines or not isinstance(count, int) or count < 0:
                yield f"period {t}: {count} GPUs of {line}"
        for share in period.shares:
            known = share.bucket in pools.get((share.workload, share.role), ())
            if share.option not in servers or not known:
                yield f"period {t}: a share of {share.workload}/{share.bucket} by {share.option}"


def _misstated(problem: FleetProblem, choice: FleetChoice, total: FleetBill) -> Iterator[str]:
    if choice.cost_usd != total.usd:
        yield f"bill: stated {choice.cost_usd}, counted {total.usd}"
    value = total.value(problem.limits.objective)
    if choice.value is not None and choice.value != value:
        yield f"value: stated {choice.value}, counted {value}"
    if choice.lower_bound is not None and choice.lower_bound > value:
        yield f"bound: {float(choice.lower_bound)} is more than the value {float(value)}"
