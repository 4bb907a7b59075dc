"""Why a plan is what it is: conflicts, relaxations, prices of limits, plans and GPU types that lost."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.limit_words import limit_in_words
from planner.explain.phrases import listing
from planner.report.headline import UNITS
from planner.report.parts import bullets, section, table
from planner.schema.compared import RunnerUp
from planner.schema.limits_told import Change, Price, Relaxation
from planner.schema.plan import Plan

_TYPED_WITH_UNIT = ("s", "USD/h", "W", "%", "fraction")
"""Units that a problem file wants to see; other keys carry theirs in their name."""


def conflicts_section(plan: Plan) -> RenderableType | None:
    """Sets of limits that cannot hold together, with where each of them stands."""
    if not plan.conflicts:
        return None
    body: list[RenderableType] = [bullets(conflict_lines(plan))]
    if not plan.conflicts_complete:
        body.append(Text("There may be more: a limit of time or number ended the search.", "dim"))
    return section("Limits that cannot hold together", *body)


def conflict_lines(plan: Plan) -> list[str]:
    """A sentence for each set of limits that cannot hold together."""
    facts = [*plan.conflict_context, *[()] * len(plan.conflicts)]
    return [_conflict(plan, conflict, given) for conflict, given in zip(plan.conflicts, facts, strict=False)]


def _conflict(plan: Plan, conflict: Sequence[str], given: Sequence[str]) -> str:
    """What is given first: that is what people look for."""
    words = listing([limit_in_words(plan, name) for name in conflict])
    head = f"With {listing([limit_in_words(plan, name) for name in given])}: " if given else ""
    if len(conflict) == 1:
        return f"{head}{words} cannot hold, whatever the other limits are."
    return f"{head}{words}: one of them has to give."


def relaxations_section(plan: Plan) -> RenderableType | None:
    """The smallest changes that would make a plan possible, and what it then costs."""
    if not plan.relaxations:
        return None
    rows = [
        (
            f"{place}",
            "\n".join(moved.id for moved in relaxation.changes),
            "\n".join(numbers.exact(moved.from_, moved.unit) for moved in relaxation.changes),
            "\n".join(_to(moved) for moved in relaxation.changes),
            _cost(relaxation.cost_usd_per_hour),
        )
        for place, relaxation in enumerate(plan.relaxations, 1)
    ]
    words = "Each was solved again and gives a plan; single limits first, the smallest change first."
    headings = ("", "change", "from", "to", "then costs")
    body: list[RenderableType] = [table(headings, rows, right=[4]), Text(words, "dim")]
    command = relaxation_command(plan.relaxations[0])
    if command:
        body.append(Text(f"To see the first:\n{command}", "dim"))
    return section("What would make it possible", *body)


def _to(moved: Change) -> str:
    to = numbers.exact(moved.to, moved.unit)
    if isinstance(moved.from_, str) or isinstance(moved.to, str) or not moved.from_ or moved.to is None:
        return to
    return f"{to} ({numbers.signed_share(moved.to / moved.from_ - 1)})"


def relaxation_command(relaxation: Relaxation) -> str:
    """The what-if that shows a relaxation; empty where a change has no path of its own."""
    flags = []
    for moved in relaxation.changes:
        if moved.path is None or moved.to is None or isinstance(moved.to, str):
            return ""
        kept = moved.unit.partition(" ")[0] in _TYPED_WITH_UNIT
        flags.append(f"--set '{moved.path}={numbers.exact(moved.to, moved.unit if kept else '')}'")
    return " \\\n    ".join(["planner whatif PROBLEM", *flags])


def prices_section(plan: Plan) -> RenderableType | None:
    """What each limit costs: one step looser, and without it; the dearest first."""
    if not plan.prices:
        return None
    dear = [price for price in plan.prices if any(savings(price))]
    free = [price.id for price in plan.prices if not any(savings(price)) and price.proved]
    unsure = [price.id for price in plan.prices if not any(savings(price)) and not price.proved]
    body: list[RenderableType] = []
    if dear:
        dear.sort(key=lambda price: ([-saved for saved in reversed(savings(price))], price.id))
        headings = ("limit", "one step", "saves", "without it")
        body.append(table(headings, [_price(plan, price) for price in dear], right=[2, 3]))
    if free:
        body.append(Text(f"Loosening changes nothing: {listing(free)}."))
    if unsure:
        body.append(Text(f"What loosening saves is not known: {listing(unsure)}."))
    if any(not price.proved for price in plan.prices):
        body.append(Text("≥: a limit of time ended a search; the savings may be larger.", "dim"))
    return section("What a limit costs", *body)


def savings(price: Price) -> tuple[float, float]:
    """Of one step and of the whole limit, in the unit of the objective."""
    if price.saves_objective is not None and price.removed_saves_objective is not None:
        return price.saves_objective, price.removed_saves_objective
    return price.saves_usd_per_hour, price.removed_saves_usd_per_hour


def _price(plan: Plan, price: Price) -> tuple[str, str, str, str]:
    unit = "USD/h" if price.saves_objective is None else UNITS[plan.objective.name]
    mark, none = ("", "nothing") if price.proved else ("≥ ", "not known")
    step, whole = (f"{mark}{numbers.quantity(saved, unit)}" if saved else none for saved in savings(price))
    return price.id, price.step, step, whole


def _cost(usd_per_hour: float | None) -> str:
    return "" if usd_per_hour is None else f"{numbers.usd(usd_per_hour)}/h"


def why_not_section(plan: Plan) -> RenderableType | None:
    """GPU types without any configuration that keeps the limits."""
    if not plan.why_not:
        return None
    rows = [(item.gpu, item.why) for item in sorted(plan.why_not, key=lambda item: item.gpu)]
    return section("Cannot serve this", table(("GPU", "the nearest configuration"), rows))


def runners_up_section(plan: Plan) -> RenderableType | None:
    """The best plans that lost, and why."""
    if not plan.runners_up:
        return None
    rows = []
    for other in plan.runners_up:
        dearer = ""
        if plan.cost_usd_per_hour:
            dearer = f"\n{other.cost_usd_per_hour / plan.cost_usd_per_hour - 1:+.1%}".replace("%", " %")
        fleet = f"{other.gpus:,} × {other.gpu}\n{numbers.count(other.replicas, 'replica')}"
        rows.append(
            (
                fleet,
                f"{numbers.usd(other.cost_usd_per_hour)}/h{dearer}",
                f"{other.option}\n{_reason(other.why)}{_error(other)}",
            )
        )
    return section("Next best, and why not", table(("fleet", "cost", "option and reason"), rows, right=[1]))


def _error(other: RunnerUp) -> str:
    """What nobody can tell without a measurement."""
    if not other.within_error or other.error is None:
        return ""
    return f"; within the error of this comparison (±{numbers.share(other.error)}): measure both"


def _reason(why: str) -> str:
    """The reason without the difference in cost, which has a column of its own."""
    first, _, rest = why.partition("; ")
    return rest if rest and "more" in first else why
