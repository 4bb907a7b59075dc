"""One plan against another in half a line."""

from __future__ import annotations

from collections.abc import Callable

from planner import numbers
from planner.explain.phrases import fleet, is_measured, listing, offer, pool_layout, speculation
from planner.schema.plan import Plan
from planner.schema.pool import Pool

_SHOWN = 3
_ASPECTS: tuple[tuple[str, Callable[[Pool], str]], ...] = (
    ("{}", lambda pool: pool.mode),
    ("{}", lambda pool: pool.option if is_measured(pool) else ""),
    ("{}", lambda pool: "" if is_measured(pool) else pool_layout(pool)),
    ("weights {}", lambda pool: pool.weights),
    ("KV {}", lambda pool: pool.kv),
    ("{}", lambda pool: "" if is_measured(pool) else pool.engine),
    ("{}", lambda pool: speculation(pool) or "no drafts"),
    ("batch {}", lambda pool: f"{pool.max_batch:,}" if pool.max_batch else ""),
    ("chunk {}", lambda pool: f"{pool.batched_tokens:,}" if pool.batched_tokens else ""),
    ("{}", lambda pool: offer(pool) if pool.offer is not None else ""),
)
"""Choices, the weightiest first, and how each is told."""


def versus(best: Plan, other: Plan) -> str:
    """``18 × h200-sxm instead of 16 × h100-sxm, TP 4 instead of TP 2``: the first few differences.

    Cost and latencies are left to the columns beside it.
    """
    phrases = []
    mine, theirs = fleet(other), fleet(best)
    if mine != theirs:
        phrases.append(f"{mine or 'nothing'} instead of {theirs or 'nothing'}")
    for words, read in _ASPECTS:
        mine, theirs = _all(other, read), _all(best, read)
        if mine != theirs and mine and theirs:
            phrases.append(f"{words.format(mine)} instead of {theirs}")
    if not phrases and _replicas(best) != _replicas(other):
        phrases.append(f"{numbers.counted(_replicas(other), 'replica')} instead of {_replicas(best)}")
    return ", ".join(phrases[:_SHOWN]) or "the same pools, other shares of the traffic"


def _all(plan: Plan, read: Callable[[Pool], str]) -> str:
    """What the pools choose, each choice once."""
    return listing(sorted({choice for pool in plan.pools if (choice := read(pool))}))


def _replicas(plan: Plan) -> str:
    return listing([f"{pool.replicas:,}" for pool in plan.pools])
