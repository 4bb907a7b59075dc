"""Limits by id in words: what each is and where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner import numbers
from planner.constraints.plan.of_line import LineLimit
from planner.constraints.plan.registry import BY_KIND
from planner.explain.problem_values import peak_rps, problem_value
from planner.schema.plan import Plan

_TITLES = {
    "ttft": "time to first token",
    "itl": "inter-token latency",
    "tpot": "time per output token",
    "e2e": "end-to-end time",
}


def limit_in_words(plan: Plan, name: str) -> str:
    """``ttft:chat (time to first token, 50.0 ms)``: as much as the document says about the limit."""
    words = ", ".join(part for part in (_title(plan, name), _stands_at(plan, name)) if part)
    return f"{name} ({words})" if words else name


def _title(plan: Plan, name: str) -> str:
    stated = next((item.title for item in plan.removed if item.id == name), "")
    kind = name.partition(":")[0]
    known = BY_KIND.get(kind)
    title = stated or _TITLES.get(kind, "")
    if not title and known is not None and not known.plain:
        title = known.title
    # A title that only repeats the id says nothing.
    return "" if title.replace(" of ", ":").replace(" ", "-") == name else title


def _stands_at(plan: Plan, name: str) -> str:
    """The value of the limit."""
    known = [(item.id, item.limit, item.unit) for item in plan.removed]
    known += [(state.id, state.limit, state.unit) for state in plan.constraints]
    for id_, most, unit in known:
        if id_ == name and most is not None:
            return numbers.quantity(most, unit)
    kind, _, owner = name.partition(":")
    if kind == "owned":
        count = problem_value(plan, "fleet", "owned", owner)
        return numbers.count(count, "GPU") if isinstance(count, int) else ""
    if kind == "demand":
        rate_rps = peak_rps(plan, owner)
        return "" if rate_rps is None else numbers.rate(rate_rps)
    limit = BY_KIND.get(kind)
    if limit is None:
        return ""
    if isinstance(limit, LineLimit):
        stated = _of_line(plan, name.partition(":")[2], limit.key)
    else:
        stated = problem_value(plan, *limit.keys(name))
    if name == "budget" and isinstance(stated, Mapping):
        stated = stated.get("per_hour")
    return "" if stated is None or isinstance(stated, Mapping) else limit.in_words(stated, name)


def _of_line(plan: Plan, line: str, key: str) -> Any:
    """A key of a line of the supply: ``GPU/TERM``, the second of that name ``GPU/TERM#2``."""
    name, _, place = line.partition("#")
    gpu, _, term = name.rpartition("/")
    listed = problem_value(plan, "fleet", "supply")
    items = [item for item in listed if isinstance(item, Mapping)] if isinstance(listed, list) else []
    same = [item for item in items if (item.get("gpu"), item.get("term")) == (gpu, term)]
    index = int(place) - 1 if place.isdigit() else 0
    return same[index].get(key) if 0 <= index < len(same) else None
