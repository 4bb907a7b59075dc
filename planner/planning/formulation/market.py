"""The market of a fleet: hosts, lines of supply and what a start costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from planner.schema.catalog import Accelerator
from planner.schema.choice import ChoiceProblem, Option, Supply
from planner.schema.fleet import Host, Line, Site, StartCharge
from planner.schema.hardware import Fleet
from planner.schema.problem import Problem
from planner.schema.supply import Budgets, SupplyLine

_STARTED = ("on_demand", "spot")
_HOUR_S = 3600


def shadow(problem: Problem) -> Problem:
    """The problem as its candidates see it: every GPU of the supply has a price, and nothing else changes.

    What an option costs is decided by the lines; the price here only says that there is one.
    """
    fleet = problem.fleet
    update: dict[str, object] = {"supply": None, "max_changes": None, "start_cost": None}
    named = {line.gpu: line.price_usd_per_gpu_h for line in reversed(fleet.supply or ())}
    if problem.worker_files:
        named = dict.fromkeys(fleet.owned, Decimal(0)) | dict(fleet.prices or {}) | named
    if named:
        update["prices"] = {**(fleet.prices or {}), **named}
    if isinstance(fleet.budget, Budgets):
        update["budget"] = None
    return problem.model_copy(
        update={"fleet": fleet.model_copy(update=update), "tiers": (), "api": (), "start": None}
    )


def hosts_of(
    question: ChoiceProblem, slices: Mapping[str, tuple[str, int]]
) -> tuple[tuple[Host, ...], tuple[Option, ...]]:
    """The machines, and the options with their names. Options at prices of their own are each a machine.

    Args:
        question: with a supply for every lot.
        slices: of supplies that are slices, the supply of the whole GPUs and how many slices one holds.
    """
    hosts: dict[str, Host] = {}
    options = []
    supplies = {supply.id: supply for supply in question.supplies}
    for option in question.options:
        if option.supply in slices:
            whole, number = slices[option.supply]
            hosts.setdefault(whole, _host(option, supplies[whole]))
            options.append(replace(option, supply=whole, slices=number))
            continue
        supply = supplies[option.supply]
        host = _host(option, supply)
        hosts.setdefault(host.id, host)
        options.append(option if host.id == option.supply else _on(option, host))
    return tuple(sorted(hosts.values(), key=lambda host: host.id)), tuple(options)


def _host(option: Option, supply: Supply) -> Host:
    if supply.purchase == "option":
        price = Decimal(option.usd_per_h.numerator) / Decimal(option.usd_per_h.denominator)
        return Host(f"{supply.gpu} x{option.gpus} at {price.normalize():f}", supply.gpu)
    return Host(supply.id, supply.gpu, supply.unit_gpus if supply.purchase == "unit" else None)


def _on(option: Option, host: Host) -> Option:
    return replace(option, supply=host.id)


def supply_of(fleet: Fleet, find: Callable[[str], Accelerator | None]) -> tuple[SupplyLine, ...]:
    """The lines of the problem's supply, and one for each GPU that is there anyway.

    Equation: what is owned costs rated power x PUE x electricity while it is used; nothing where the price of
    electricity or the power is not known.

    Args:
        fleet: the problem's fleet.
        find: accelerator by id or alias.
    """

    def owned(gpu: str, count: int) -> SupplyLine:
        entry = find(gpu)
        watts = entry.power.tdp if entry is not None and entry.power is not None else Decimal(0)
        usd = watts / 1000 * fleet.pue * (fleet.electricity or Decimal(0))
        return SupplyLine(gpu=gpu, term="owned", usd_per_gpu_h=usd, max_gpus=count)

    return (*(fleet.supply or ()), *(owned(gpu, count) for gpu, count in fleet.owned.items()))


def lines_of(
    fleet: Fleet,
    supply: Sequence[SupplyLine],
    question: ChoiceProblem,
    hosts: Sequence[Host],
    places: Mapping[str, Site],
) -> tuple[Line, ...]:
    """What can be bought: the supply, and one on-demand line for every host that it does not name.

    A GPU that is owned and has a price of its own can be rented beside.

    Args:
        fleet: the problem's fleet.
        supply: of `supply_of`.
        question: with the prices of hosts that the supply does not name.
        hosts: the machines.
        places: sites of hosts that are offers of a price list.
    """
    supplies = {supply.id: supply for supply in question.supplies}
    own = {option_host.id: price for option_host, price in _own_prices(question, hosts)}
    stated, priced = {line.gpu for line in fleet.supply or ()}, fleet.prices or {}
    found: list[Line] = []
    for host in hosts:
        found += [_line(line, host) for line in supply if line.gpu == host.gpu]
        if host.gpu in stated or (host.gpu in fleet.owned and host.gpu not in priced):
            continue
        size = host.server_gpus or 1
        price = own[host.id] if host.id in own else supplies[host.id].usd_per_unit_h / size
        found.append(
            Line(
                id=f"{host.gpu}/on_demand",
                gpu=host.gpu,
                host=host.id,
                term="on_demand",
                usd_per_gpu_h=price,
                unit_gpus=size,
                site=places.get(host.id, Site()),
            )
        )
    return _told_apart(found)


def _own_prices(question: ChoiceProblem, hosts: Sequence[Host]) -> Iterable[tuple[Host, Fraction]]:
    by_id = {host.id: host for host in hosts}
    supplies = {supply.id: supply for supply in question.supplies}
    for option in question.options:
        supply = supplies[option.supply]
        if supply.purchase == "option":
            yield by_id[_host(option, supply).id], option.usd_per_h / option.gpus


def _line(line: SupplyLine, host: Host) -> Line:
    return Line(
        id=f"{host.gpu}/{line.term}",
        gpu=host.gpu,
        host=host.id,
        term=line.term,
        usd_per_gpu_h=Fraction(line.price_usd_per_gpu_h),
        unit_gpus=host.server_gpus or 1,
        max_gpus=line.max_gpus,
        site=Site(line.provider or "", line.region or "", line.zone or ""),
        max_share=None if line.max_share is None else Fraction(line.max_share),
        reserve=Fraction(line.interruption_reserve),
        lead_h=Fraction(line.lead_time or 0) / _HOUR_S,
    )


def _told_apart(lines: Sequence[Line]) -> tuple[Line, ...]:
    seen: Counter[str] = Counter()
    result = []
    for line in lines:
        seen[line.id] += 1
        result.append(line if seen[line.id] == 1 else replace(line, id=f"{line.id}#{seen[line.id]}"))
    return tuple(result)


def starts_of(fleet: Fleet, lines: Sequence[Line]) -> tuple[StartCharge, ...]:
    """A charge for on-demand and spot GPUs of one kind at one site together.

    The on-demand hour is that of the site, else the cheapest of this GPU anywhere, else of spot itself.
    """
    if not fleet.start_cost:
        return ()
    groups: dict[tuple[str, Site], list[Line]] = {}
    anywhere: dict[str, list[Line]] = {}
    for line in lines:
        if line.term in _STARTED:
            groups.setdefault((line.host, line.site), []).append(line)
        if line.term == "on_demand":
            anywhere.setdefault(line.gpu, []).append(line)
    charges = []
    for members in groups.values():
        rated = [line for line in members if line.term == "on_demand"]
        rated = rated or anywhere.get(members[0].gpu, []) or members
        price = min(line.usd_per_gpu_h for line in rated)
        charges.append(StartCharge(tuple(line.id for line in members), price * Fraction(fleet.start_cost)))
    return tuple(charges)
