"""What to mind about a plan: what several pools share is told once."""

from __future__ import annotations

from planner.explain.phrases import listing
from planner.schema.plan import Plan

_MOST_NAMED = 3


def warnings_of(plan: Plan) -> list[str]:
    """The warnings in their order; those of several pools that say the same in one line.

    ``chat/serve/1: batch too large`` and ``chat/serve/2: batch too large`` become
    ``chat/serve/1 and chat/serve/2: batch too large``; of all pools ``every pool: batch too large``.
    """
    ids = [pool.id for pool in plan.pools]
    named: dict[str, list[str]] = {}
    for line in plan.warnings:
        name, colon, words = line.partition(": ")
        if colon and name in ids:
            named.setdefault(words, []).append(name)
        else:
            named.setdefault(line, [])
    return [f"{_who(names, len(ids))}: {words}" if names else words for words, names in named.items()]


def _who(names: list[str], pools: int) -> str:
    if len(names) == pools > 1:
        return "every pool"
    if len(names) > _MOST_NAMED:
        return f"{names[0]} and {len(names) - 1} more pools"
    return listing(names)
