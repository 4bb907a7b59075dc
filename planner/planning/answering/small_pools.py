"""Hours in which a pool is smaller than the one whose capacity was planned with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from planner import numbers
from planner.candidates.options import MICRO
from planner.planning.answering.bound_of_hour import answers_at_real_sizes, least_of
from planner.planning.answering.lone_replicas import bound_of_lone_replicas
from planner.planning.answering.real_sizes import Hour, lost_of, slower, slowness, too_small
from planner.planning.answering.replicas_added import with_idle_gpus, with_more_replicas
from planner.planning.answering.sized_hours import with_more_demand
from planner.planning.documents.pools import fleet_pools
from planner.planning.formulation.fleet_case import FleetCase
from planner.schema.choice import Option, Status
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.solver.blocking_limits import gap

_ROUNDS, _MORE_ROUNDS = 5, 2
"""Questions for a plan that carries every hour; for one of many variants."""
_SMALL_STEPS, _STEP = 24, Fraction(5, 4)
"""Questions in which layouts that lack something count as a little slower, and how much slower each."""
_HARDLY_MORE = 1 + Fraction(1, 100)
"""Half of what calm plans may cost more by default: a better optimum would hardly move the plan."""
_NONE = Fraction(0)
Solve = Callable[[FleetProblem], FleetChoice]
Again = Callable[[FleetProblem, FleetChoice], FleetChoice]
"""A question, and a plan near it to begin from."""
Sized = Callable[[FleetCase, FleetChoice], FleetChoice | None]
"""A case and its first answer; the answer with rates of each hour's own size, where that is worth it."""


def settled_sizes(
    case: FleetCase,
    solve: Solve,
    choice: FleetChoice | None = None,
    again: Again | None = None,
    prove: Solve | None = None,
    sized: Sized | None = None,
    soon: Solve | None = None,
) -> tuple[FleetCase, FleetChoice]:
    """The answer in which every pool carries its demand at the number of replicas that it really has.

    A replica is planned with what it carries in a pool that serves the busiest hour. At night a pool is
    smaller and each of its replicas carries less. Where that breaks a plan, the demand of those hours is
    counted as so much higher and the question is asked again. A plan that was not proved gets the replicas
    that it lacks instead: asked again from nothing, it would be another plan, and no better. Where time
    ends a round, or nothing carries that, the plan before stands and says what it lacks.

    Rates at the real sizes are never higher, so what bounds the first answer bounds all of them; that an
    answer is the best of a question with more demand proves nothing of it. Where the bound is below the plan,
    what replicas carry alone may bound it better.

    Args:
        case: what is asked.
        solve: answers a question.
        choice: the answer to its question, where it is known.
        again: answers a question near one whose answer was not proved; default: ``solve``.
        sized: answers where rates are those of each hour; default: such an answer is not looked for.
        soon: answers a question near one whose answer was proved, without such a proof; default: ``solve``.
        prove: bounds a question from below in a moment; default: the bound of the first answer is told.
    """
    first = solve(case.question) if choice is None else choice
    case, found = _settled(case, solve, first, again, sized, soon or solve)
    bound = first.lower_bound
    if prove is not None and (found.value or _NONE) > (bound or _NONE):
        if case.question.periods > 1:
            better = bound_of_lone_replicas(case, prove)
        else:
            answers = answers_at_real_sizes(case, _factors_of_hour(case, first), prove)
            better = least_of(answers)
            case, found = _best_that_carries(case, found, answers)
        bound = bound if better is None else max(bound or _NONE, min(better, found.value or better))
    return case, _bounded(found, bound)


def _best_that_carries(
    case: FleetCase, found: FleetChoice, others: Sequence[FleetChoice]
) -> tuple[FleetCase, FleetChoice]:
    """The cheapest of these plans that carries its demand at its real size."""
    for other in others:
        cheaper = other.value is not None and (found.value is None or other.value < found.value)
        if cheaper and not too_small(case, other):
            case, found = replace(case, settled=None), other
    return case, found


