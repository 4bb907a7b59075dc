"""Defaults that a later version of the planner changed: why the same problem gets another plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from planner.schema.plan import Difference, Plan


@dataclass(frozen=True)
class MovedDefault:
    """A key whose absence means something else since a version."""

    since: tuple[int, ...]
    path: str
    before: str
    after: str
    as_before: str
    """What to write to get the former plan; empty where nothing does."""
    by_workload: bool = False
    """A workload may state the key too."""
    of_days: bool = False
    """It only says something about plans of several hours."""
    limit: str = ""
    """It only says something where one of the plans has such a limit."""


MOVED = (
    MovedDefault(
        (0, 2),
        "fleet.routing.policy",
        "random: every replica is a queue of its own",
        "least-loaded, prompts for prefill workers in a shared queue",
        "policy: random",
        by_workload=True,
    ),
    MovedDefault(
        (0, 2),
        "fleet.start_cost",
        "0 %: starts are free",
        "cold start and drain of every replica that starts on rented GPUs are paid",
        "start_cost: 0 %",
        of_days=True,
    ),
    MovedDefault(
        (0, 2),
        "fleet.simplicity",
        "0 %: the optimum",
        "2 %: within so much of the optimum the plan with the fewest pools and changes",
        "simplicity: 0 %",
        of_days=True,
    ),
    MovedDefault(
        (0, 2),
        "fleet.mix_places",
        "true: a workload may stand with several providers and in several regions",
        "offers of the price lists serve a workload from one provider and region",
        "mix_places: true",
        limit="places",
    ),
)


def moved_defaults(before: Plan, after: Plan) -> Iterator[Difference]:
    """One entry for each default that moved between two versions and that the later problem leaves open."""
    old, new = _version(before), _version(after)
    if old == new or before.inputs.problem.get("workers") or after.inputs.problem.get("workers"):
        return
    for one in MOVED:
        if one.of_days and len(after.periods) <= 1:
            continue
        if one.limit and not any(item.id.startswith(one.limit) for item in after.constraints):
            continue
        if (old < one.since <= new or new < one.since <= old) and not _states(after.inputs.problem, one):
            was, now = (one.before, one.after) if old < new else (one.after, one.before)
            back = f" ({one.as_before} gives the former)" if one.as_before and old < new else ""
            text = f"{one.path} is not stated: {now}; before, {was}{back}."
            yield Difference(what=f"input:{one.path}", before=was, after=now, text=text)


def _version(plan: Plan) -> tuple[int, ...]:
    parts = plan.provenance.planner.split(".")
    return tuple(int(part) for part in parts if part.isdigit())


def _states(problem: Mapping[str, Any], one: MovedDefault) -> bool:
    """The problem itself, or every workload of it, states the key."""
    section, _, rest = one.path.partition(".")
    if _at(problem.get(section, {}), rest) is not None:
        return True
    workloads = problem.get("workloads", ())
    return one.by_workload and bool(workloads) and all(_at(item, rest) is not None for item in workloads)


def _at(value: Any, path: str) -> Any:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
