"""Why a fleet has no plan and what would give it one; what every limit of its plan costs."""

from __future__ import annotations

from collections.abc import Iterable

from planner import numbers
from planner.explain.conflict_context import conflict_context
from planner.explain.conflicts import minimal_conflicts
from planner.explain.oracle import Oracle
from planner.explain.phrases import NO_PRICE
from planner.explain.prices import prices
from planner.explain.relaxations import foremost, relaxations
from planner.planning.asking.limits import given_name
from planner.planning.run import Run
from planner.schema.limits_told import Price
from planner.schema.plan import Plan
from planner.schema.reasons import Asker, NamedLimit

_GIVEN = (
    "no limit that somebody could grant is in the way: what is given is, such as demand, spares, residency "
    "or what the market has"
)
_LEFT_OPEN = (
    "some questions stayed open within the time or work allowed: there may be other conflicts, and changes "
    "smaller than those shown"
)
_FEW = 3


def fleet_reasons(limits: Iterable[NamedLimit], asker: Asker, plan: Plan, run: Run) -> Plan:
    """The plan document with the reasons that its status calls for.

    Infeasible: all minimal conflicts, and the smallest changes that give a plan, each solved again. Else the
    price of every limit; where a search was cut, only what a change is sure to save, and limits that are not
    sure to save anything are left out with a warning.

    Args:
        limits: those whose prices are shown.
        asker: the fleet.
        plan: its document.
        run: whom to tell about progress; its time limit is kept by the asker.
    """
    if plan.status == "unknown":
        return plan
    oracle = Oracle.of(asker)
    if plan.status == "infeasible":
        return _stuck(oracle, plan, run)
    with run.step("prices", "pricing every limit"):
        base = oracle.ask({}, "value")
        found = prices(oracle, base)
    wanted = {limit.id for limit in limits}
    rows = [price for price in found if price.id in wanted]
    kept = [price for price in rows if price.proved or _saves(price)]
    update: dict[str, object] = {"prices": tuple(kept)}
    left_out = [price.id for price in rows if price not in kept]
    if left_out:
        update["warnings"] = (*plan.warnings, _unsure(left_out, plan))
    return plan.model_copy(update=update)


def _stuck(oracle: Oracle, plan: Plan, run: Run) -> Plan:
    with run.step("foremost", "asking what would suffice alone"):
        oracle.feasible({})
        foremost(oracle)
    with run.step("conflicts", "finding what stands in the way"):
        conflicts = minimal_conflicts(oracle)
        beside = conflict_context(oracle, conflicts)
    with run.step("relaxations", "finding the smallest ways out"):
        ways = relaxations(oracle, conflicts)
    update: dict[str, object] = {
        "conflicts": conflicts.sets,
        "conflicts_complete": conflicts.complete,
        "conflict_context": tuple(tuple(map(given_name, facts)) for facts in beside),
        "relaxations": ways,
    }
    warnings = [_GIVEN] if conflicts.given else []
    warnings += [_LEFT_OPEN] if oracle.left_open else []
    if warnings:
        update["warnings"] = (*plan.warnings, *warnings)
    return plan.model_copy(update=update)


def _saves(price: Price) -> bool:
    rows = (price.saves_usd_per_hour, price.removed_saves_usd_per_hour)
    stated = (price.saves_objective or 0.0, price.removed_saves_objective or 0.0)
    return any(saved > 0 for saved in (*rows, *stated))


def _unsure(names: list[str], plan: Plan) -> str:
    """What was left out, and why."""
    shown = ", ".join(names[:_FEW]) + (f" and {len(names) - _FEW} more" if len(names) > _FEW else "")
    gap = plan.objective.gap
    why = f"the plan is proved only within {numbers.share(gap)}" if gap else "the time limit ended the search"
    return f"{NO_PRICE} {shown}: {why}, and what loosening saves is not sure to be more than nothing"