def _factors_of_hour(case: FleetCase, first: FleetChoice) -> Mapping[Hour, Fraction]:
    """How much more than its demand each pool was asked for at last, or lacked at first."""
    asked = {demand.pool: demand.demand_rps[0][0] for demand in (case.settled or case.question).demands}
    factors = {
        (*demand.pool, 0): asked[demand.pool] / demand.demand_rps[0][0]
        for demand in case.question.demands
        if asked[demand.pool] > demand.demand_rps[0][0]
    }
    return factors or too_small(case, first)


def _settled(
    case: FleetCase,
    solve: Solve,
    choice: FleetChoice,
    again: Again | None,
    sized: Sized | None,
    soon: Solve,
) -> tuple[FleetCase, FleetChoice]:
    bound, proved = choice.lower_bound, choice.status == "optimal"
    factors: dict[Hour, Fraction] = {}
    grown: tuple[FleetCase, FleetChoice] | None = None
    for _ in range(_ROUNDS):
        more = too_small(case, choice)
        if more and (filled := with_idle_gpus(case, choice, more)) is not None:
            return case, filled
        if not more:
            break
        if (more_replicas := with_more_replicas(case, choice)) is not None:
            grown = _cheaper(grown, case, more_replicas)
        if grown is not None and not proved and (again is None or _near(grown[1], choice)):
            return grown
        if not proved and (by_hour := _by_hour(case, choice, sized)) is not None:
            return _cheaper(grown, *by_hour)
        factors = _larger(factors, more)
        settled = _tightened(case, case.question, factors)
        found = soon(settled) if proved or again is None else again(settled, choice)
        if not found.periods:
            break
        case, choice = replace(case, settled=settled), found
    left = too_small(case, choice)
    if grown is not None and (left or (grown[1].value or _NONE) < (choice.value or _NONE)):
        return grown
    if not left:
        return case, choice
    return _step_by_step(case, solve, choice, bound) or (_without_plan(case, left), FleetChoice("unknown"))


def _by_hour(
    case: FleetCase, choice: FleetChoice, sized: Sized | None
) -> tuple[FleetCase, FleetChoice] | None:
    """The answer with rates of each hour's own size, and with what it still lacks."""
    found = None if sized is None else sized(case, choice)
    if found is not None and too_small(case, found):
        found = with_more_replicas(case, found)
    if found is None:
        return None
    return replace(case, settled=_tightened(case, case.question, slowness(case, found))), found


def _near(grown: FleetChoice, choice: FleetChoice) -> bool:
    """With what an answer lacks it costs hardly more: no other answer is worth a question."""
    return (grown.value or _NONE) <= (choice.value or _NONE) * _HARDLY_MORE


def _cheaper(
    known: tuple[FleetCase, FleetChoice] | None, case: FleetCase, found: FleetChoice
) -> tuple[FleetCase, FleetChoice]:
    """The better of two plans that carry every hour."""
    if known is not None and (known[1].value or _NONE) <= (found.value or _NONE):
        return known
    return case, found


def _bounded(choice: FleetChoice, bound: Fraction | None) -> FleetChoice:
    """The plan with what is proved of it: it is the best where it reaches the bound."""
    if choice.value is None or choice.lower_bound == bound:
        return choice
    status: Status = "optimal" if choice.value == bound else "feasible"
    return replace(choice, status=status, lower_bound=bound, gap=gap(choice.value, bound))


def _step_by_step(
    case: FleetCase, solve: Solve, choice: FleetChoice, bound: Fraction | None
) -> tuple[FleetCase, FleetChoice] | None:
    """The answer where layouts that are too slow in small pools count as a little slower, again and again.

    More demand in an hour asks for more of any layout; where nothing has the room for it, another layout may
    carry what is asked. Headroom is given up: what is left of it is said. None where that is not enough.
    A layout that counts as slower may be faster in a larger pool, so no answer here is proved; ``bound``, of
    the question in which all count as in their largest pool, holds.
    """
    factors: dict[str, Fraction] = {}
    for _ in range(_SMALL_STEPS):
        slow = _slow_options(case, choice)
        if not slow:
            left = too_small(case, choice)
            choice = _bounded(choice, bound)
            return (replace(case, warnings=(*case.warnings, *_lines(left))) if left else case), choice
        before = {name: factors.get(name, Fraction(1)) for name in slow}
        factors |= {name: max(before[name], min(slow[name], before[name] * _STEP)) for name in slow}
        settled = replace(
            case.question, options=tuple(_counted_less(option, factors) for option in case.question.options)
        )
        choice = solve(settled)
        if not choice.periods:
            return None
        case = replace(case, settled=settled)
    return None


