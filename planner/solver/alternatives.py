"""Several plans for one problem: the best ones that differ, and the front of several quantities."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from planner.schema.choice import Choice, ChoiceProblem, Choices, Objective, Option
from planner.schema.reasons import Goal
from planner.solver.solve import deadline
from planner.solver.ways import servable

if TYPE_CHECKING:
    from planner.solver.dominance import Kind

_MOST_POINTS = 100


def option_id(option: Option) -> Hashable:
    """Every option is a kind of its own."""
    return option.id


def alternatives(
    problem: ChoiceProblem,
    most: int,
    *,
    kind: Kind = option_id,
    goal: Goal = "plan",
    time_limit_s: float | None = None,
    seed: int = 0,
    workers: int = 1,
) -> Choices:
    """The best plans that differ in the kinds of options in use, best first.

    A plan is an alternative when `solve` would return it if only its own kinds were on offer: none of its
    kinds can be left out without loss. So the first is the plan that `solve` returns, and no later one is
    an earlier one with kinds added for nothing.

    Each next plan is the best of those that leave out some kind of every earlier plan. No alternative is
    lost by that: one that uses all kinds of an earlier plan, and more, would be better than that plan and
    therefore have come before it.

    Args:
        problem: what is asked.
        most: how many plans at most.
        kind: what makes two options the same.
        goal: ``value`` leaves ties unsettled (then equal plans may have kinds for nothing).
        time_limit_s: wall time for everything; a list that it ends is not exhausted.
        seed: of the search.
        workers: threads of the search.

    Raises:
        InputError: a form of spares or packing that cannot be sized exactly.
    """
    deadline_s = deadline(time_limit_s)
    question, unserved = servable(problem)
    if unserved:
        return Choices((), exhausted=True)
    from planner.solver.prepared import Prepared

    ready = Prepared(question, kind=kind, deadline_s=deadline_s, seed=seed, workers=workers)
    kinds = {option.id: kind(option) for option in problem.options}
    found: list[Choice] = []
    while len(found) < most:
        choice = ready.best(goal)
        if choice.status != "optimal":
            return Choices(tuple(found), choice.status == "infeasible")
        found.append(choice)
        in_use = list(dict.fromkeys(kinds[name] for name in choice.counts))
        if not in_use:
            return Choices(tuple(found), exhausted=True)
        ready.model.post_not_all(in_use, kind)
    return Choices(tuple(found), exhausted=False)


def front(
    problem: ChoiceProblem,
    axes: Sequence[Objective],
    *,
    most: int = _MOST_POINTS,
    time_limit_s: float | None = None,
    seed: int = 0,
    workers: int = 1,
) -> Choices:
    """All plans of which no other is better on one axis and no worse on the rest; the first axis ascends.

    One plan per point. Each next point has the least first axis, then the least second and so on, of
    the plans that are better than every earlier point on some axis; none of these can be dominated, and
    when there are none left the front is complete.

    Args:
        problem: what is asked; ties are settled as `solve` does.
        axes: different quantities, all minimized.
        most: points at most.
        time_limit_s: wall time for everything; a front that it ends is not exhausted.
        seed: of the search.
        workers: threads of the search.

    Raises:
        InputError: a form of spares or packing that cannot be sized exactly.
    """
    deadline_s = deadline(time_limit_s)
    question, unserved = servable(problem)
    if unserved:
        return Choices((), exhausted=True)
    from planner.solver.prepared import Prepared

    question = replace(question, limits=replace(question.limits, objective=axes[0]))
    ready = Prepared(question, axes=axes, deadline_s=deadline_s, seed=seed, workers=workers)
    found: list[Choice] = []
    while len(found) < most:
        choice = ready.best("plan", axes)
        if choice.status != "optimal":
            return Choices(tuple(found), choice.status == "infeasible")
        found.append(choice)
        if len(axes) == 1:
            return Choices(tuple(found), exhausted=True)
        # The first axis only grows from here on: a new point is better on one of the others.
        ready.model.post_better({axis: ready.reached[axis] for axis in axes[1:]})
    return Choices(tuple(found), exhausted=False)
