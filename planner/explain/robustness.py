"""How a plan fares when demand, speeds or prices are not as planned, and what the safer fleet costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from planner import numbers
from planner.constraints.fleet_check import bill
from planner.constraints.pairs import broken_pairs
from planner.explain.carrying import Carrying
from planner.explain.move_sizes import most_gpus
from planner.schema.choice import Option
from planner.schema.fleet import Api, FleetChoice, FleetDemand, FleetProblem, StartCharge, Term
from planner.schema.fleet_answers import RobustVariant, Scenario

_ALL = Fraction(1)
_TERMS: tuple[Term, ...] = ("owned", "reserved", "on_demand", "spot")
Solve = Callable[[FleetProblem], FleetChoice]
Prices = Mapping[Term, Fraction]
"""By term, times its price; absent = as it is."""
DEMAND = (Fraction(4, 5), Fraction(6, 5))
SPEED = (Fraction(17, 20), Fraction(23, 20))
PRICE = (Fraction(4, 5), Fraction(6, 5))


@dataclass(frozen=True)
class Case:
    """What changes in a scenario, times what it was."""

    name: str
    demand: Fraction = _ALL
    speed: Fraction = _ALL
    prices: Prices = field(default_factory=dict)


def scaled(
    problem: FleetProblem,
    demand_factor: Fraction = _ALL,
    speed_factor: Fraction = _ALL,
    price_factor: Fraction | Prices = _ALL,
) -> FleetProblem:
    """The same question with other demand, speeds or prices of GPUs.

    Demand grows alike in every bucket and period (work that may wait too), and so does what outside suppliers
    are paid for a whole bucket. Slower replicas carry less (rate x factor) and answer later (time to first
    token and KV transfer / factor); that latency limits may remove options altogether is not looked at. Start
    charges follow the on-demand price.

    Raises:
        ValueError: a factor that is not above zero.
    """
    prices: Prices = (
        price_factor if isinstance(price_factor, Mapping) else dict.fromkeys(_TERMS, price_factor)
    )
    if min(demand_factor, speed_factor, *prices.values(), _ALL) <= 0:
        raise ValueError("factors must be above zero")
    return replace(
        problem,
        options=tuple(_slower(option, speed_factor) for option in problem.options),
        demands=tuple(_more(demand, demand_factor) for demand in problem.demands),
        lines=tuple(
            replace(line, usd_per_gpu_h=line.usd_per_gpu_h * prices.get(line.term, _ALL))
            for line in problem.lines
        ),
        apis=tuple(_dearer(api, demand_factor) for api in problem.apis),
        starts=tuple(
            StartCharge(start.lines, start.usd_per_gpu * prices.get("on_demand", _ALL))
            for start in problem.starts
        ),
    )


def _slower(option: Option, factor: Fraction) -> Option:
    return replace(
        option,
        rates_rps=tuple(rate * factor for rate in option.rates_rps),
        ttft_s=None if option.ttft_s is None else option.ttft_s / factor,
        transfer_s=None if option.transfer_s is None else option.transfer_s / factor,
    )


def _more(demand: FleetDemand, factor: Fraction) -> FleetDemand:
    rows = tuple(tuple(rps * factor for rps in row) for row in demand.demand_rps)
    return replace(demand, demand_rps=rows)


def _dearer(api: Api, factor: Fraction) -> Api:
    return replace(api, usd_per_h=tuple(tuple(usd * factor for usd in row) for row in api.usd_per_h))


def scenarios(
    problem: FleetProblem,
    choice: FleetChoice,
    solve: Solve | None = None,
    headroom: Mapping[str, Fraction] | None = None,
) -> tuple[Scenario, ...]:
    """The plan kept (replicas and purchases) against the best plan, when one thing changes.

    Demand -20 % and +20 %, speeds -15 % and +15 %, the worst of both together, the price of each term that
    the problem knows -20 % and +20 %.

    Args:
        problem: the question.
        choice: its answer, with at least one period.
        solve: plans again; None: only the fixed fleet is looked at, and ``best_usd_per_hour`` is None.
        headroom: by workload, as 0.2 for demand x 1.2; absent = none.
    """
    return tuple(scenario(problem, choice, case, solve, headroom) for case in cases(problem))


def cases(problem: FleetProblem) -> tuple[Case, ...]:
    """What may change: each knows nothing of the others."""
    found = [Case(f"demand {_signed(factor)}", demand=factor) for factor in DEMAND]
    found += [Case(f"speed {_signed(factor)}", speed=factor) for factor in SPEED]
    both = f"demand {_signed(DEMAND[1])}, speed {_signed(SPEED[0])}"
    found.append(Case(both, DEMAND[1], SPEED[0]))
    held = {line.term for line in problem.lines}
    for term in (term for term in _TERMS if term in held):
        name = term.replace("_", "-")
        found += [Case(f"{name} price {_signed(factor)}", prices={term: factor}) for factor in PRICE]
    return tuple(found)


def _signed(factor: Fraction) -> str:
    return numbers.signed_share(float(factor - 1))


def scenario(
    problem: FleetProblem,
    choice: FleetChoice,
    case: Case,
    solve: Solve | None = None,
    headroom: Mapping[str, Fraction] | None = None,
) -> Scenario:
    """The plan kept against the best plan when one thing changes; arguments as of `scenarios`."""
    changed = scaled(problem, case.demand, case.speed, case.prices)
    fleet = Carrying(changed, choice, headroom)
    least, plain, hit = _ALL, _ALL, ""
    for t in range(len(choice.periods)):
        for one in fleet.carried(t, fleet.counts(t)):
            plain = min(plain, one.plain)
            if one.share < least:
                least, hit = one.share, one.workload
    best = None if solve is None else solve(changed)
    return Scenario(
        name=case.name,
        demand=float(case.demand),
        speed=float(case.speed),
        prices={term: float(factor) for term, factor in case.prices.items()},
        carried_share=float(least),
        carried_without_headroom=float(plain),
        workload=hit,
        late=_late(changed, choice),
        fixed_usd_per_hour=_usd_per_h(changed, choice),
        best_usd_per_hour=None if best is None or not best.periods else _usd_per_h(changed, best),
        status="unknown" if best is None else best.status,
    )


def _late(problem: FleetProblem, choice: FleetChoice) -> tuple[str, ...]:
    """Workloads of which some pair of prefill and decode replicas breaks the limit of the first token."""
    options = {option.id: option for option in problem.options}
    found = set()
    for period in choice.periods:
        used = [options[name] for name, count in period.replicas() if count]
        for coupling in problem.couplings:
            if any(broken_pairs([o for o in used if o.workload == coupling.workload], coupling)):
                found.add(coupling.workload)
    return tuple(sorted(found))


def _usd_per_h(problem: FleetProblem, choice: FleetChoice) -> float:
    return float(bill(problem, choice.periods).usd / len(choice.periods))


def robust_variant(
    problem: FleetProblem,
    solve: Solve,
    demand: Fraction = DEMAND[1],
    speed: Fraction = SPEED[0],
    choice: FleetChoice | None = None,
) -> RobustVariant:
    """The cheapest fleet that carries more demand with slower replicas, at today's prices.

    Its premium is its cost less that of the plan: GPUs and start charges as it buys them; outside suppliers
    are paid for the demand as planned.

    Args:
        problem: the question.
        solve: plans.
        demand: times the demand, as 6/5.
        speed: times the speed, as 17/20.
        choice: the plan; None: it is made with ``solve``.
    """
    plan = solve(problem) if choice is None else choice
    robust = solve(scaled(problem, demand, speed))
    if not robust.periods:
        return RobustVariant(demand=float(demand), speed=float(speed), status=robust.status)
    usd_per_h = _usd_per_h(problem, robust)
    base = _usd_per_h(problem, plan) if plan.periods else None
    more = None if base is None else usd_per_h - base
    return RobustVariant(
        demand=float(demand),
        speed=float(speed),
        status=robust.status,
        usd_per_hour=usd_per_h,
        premium_usd_per_hour=more,
        premium_share=None if more is None or not base else more / base,
        gpus=most_gpus(problem, robust),
    )
