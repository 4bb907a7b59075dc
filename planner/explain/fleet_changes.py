"""What differs between two fleets: hours, purchases by line, suppliers, tiers, replicas over the day."""

from __future__ import annotations

from collections.abc import Iterator

from planner import numbers
from planner.explain.hours import BoughtLine, bought_lines, has_hours, mean, replicas_by_hour, spread
from planner.schema.plan import Difference, Plan
from planner.schema.pool import Pool

_TERMS = {"on_demand": "on-demand"}


def fleet_changes(before: Plan, after: Plan) -> Iterator[Difference]:
    """Hours, purchases, suppliers and tiers; nothing between plans that state none of them."""
    yield from _hours(before, after)
    yield from _purchases(before, after)
    yield from _suppliers(before, after)
    yield from _tiers(before, after)


def _hours(before: Plan, after: Plan) -> Iterator[Difference]:
    old, new = (max(len(plan.periods), 1) for plan in (before, after))
    if old != new and before.pools and after.pools:
        text = f"Plans {numbers.count(new, 'hour')} instead of {old:,}."
        yield Difference(what="hours", before=old, after=new, unit="h", text=text)


def _purchases(before: Plan, after: Plan) -> Iterator[Difference]:
    """GPUs by term and place; left out where the number of GPUs of a type says it all."""
    old, new = _lines(before), _lines(after)
    if not (has_hours(before) or has_hours(after) or max(len(old), len(new)) > 1):
        return
    for key in dict.fromkeys([*new, *old]):
        mine, theirs = old.get(key), new.get(key)
        was, now = ("" if line is None else spread(line.gpus) for line in (mine, theirs))
        if (mine and mine.gpus) == (theirs and theirs.gpus):
            continue
        gpu, term, place = key
        what = f"{_TERMS.get(term, term)} {gpu}" + (f" at {place}" if place else "")
        if was == now:
            text = f"Buys {what} in other hours: still {now}."
        elif mine is None:
            text = f"Buys {_with(what, theirs)}; before, none."
        elif theirs is None:
            text = f"Buys no {what}; before, {was}."
        else:
            text = f"Buys {_with(what, theirs)} instead of {was}."
        yield Difference(
            what=f"supply:{'/'.join(part for part in key if part)}",
            before=None if mine is None else mean(mine.gpus),
            after=None if theirs is None else mean(theirs.gpus),
            unit="GPUs",
            text=text,
        )


def _lines(plan: Plan) -> dict[tuple[str, str, str], BoughtLine]:
    """By GPU, term and place: ids of lines depend on their order in the file."""
    found: dict[tuple[str, str, str], BoughtLine] = {}
    for line in bought_lines(plan):
        key = (line.gpu, line.term, line.place)
        other = found.get(key)
        if other is not None:
            both = tuple(a + b for a, b in zip(other.gpus, line.gpus, strict=True))
            line = BoughtLine(other.line, *key, both, other.usd + line.usd)
        found[key] = line
    return found


def _with(what: str, line: BoughtLine | None) -> str:
    return f"no {what}" if line is None else spread(line.gpus, of=f" × {what}")


def _suppliers(before: Plan, after: Plan) -> Iterator[Difference]:
    old = {api.id: api for api in before.api}
    new = {api.id: api for api in after.api}
    for name in dict.fromkeys([*new, *old]):
        was = old[name].share if name in old else 0.0
        now = new[name].share if name in new else 0.0
        if numbers.share(was) == numbers.share(now):
            continue
        workload = (new.get(name) or old[name]).workload
        told = f"{numbers.share(now)} of {workload}" if now else f"none of {workload}"
        text = f"{name} carries {told} instead of {numbers.share(was) if was else 'none'}."
        yield Difference(what=f"api:{name}", before=was, after=now, unit="fraction", text=text)


def _tiers(before: Plan, after: Plan) -> Iterator[Difference]:
    old = {tier.name: tier.setting for tier in before.tiers}
    for tier in after.tiers:
        was = old.get(tier.name)
        if was is not None and was != tier.setting:
            text = f"Tier {tier.name} runs {tier.setting} instead of {was}."
            yield Difference(what=f"tier:{tier.name}", before=was, after=tier.setting, text=text)


def placed(pool: Pool) -> str:
    """``chat/serve/1 (h100-sxm, cloud/eu-west)``: a pool with what tells it from the others."""
    return f"{pool.id} ({pool.gpu}{f', {pool.site}' if pool.site is not None else ''})"


def replica_changes(before: Plan, after: Plan, old: Pool, new: Pool) -> Iterator[Difference]:
    """Replicas of one pool over the hours; by ``pool:ID/replicas``, the means."""
    was, now = replicas_by_hour(before, old), replicas_by_hour(after, new)
    if was == now:
        return
    place = placed(new)
    text = f"{place} has {spread(now, 'replica')} instead of {spread(was)}."
    if spread(was) == spread(now):
        text = f"{place} has its replicas in other hours: still {spread(now)}."
    yield Difference(
        what=f"pool:{new.id}/replicas", before=mean(was), after=mean(now), unit="replicas", text=text
    )
