"""Pools of two plans side by side: what came, what went, and what became of those that stayed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from planner import numbers
from planner.explain.fleet_changes import placed, replica_changes
from planner.explain.hours import has_hours
from planner.explain.phrases import described, is_measured, listing, offer, pool_layout, speculation
from planner.schema.plan import Difference, Plan
from planner.schema.pool import Pool

_ROLES = {"serve": "is served by", "prefill": "prefills on", "decode": "decodes on"}
_ROLES_LEFT = {
    "serve": "is no longer served by",
    "prefill": "no longer prefills on",
    "decode": "no longer decodes on",
}


@dataclass(frozen=True)
class Field:
    """One number or word of a pool, and the sentence that tells its change."""

    name: str
    read: Callable[[Pool], int | float | str]
    unit: str
    sentence: str
    """With places for the ``pool``, and the values ``old`` and ``new`` in words."""
    words: Callable[[float], str] = "{:,}".format
    """Of a number."""

    def told(self, value: int | float | str) -> str:
        """The value in words."""
        return value if isinstance(value, str) else self.words(value)


FIELDS = (
    Field("replicas", lambda pool: pool.replicas, "replicas", "{pool} has {new} replicas instead of {old}."),
    Field(
        "max_batch", lambda pool: pool.max_batch, "sequences", "{pool} has a batch of {new} instead of {old}."
    ),
    Field(
        "batched_tokens",
        lambda pool: pool.batched_tokens,
        "tokens",
        "{pool} takes {new} tokens in one step instead of {old}.",
    ),
    Field(
        "capacity_rps",
        lambda pool: pool.capacity_rps,
        "req/s",
        "One replica of {pool} carries {new} instead of {old}.",
        numbers.rate,
    ),
    Field(
        "offer",
        lambda pool: _bought(pool),
        "",
        "{pool} is bought {new} instead of {old}.",
    ),
)
"""What may change in a pool that stays the same configuration."""


def _bought(pool: Pool) -> str:
    if pool.offer is not None:
        return f"as {offer(pool)}"
    return f"at {pool.site}" if pool.site is not None else offer(pool)


def mode_changes(before: Plan, after: Plan) -> Iterator[Difference]:
    """Workloads that are served in another mode, and prefill to decode where both plans have it."""
    for workload in dict.fromkeys(pool.workload for pool in after.pools):
        old, new = _modes(before, workload), _modes(after, workload)
        if old and new and old != new:
            text = f"{workload} is served {new} instead of {old}."
            yield Difference(what=f"mode:{workload}", before=old, after=new, text=text)
    if before.pd_ratio and after.pd_ratio:
        for kind in after.pd_ratio:
            was, now = before.pd_ratio.get(kind), after.pd_ratio[kind]
            if was != now:
                unit = "GPUs" if kind == "gpus" else kind
                text = f"Prefill to decode is {now} in {unit}; before, {was}."
                yield Difference(what=f"pd_ratio:{kind}", before=was, after=now, text=text)


def _modes(plan: Plan, workload: str) -> str:
    return listing(sorted({pool.mode for pool in plan.pools if pool.workload == workload}))


def pool_changes(before: Plan, after: Plan) -> Iterator[Difference]:
    """Pools that changed, those that came and those that went, by workload and role."""
    hours = has_hours(before) or has_hours(after)
    for key in dict.fromkeys((pool.workload, pool.role) for pool in (*after.pools, *before.pools)):
        mine, theirs = _group(before, key), _group(after, key)
        pairs, gone, new = _matched(mine, theirs)
        for old_pool, new_pool in pairs:
            yield from _changed(old_pool, new_pool, hours)
            if hours:
                yield from replica_changes(before, after, old_pool, new_pool)
        # One that went and one that came read as one sentence.
        for old_pool, new_pool in zip(gone, new, strict=False):
            yield _replaced(old_pool, new_pool)
        for pool in new[len(gone) :]:
            yield _came(pool, bool(mine))
        for pool in gone[len(new) :]:
            yield _went(pool)


def _group(plan: Plan, key: tuple[str, str]) -> list[Pool]:
    return [pool for pool in plan.pools if (pool.workload, pool.role) == key]


def _matched(
    before: Sequence[Pool], after: Sequence[Pool]
) -> tuple[list[tuple[Pool, Pool]], list[Pool], list[Pool]]:
    """Pairs of the same option at the same site, of the same option, of the same configuration, and the rest.

    A measured option is never another one.
    """
    pairs: list[tuple[Pool, Pool]] = []
    gone, new = list(before), list(after)
    for kin in (_same_place, lambda a, b: a.option == b.option, _same_kind):
        for pool in list(new):
            twin = next((other for other in gone if kin(other, pool)), None)
            if twin is not None:
                pairs.append((twin, pool))
                gone.remove(twin)
                new.remove(pool)
    order = {pool.id: place for place, pool in enumerate(after)}
    return sorted(pairs, key=lambda pair: order[pair[1].id]), gone, new


def _same_place(before: Pool, after: Pool) -> bool:
    return (before.option, before.site) == (after.option, after.site)


def _same_kind(before: Pool, after: Pool) -> bool:
    return _kind(before) == _kind(after) and not is_measured(before)


def _kind(pool: Pool) -> tuple[str, ...]:
    """What makes two pools the same configuration, whatever their size and operating point."""
    return (pool.gpu, pool_layout(pool), pool.weights, pool.kv, pool.engine, pool.mode, speculation(pool))


def _changed(before: Pool, after: Pool, hours: bool) -> Iterator[Difference]:
    place = placed(after)
    for field in FIELDS:
        if hours and field.name == "replicas":
            continue
        old, new = field.read(before), field.read(after)
        # Values that read alike do not differ for the reader.
        if field.told(old) != field.told(new):
            text = field.sentence.format(pool=place, old=field.told(old), new=field.told(new))
            yield Difference(
                what=f"pool:{after.id}/{field.name}", before=old, after=new, unit=field.unit, text=text
            )


def _replaced(before: Pool, after: Pool) -> Difference:
    text = f"{after.workload} {_ROLES[after.role]} {described(after)} instead of {described(before)}."
    return Difference(what=f"pool:{after.id}", before=described(before), after=described(after), text=text)


def _came(pool: Pool, others: bool) -> Difference:
    text = f"{pool.workload} {_ROLES[pool.role]} {described(pool)}{' too' if others else ''}."
    return Difference(what=f"pool:{pool.id}", before=None, after=described(pool), text=text)


def _went(pool: Pool) -> Difference:
    text = f"{pool.workload} {_ROLES_LEFT[pool.role]} {described(pool)}."
    return Difference(what=f"pool:{pool.id}", before=described(pool), after=None, text=text)
