"""Which layouts a simple plan is looked for among: by need, by what each alone would cost."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction

from planner.constraints.packing import rooms
from planner.schema.choice import Option
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.solver.mip.dominated import undominated
from planner.solver.pool_sets import Names, among

_FEW = 4
"""Layouts of a pool that plans are first looked for among, beside those of the optimum."""


def options_of(choice: FleetChoice) -> Names:
    """Options in use in some hour."""
    return frozenset(name for period in choice.periods for (name, _), count in period.counts.items() if count)


def elements_of(question: FleetProblem, best: FleetChoice) -> list[str]:
    """Options that no other one replaces: those of the optimum first, then by what they alone would cost."""
    room, used = rooms(question), options_of(best)
    found: list[Option] = []
    for demand in question.demands:
        mine = [one for one in question.options if one.pool == demand.pool and question.sites_of(one)]
        found += undominated(mine, question, room)
    alone = _alone_usd(question)
    names = {option.id for option in found} | used
    options = [option for option in question.options if option.id in names]
    order = sorted(options, key=lambda one: (one.id not in used, alone(one), one.id))
    return [option.id for option in order]


def uses_of(choice: FleetChoice) -> Counter[str]:
    """Replicas by option, over all periods."""
    used: Counter[str] = Counter()
    for period in choice.periods:
        for option, count in period.replicas():
            used[option] += count
    return used


def layouts_by_use(question: FleetProblem, choice: FleetChoice) -> list[Names]:
    """Options of a plan that serve together, of workloads with more than one such group; least in use first.

    Prefill and decode replicas of one place are such a group: none of them serves without the others.
    """
    options = {option.id: option for option in question.options}
    names: dict[tuple[str, ...], set[str]] = defaultdict(set)
    gpu_hours: dict[tuple[str, ...], int] = defaultdict(int)
    for period in choice.periods:
        for (name, _), count in period.counts.items():
            option = options[name]
            together = (option.id,) if option.role == "serve" else (option.place, option.kv or "")
            if count:
                names[option.workload, *together].add(name)
                gpu_hours[option.workload, *together] += count * option.gpus
    several = [one for one in names if sum(one[0] == other[0] for other in names) > 1]
    return [frozenset(names[one]) for one in sorted(several, key=lambda one: (gpu_hours[one], one))]


def needed_of(question: FleetProblem, elements: Sequence[str]) -> list[list[list[Names]]]:
    """By workload that cannot do without replicas its ways, each with the options of every role."""
    asked: dict[str, dict[str, list[Names]]] = defaultdict(lambda: defaultdict(list))
    apis = {api.workload for api in question.apis}
    known = set(elements)
    for demand in question.demands:
        if any(any(needs) for needs in demand.demand_rps) and demand.workload not in apis:
            mine = frozenset(o.id for o in question.options if o.pool == demand.pool and o.id in known)
            asked[demand.workload][demand.mode].append(mine)
    found = []
    for modes in asked.values():
        open_ = [mode for mode in modes.values() if all(mode)]
        if open_:
            found.append(open_)
    return found


def _alone_usd(question: FleetProblem) -> Callable[[Option], Fraction]:
    """What replicas of one option alone would take over the day, GPUs counted at their cheapest line."""
    hours = {demand.pool: Counter(demand.demand_rps) for demand in question.demands}
    price: dict[str, Fraction] = {}
    for line in question.lines:
        price[line.host] = min(price.get(line.host, line.usd_per_gpu_h), line.usd_per_gpu_h)
    hosts = {host.id: host for host in question.hosts}

    def alone(option: Option) -> Fraction:
        each = Fraction(hosts[option.supply].room_gpus(option)) * (price.get(option.supply, 0) + 1)
        replicas = 0
        for hour, times in hours[option.pool].items():
            pairs = [(need, rate) for need, rate in zip(hour, option.rates_rps, strict=True) if need]
            if any(not rate for _, rate in pairs):
                # It cannot serve alone: dearer than any that can.
                return Fraction(10**12)
            if len(pairs) == 1:
                replicas -= times * (-pairs[0][0] // pairs[0][1])
            else:
                replicas += times * math.ceil(sum((need / rate for need, rate in pairs), Fraction(0)))
        return replicas * each

    return alone


def promising(question: FleetProblem, best: FleetChoice, few: int = _FEW) -> FleetProblem:
    """The question with the layouts of the best plan, and those that alone would carry the day for least.

    Args:
        question: what is asked.
        best: a plan of it.
        few: layouts of every workload, role and GPU beside those of the plan.
    """
    names = set(options_of(best))
    needs = {demand.pool: demand.demand_rps for demand in question.demands}
    alone = _alone_usd(question)
    groups: dict[tuple[str, str, str, str | None], list[Option]] = defaultdict(list)
    for option in question.options:
        live = needs.get(option.pool)
        if live is None or not question.sites_of(option):
            continue
        if all(rate or not any(hour[b] for hour in live) for b, rate in enumerate(option.rates_rps)):
            kind = None if option.role == "serve" else f"{option.place}|{option.kv}"
            groups[option.workload, option.role, option.gpu if option.role == "serve" else "", kind].append(
                option
            )
    for mine in groups.values():
        names |= {option.id for option in sorted(mine, key=lambda one: (alone(one), one.id))[:few]}
    return among(question, names)