def _counted_less(option: Option, factors: Mapping[str, Fraction]) -> Option:
    factor = factors.get(option.anywhere)
    if factor is None:
        return option
    return replace(
        option, rates_rps=tuple(Fraction(int(rate / factor * MICRO), MICRO) for rate in option.rates_rps)
    )


def _slow_options(case: FleetCase, choice: FleetChoice) -> dict[str, Fraction]:
    """Options of pools that lack more than headroom in an hour, with the least that would be counted less."""
    fleet = case.problem.fleet
    room = {
        workload.name: 1 + Fraction(fleet.headroom_of(workload).capacity).limit_denominator(MICRO)
        for workload in case.problem.workloads
    }
    pools = fleet_pools(case.question, choice, list(room))
    lost = {demand.pool: lost_of(demand) for demand in case.question.demands}
    found: dict[str, Fraction] = {}
    for (workload, role, t), need in too_small(case, choice).items():
        mine = [pool for pool in pools if pool.option.pool == (workload, role)]
        for pool in mine if need > room[workload] else ():
            if not pool.counts[t]:
                continue
            factor = slower(case, pool, mine, t, lost[workload, role]) / room[workload]
            if factor > 1:
                name = pool.option.anywhere
                found[name] = min(found.get(name, factor), factor)
    return found


def _without_plan(case: FleetCase, left: Mapping[Hour, Fraction]) -> FleetCase:
    """The case with what the nearest plan lacks: a plan that breaks limits is none."""
    said = "more than the headroom: it breaks limits then, and no plan was found that keeps them"
    return replace(case, warnings=(*case.warnings, *_lines(left, said)))


def carried(
    case: FleetCase,
    question: FleetProblem,
    found: FleetChoice,
    solve: Solve,
    most: Fraction | None = None,
) -> FleetChoice:
    """The answer to a variant of the case's question with every hour carried, else ``unknown``.

    Args:
        case: what is asked.
        question: a variant, with limits of its own.
        found: its answer.
        solve: answers a variant.
        most: answers beyond are given as they are, where it is stated.
    """
    factors: dict[Hour, Fraction] = {}
    for round_ in range(_MORE_ROUNDS + 1):
        if found.value is None or (most is not None and found.value > most):
            break
        if not (more := too_small(case, found)):
            break
        if round_ == _MORE_ROUNDS:
            return FleetChoice("unknown")
        factors = _larger(factors, more)
        found = solve(_tightened(case, question, factors))
    # Of tightened questions "infeasible" says nothing about the variant.
    return FleetChoice("unknown") if factors and found.value is None else found


def _larger(factors: Mapping[Hour, Fraction], others: Mapping[Hour, Fraction]) -> dict[Hour, Fraction]:
    return {at: max(factors.get(at, _NONE), others.get(at, _NONE)) for at in {**factors, **others}}


def _tightened(case: FleetCase, question: FleetProblem, factors: Mapping[Hour, Fraction]) -> FleetProblem:
    """The question with so much more than the case's demand in these hours, or its own if that is more."""
    more = {demand.pool: demand.demand_rps for demand in with_more_demand(case.question, factors).demands}
    demands = tuple(
        replace(
            demand,
            demand_rps=tuple(
                tuple(max(pair) for pair in zip(needs, asked, strict=True))
                for needs, asked in zip(demand.demand_rps, more[demand.pool], strict=True)
            ),
        )
        for demand in question.demands
    )
    return replace(question, demands=demands)


def _lines(factors: Mapping[Hour, Fraction], said: str = "which takes from the headroom") -> tuple[str, ...]:
    """What is lacking, by workload."""
    most: dict[str, Fraction] = defaultdict(Fraction)
    for (workload, _, _), factor in factors.items():
        most[workload] = max(most[workload], 1 - 1 / factor)
    return tuple(
        f"{workload}: in hours with few replicas each carries up to {numbers.share(float(lack))} less than "
        f"planned, {said}"
        for workload, lack in sorted(most.items())
    )
