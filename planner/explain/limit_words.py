"""Limits by id in words: what each is and where it stands."""

from __future__ import annotations

from planner import numbers
from planner.explain.problem_values import problem_value
from planner.schema.plan import Plan

_MARKET = {"budget": ("fleet", "budget"), "max-gpus": ("fleet", "max_gpus"), "power": ("fleet", "max_power")}
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
    stated = problem_value(plan, *_MARKET.get(name, ("fleet", kind, gpu)))
    if stated is None:
        return ""
    return numbers.count(stated, "GPU") if isinstance(stated, int) else str(stated)
