"""Questions of one hour as fleets of one period, and their answers as replicas by option."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial

from plan_limits import budget_row, plan_limits

from planner.constraints import fleet_check
from planner.planning.asking.front import fleet_front
from planner.planning.asking.kinds import fleet_alternatives
from planner.schema.choice import Choice, ChoiceProblem, Choices
from planner.schema.fleet import FleetChoice, FleetDemand, FleetProblem, Host, Line
from planner.solver.cp.solve import solve_cp


@dataclass(frozen=True)
class HourChoice(Choice):
    """A choice with the answer of the fleet that it is read from."""

    fleet: FleetChoice | None = None


def solve(problem, **asked):
    """The answer of the exact engine."""
    question = one_period(problem)
    return told(problem, question, solve_cp(question, **asked))


def told(problem, question, found):
    """The answer of a fleet of one period, told by option and supply."""
    if not found.periods:
        return HourChoice(
            found.status, in_the_way=found.in_the_way, lower_bound=found.lower_bound, fleet=found
        )
    (period,) = found.periods
    (paid,) = fleet_check.bill(question, found.periods).periods
    counts = dict(period.replicas())
    supplies = {supply.id: supply for supply in problem.supplies}
    options = {option.id: option for option in problem.options}
    units = Counter()
    for line in question.lines:
        supply = supplies[line.host.split(" of ")[0]]
        if supply.purchase != "option":
            units[supply.id] += period.bought.get(line.id, 0) // line.unit_gpus
    for name, count in counts.items():
        if supplies[options[name].supply].purchase == "option":
            units[options[name].supply] += count
    roles = {options[name].workload: options[name].role for name in counts}
    return HourChoice(
        status=found.status,
        counts=counts,
        units={name: count for name, count in units.items() if count},
        shares=period.shares,
        loss_shares=period.loss_shares,
        gpus=paid.gpus,
        cost_usd_per_h=paid.usd,
        power_w=paid.power_w,
        value=found.value,
        lower_bound=found.lower_bound,
        gap=found.gap,
        modes={name: "aggregated" if role == "serve" else "disaggregated" for name, role in roles.items()},
        fleet=found,
    )


def alternatives(problem, most, *, kind=lambda option: option.id):
    """The best plans that differ in the kinds in use."""
    question = one_period(problem)
    found = fleet_alternatives(question, most, solve_cp, kind)
    return Choices(tuple(told(problem, question, one) for one in found.choices), found.exhausted)


def front(problem, axes, most_solves=1000):
    """Every plan of which no other is better on one axis and no worse on the rest."""
    question = one_period(problem)
    found = fleet_front(question, axes, partial(solve_cp, goal="value"), most_solves)
    return Choices(tuple(told(problem, question, one) for one in found.choices), found.exhausted)


def broken(problem, choice):
    """What a choice breaks, by the check of fleets."""
    return fleet_check.broken(one_period(problem), choice.fleet)


def one_period(problem: ChoiceProblem) -> FleetProblem:
    """The same question over one period: machines for supplies, an on-demand line for each machine.

    Servers (``unit``) are machines with so many GPUs; single GPUs (``gpu``) machines without servers; options
    at prices of their own (``option``) have each a machine of its own, at their price over their GPUs.
    """
    supplies = {supply.id: supply for supply in problem.supplies}
    machines, options = {}, []
    asked = {demand.pool for demand in problem.demands}
    for option in (one for one in problem.options if one.pool in asked):
        supply = supplies[option.supply]
        host, usd_per_gpu_h = _machine(supply)
        if supply.purchase == "option":
            host = replace(host, id=f"{supply.id} of {option.id}")
            usd_per_gpu_h = option.usd_per_h / option.gpus
        machines.setdefault(host.id, (host, usd_per_gpu_h))
        options.append(replace(option, supply=host.id))
    for supply in problem.supplies:
        if supply.purchase != "option":
            machines.setdefault(supply.id, _machine(supply))
    return FleetProblem(
        periods=1,
        options=tuple(options),
        hosts=tuple(host for host, _ in machines.values()),
        lines=tuple(_lines(machines.values())),
        demands=tuple(_demand(demand) for demand in problem.demands),
        limits=_limits(problem.limits),
        couplings=problem.couplings,
    )


def _machine(supply):
    if supply.purchase == "unit":
        return Host(supply.id, supply.gpu, supply.unit_gpus), supply.usd_per_unit_h / supply.unit_gpus
    return Host(supply.id, supply.gpu), supply.usd_per_unit_h


def _lines(machines):
    seen = Counter()
    for host, usd_per_gpu_h in machines:
        seen[host.gpu] += 1
        number = "" if seen[host.gpu] == 1 else f"#{seen[host.gpu]}"
        yield Line(
            f"{host.gpu}/on_demand{number}", host.gpu, host.id, "on_demand", usd_per_gpu_h,
            host.server_gpus or 1,
        )  # fmt: skip


def _demand(demand):
    return FleetDemand(
        workload=demand.workload,
        role=demand.role,
        demand_rps=(demand.demand_rps,),
        buckets=demand.buckets,
        max_utilization=demand.max_utilization,
        min_replicas=demand.min_replicas,
        spares=demand.spares,
        mix=demand.mix,
    )


def _limits(limits):
    usd_per_h = limits.budget_usd_per_h
    return plan_limits(
        stock_gpus=limits.stock_gpus,
        budgets=() if usd_per_h is None else (budget_row("budget", usd_per_h),),
        max_gpus=limits.max_gpus,
        power_w=limits.power_w,
        objective=limits.objective,
        must_use=limits.must_use,
    )
