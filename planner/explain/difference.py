"""What differs between two plans, as sentences: the effects first, then what caused them."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose

from planner import numbers
from planner.explain.fleet_changes import fleet_changes
from planner.explain.hours import has_hours
from planner.explain.in_the_way import blocking, in_the_way
from planner.explain.input_changes import input_changes
from planner.explain.moved_defaults import moved_defaults
from planner.explain.phrases import distance, is_answered, listing
from planner.explain.pool_changes import mode_changes, pool_changes
from planner.explain.price_changes import price_changes
from planner.schema.limits_told import ConstraintState
from planner.schema.plan import Difference, Plan
from planner.schema.slo import METRICS


def difference(before: Plan, after: Plan) -> tuple[Difference, ...]:
    """Everything that differs, the most important first; empty where the two say the same.

    Order: status, cost, GPUs, purchases of fleets, serving mode, pools, latencies at their limits, what sets
    the capacity, conflicts, then keys of the problem, prices, the data and the program. The same plans give
    the same entries.
    """
    bought = (
        *_money(before, after),
        *_power(before, after),
        *_gpus(before, after),
        *fleet_changes(before, after),
        *mode_changes(before, after),
        *pool_changes(before, after),
        *_latencies(before, after),
        *_binding(before, after),
    )
    return (
        *_status(before, after),
        *_in_the_way(before, after),
        *(bought if is_answered(after) else ()),
        *_conflicts(before, after),
        *input_changes(before.inputs.problem, after.inputs.problem),
        *moved_defaults(before, after),
        *price_changes(before, after),
        *_data(before, after),
        *_made(before, after),
    )


def is_cause(entry: Difference) -> bool:
    """An input that differs, not an effect of one."""
    return entry.what.partition(":")[0] in (
        "input",
        "price",
        "catalog",
        "calibration",
        "planner",
        "solver",
        "seed",
    )


def _status(before: Plan, after: Plan) -> Iterator[Difference]:
    old, new = before.status, after.status
    if old == new:
        return
    if not is_answered(before) and is_answered(after):
        why = "no plan kept every limit" if old == "infeasible" else "the search stopped without one"
        text = f"There is a plan; before, {why}."
    elif new == "infeasible":
        why = "there was a plan" if is_answered(before) else "the search stopped without an answer"
        text = f"No plan keeps every limit; before, {why}."
    elif new == "unknown":
        why = "there was a plan" if is_answered(before) else "it was proved that no plan keeps every limit"
        text = f"The search stopped without a plan; before, {why}."
    elif new == "optimal":
        text = f"The plan is proved; before, {_gap(before)}."
    else:
        text = f"The plan is not proved: {_gap(after)}; before, it was."
    yield Difference(what="status", before=old, after=new, text=text)


def _in_the_way(before: Plan, after: Plan) -> Iterator[Difference]:
    """What stands in the way of a plan now, and did not before."""
    known = {item.id for item in blocking(before)}
    for item in blocking(after) if after.status == "infeasible" else ():
        if item.id not in known:
            yield Difference(what=f"in-the-way:{item.id}", before=None, after=item.id, text=in_the_way(item))


def _gap(plan: Plan) -> str:
    gap = plan.objective.gap
    return "no bound was known" if gap is None else distance(gap)


def _money(before: Plan, after: Plan) -> Iterator[Difference]:
    old, new = before.cost_usd_per_hour, after.cost_usd_per_hour
    yield from _amount("cost", "USD/h", "Costs", old, new)
    token_old = before.cost_usd_per_million_output_tokens
    token_new = after.cost_usd_per_million_output_tokens
    # With the same tokens an hour, both rise or fall alike: once is enough.
    if not (old and new and token_old and token_new and isclose(token_new / token_old, new / old)):
        subject = "A million output tokens costs"
        yield from _amount("cost_per_million_output_tokens", "USD", subject, token_old, token_new)


def _amount(what: str, unit: str, subject: str, old: float | None, new: float | None) -> Iterator[Difference]:
    """A sum of money that rose or fell."""
    if new is None:
        return
    rate = unit.removeprefix("USD")
    text = f"{subject} {numbers.usd(new)}{rate}."
    if old is not None:
        if isclose(new, old):
            return
        moved = f"{numbers.usd(abs(new - old))}{rate} {'less' if new < old else 'more'}"
        share = f" ({numbers.signed_share(new / old - 1)})" if old else ""
        text = f"{subject} {moved}{share}: {numbers.usd(new)}{rate} instead of {numbers.usd(old)}{rate}."
    yield Difference(what=what, before=old, after=new, unit=unit, text=text)


def _power(before: Plan, after: Plan) -> Iterator[Difference]:
    """Where power is what counts."""
    old, new = _watts(before), _watts(after)
    if "power" not in (before.objective.name, after.objective.name) or old is None or new is None:
        return
    if numbers.quantity(old, "W") != numbers.quantity(new, "W"):
        text = f"Draws {numbers.quantity(new, 'W')} instead of {numbers.quantity(old, 'W')}."
        yield Difference(what="power", before=old, after=new, unit="W", text=text)


def _watts(plan: Plan) -> float | None:
    known = [pool.power_w for pool in plan.pools if pool.power_w is not None]
    return sum(known) if known and len(known) == len(plan.pools) else None


def _gpus(before: Plan, after: Plan) -> Iterator[Difference]:
    for gpu in sorted({*before.gpus, *after.gpus}, key=lambda name: (-after.gpus.get(name, 0), name)):
        old, new = before.gpus.get(gpu, 0), after.gpus.get(gpu, 0)
        if old == new:
            continue
        upto = "up to " if has_hours(after) else ""
        if not old:
            text = f"Buys {upto}{new:,} × {gpu}" + ("; before, none." if is_answered(before) else ".")
        elif not new:
            text = f"Buys no {gpu}; before, {old:,}."
        else:
            text = f"Buys {upto}{new:,} × {gpu} instead of {old:,}."
        yield Difference(what=f"gpus:{gpu}", before=old, after=new, unit="GPUs", text=text)


def _latencies(before: Plan, after: Plan) -> Iterator[Difference]:
    """Latencies against their limits, where both plans state them."""
    known = {state.id: state for state in before.constraints}
    for state in after.constraints:
        old = known.get(state.id)
        if old is None or state.id.partition(":")[0] not in METRICS or None in (old.value, state.value):
            continue
        was, now = numbers.quantity(old.value, old.unit), numbers.quantity(state.value, state.unit)
        if was != now:
            text = f"{_named(state)} is {now} instead of {was}{_limit(old, state)}."
            yield Difference(
                what=f"latency:{state.id}", before=old.value, after=state.value, unit=state.unit, text=text
            )


def _named(state: ConstraintState) -> str:
    return f"{state.id} ({state.text.rstrip('.')})" if state.text else state.id


def _limit(before: ConstraintState, after: ConstraintState) -> str:
    was, now = numbers.quantity(before.limit, before.unit), numbers.quantity(after.limit, after.unit)
    if after.limit is None:
        return ""
    return f", within {now}" if was == now or before.limit is None else f", within {now} instead of {was}"


def _binding(before: Plan, after: Plan) -> Iterator[Difference]:
    if not is_answered(before):
        return
    old, new = ([state.id for state in plan.constraints if state.binding] for plan in (before, after))
    if sorted(old) != sorted(new):
        was, now = listing(old) or "nothing", listing(new) or "nothing"
        text = f"What holds the plan back is {now}; before, {was}."
        yield Difference(what="binding", before=was, after=now, text=text)


def _conflicts(before: Plan, after: Plan) -> Iterator[Difference]:
    """Sets of limits that cannot hold together now, or could not before."""
    old, new = _by_members(before), _by_members(after)
    for members, names in {**new, **old}.items():
        if members in old and members in new:
            continue
        several = len(members) > 1
        hold, they = ("hold together", "they") if several else ("hold", "it")
        verbs = ("cannot", "could") if members in new else ("can", "could not")
        yield Difference(
            what="conflict",
            before=None if members in new else names,
            after=names if members in new else None,
            text=f"{names} {verbs[0]} {hold}; before, {they} {verbs[1]}.",
        )


def _by_members(plan: Plan) -> dict[frozenset[str], str]:
    return {frozenset(conflict): listing(conflict) for conflict in plan.conflicts}


def _data(before: Plan, after: Plan) -> Iterator[Difference]:
    effects = {"catalog": "prices and facts may differ", "calibration": "predictions may differ"}
    for what, effect in effects.items():
        old, new = getattr(before.inputs, what), getattr(after.inputs, what)
        if old != new:
            text = f"The {what} is another one ({_short(new)}; before, {_short(old)}): {effect}."
            yield Difference(what=what, before=old, after=new, text=text)


def _short(digest: str) -> str:
    return digest.partition(":")[2][:8] or digest


def _made(before: Plan, after: Plan) -> Iterator[Difference]:
    """The program that made the plan; the seed matters only to plans that are not proved."""
    for what in ("planner", "solver", "seed"):
        old, new = getattr(before.provenance, what), getattr(after.provenance, what)
        if old != new and (what != "seed" or "feasible" in (before.status, after.status)):
            yield Difference(
                what=what, before=old, after=new, text=f"Made with {what} {new}; before, {what} {old}."
            )
