"""What is said of the simplest plan."""

from __future__ import annotations

from fractions import Fraction

from planner import numbers
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.plan import Simplicity
from planner.solver.simple_counts import counts_of


def short_lived(tolerance: Fraction, hours: int) -> str:
    """The warning that layouts live shorter than so many hours."""
    return (
        f"no plan was found within {numbers.share(float(tolerance))} of the optimum in which every layout is "
        f"in use for {hours} hours without a break: layouts live shorter (fleet.min_layout_hours asks)"
    )


def simplicity_of(
    question: FleetProblem, optimum: FleetChoice, choice: FleetChoice, *, proved: bool, least: int
) -> Simplicity:
    """What the plan is beside the optimum, counted and priced.

    Args:
        question: what both answer.
        optimum: the cheapest known.
        choice: the plan.
        proved: no plan within the tolerance is simpler.
        least: no plan within it has fewer pools.
    """
    mine, others = counts_of(question, choice), counts_of(question, optimum)
    periods = question.periods
    before, more = optimum.cost_usd / periods, (choice.cost_usd - optimum.cost_usd) / periods
    return Simplicity(
        pools=mine["pools"],
        changes=mine["changes"],
        places=mine["places"],
        optimum_usd_per_hour=float(before),
        costs_usd_per_hour=float(more),
        optimum_pools=others["pools"],
        optimum_changes=others["changes"],
        proved=proved,
        pools_at_least=min(least, mine["pools"]),
        text=_sentence(mine["pools"], mine["changes"], others["pools"], others["changes"], before, more),
    )


def nothing_simpler_carries(simplicity: Simplicity) -> Simplicity:
    """Where what was found does not carry its hours at the size of its pools."""
    counts = _counted(simplicity.pools, simplicity.changes)
    return _saying(simplicity, f"{counts}: no simpler plan was found that carries every hour")


def short_lived_too(simplicity: Simplicity, hours: int) -> Simplicity:
    """Where the least life of layouts was given up."""
    given_up = f"some layout lives less than {hours} hours, none was found that need not"
    return _saying(simplicity, f"{simplicity.text}; {given_up}")


def _saying(simplicity: Simplicity, text: str) -> Simplicity:
    return simplicity.model_copy(update={"text": text})


def _counted(pools: int, changes: int) -> str:
    return f"{numbers.count(pools, 'pool')}, {numbers.count(changes, 'change')} a day"


def _sentence(
    pools: int, changes: int, other_pools: int, other_changes: int, before: Fraction, more: Fraction
) -> str:
    now = _counted(pools, changes)
    if (pools, changes) == (other_pools, other_changes) or not more:
        return f"{now}: the simplest of the cheapest plans"
    other = [numbers.count(other_pools, "pool")]
    if other_changes != changes:
        other.append(numbers.count(other_changes, "change") + " a day")
    share = numbers.share(float(more / (before + more)))
    return f"{now}; {' with '.join(other)} would save {share} ({numbers.usd(float(more))}/h)"
