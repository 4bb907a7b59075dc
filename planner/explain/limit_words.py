"""Limits by id in words: what each is and where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner import numbers
from planner.explain.problem_values import problem_value
from planner.schema.plan import Plan

_MARKET = {
    "budget": ("fleet", "budget"),
    "max-gpus": ("fleet", "max_gpus"),
    "power": ("fleet", "max_power"),
    "changes": ("fleet", "max_changes"),
    "budget:day": ("fleet", "budget", "per_day"),
    "budget:month": ("fleet", "budget", "per_month"),
}
_IN_USD = {"budget:day": "USD in 24 h", "budget:month": "USD in 730 h"}
_OF_LINES = {"supply": "max_gpus", "share": "max_share"}
"""Keys of a line of the supply, by kind of limit."""
_TITLES = {
    "ttft": "time to first token",
    "itl": "inter-token latency",
    "tpot": "time per output token",
    "e2e": "end-to-end time",
    "changes": "GPUs added or removed",
    "quota": "all GPUs there together",
    "supply": "what the market has",
    "share": "of all GPUs of this type",
}


def limit_in_words(plan: Plan, name: str) -> str:
    """``ttft:chat (time to first token, 50.0 ms)``: as much as the document says about the limit."""
    words = ", ".join(part for part in (_title(plan, name), _stands_at(plan, name)) if part)
    return f"{name} ({words})" if words else name


def _title(plan: Plan, name: str) -> str:
    stated = next((item.title for item in plan.removed if item.id == name), "")
    title = stated or _TITLES.get(name.partition(":")[0], "")
    # A title that only repeats the id says nothing.
    return "" if title.replace(" of ", ":").replace(" ", "-") == name else title


def _stands_at(plan: Plan, name: str) -> str:
    """The value of the limit."""
    known = [(item.id, item.limit, item.unit) for item in plan.removed]
    known += [(state.id, state.limit, state.unit) for state in plan.constraints]
    for id_, limit, unit in known:
        if id_ == name and limit is not None:
            return numbers.quantity(limit, unit)
    kind, _, gpu = name.partition(":")
    if kind in _OF_LINES:
        stated = _of_line(plan, gpu, _OF_LINES[kind])
    else:
        stated = problem_value(plan, *_MARKET.get(name, ("fleet", kind, gpu)))
    if name == "budget" and isinstance(stated, Mapping):
        stated = stated.get("per_hour")
    if stated is None or isinstance(stated, Mapping):
        return ""
    if name in _IN_USD:
        return f"{stated} {_IN_USD[name]}"
    return numbers.count(stated, "GPU") if isinstance(stated, int) else str(stated)


def _of_line(plan: Plan, line: str, key: str) -> Any:
    """A key of a line of the supply: ``GPU/TERM``, the second of that name ``GPU/TERM#2``."""
    name, _, place = line.partition("#")
    gpu, _, term = name.rpartition("/")
    listed = problem_value(plan, "fleet", "supply")
    items = [item for item in listed if isinstance(item, Mapping)] if isinstance(listed, list) else []
    same = [item for item in items if (item.get("gpu"), item.get("term")) == (gpu, term)]
    index = int(place) - 1 if place.isdigit() else 0
    return same[index].get(key) if 0 <= index < len(same) else None
