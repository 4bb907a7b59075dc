"""What the debugger's knobs are in a problem: for each that has a place there, the changes by path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from planner import numbers
from planner.app.deployment import (
    BATCH,
    LAYOUT,
    Changes,
    Deployment,
    capacity_by_role_rps,
    hit_changes,
    hits,
    planned_hit,
    solved,
)
from planner.explain.problem_values import problem_value, sizing_of
from planner.schema.catalog import Judgment
from planner.schema.debugger_words import Knob
from planner.schema.diagnosis import ActionAdvised
from planner.schema.plan import Plan


class NotPricedError(Exception):
    """No what-if stands for this action; the text says why."""


@dataclass(frozen=True)
class Turn:
    """An action as a change of the fleet as it is."""

    changes: Changes
    present: Mapping[str, int] | None
    """Replicas by role afterwards; None where the planner chooses their number."""


Turning = Callable[[Deployment, ActionAdvised], Turn]


def turn(at: Deployment, action: ActionAdvised) -> Turn:
    """The changes that an action makes.

    Raises:
        NotPricedError: the knob has no place in a problem, or this plan gives no value for it.
    """
    turning = _TURNS.get(action.knob)
    if turning is None:
        raise NotPricedError("the planner does not model this setting")
    if at.stated("model") is None or at.pools[0].evidence == "measured":
        raise NotPricedError("the plan rests on measured workers, not on the performance model")
    found = turning(at, action)
    same = all(at.changes.get(path) == value for path, value in found.changes.items())
    if same and found.present == at.present:
        raise NotPricedError("the fleet runs so already")
    return found


def _kept(at: Deployment, changes: Changes) -> Turn:
    return Turn(changes, at.present)


def _kv_precision(at: Deployment, action: ActionAdvised) -> Turn:
    return _precision(at, action, "kv")


def _weights_precision(at: Deployment, action: ActionAdvised) -> Turn:
    return _precision(at, action, "weights")


def _precision(at: Deployment, action: ActionAdvised, of: str) -> Turn:
    """Another format; the batch may then fill the memory that it frees."""
    path = at.path("precision", of)
    to = action.to if isinstance(action.to, str) else _narrower(at, path, of)
    if at.changes[path] == [to]:
        raise NotPricedError("the fleet runs so already")
    return _kept(at, {path: [to], "search.max_batch": None})


def _narrower(at: Deployment, path: str, of: str) -> str:
    """The next narrower format that is tried without being named, or that the problem names."""
    catalog = at.session.catalog
    present = [entry for name in at.changes[path] if (entry := catalog.number_format(name)) is not None]
    bits = max((entry.nominal_bits for entry in present), default=0)
    named = at.stated("precision", of) or ()
    narrower = [
        entry
        for entry in catalog.number_formats
        if entry.nominal_bits < bits and (entry.by_default if not named else entry.id in named)
    ]
    if not narrower:
        raise NotPricedError("no narrower format is allowed: name one under precision")
    return str(max(narrower, key=lambda entry: (entry.nominal_bits, entry.id)).id)


def _max_batch(at: Deployment, action: ActionAdvised) -> Turn:
    if at.mode != "aggregated":
        raise NotPricedError("prefill and decode are disaggregated, each with a batch of its own")
    return _kept(at, {"search.max_batch": _stepped(at, action, "search.max_batch")})


def _chunk(at: Deployment, action: ActionAdvised) -> Turn:
    if at.mode != "aggregated":
        raise NotPricedError("prefill and decode are disaggregated, each with a chunk of its own")
    if action.direction == "enable":
        chunks = sorted({pool.batched_tokens for pool in at.pools})
        return _kept(at, {"search.batched_tokens": chunks})
    return _kept(at, {"search.batched_tokens": _stepped(at, action, "search.batched_tokens")})


def _stepped(at: Deployment, action: ActionAdvised, path: str) -> list[int]:
    """The present values, each one step up or down; or the value to set."""
    if isinstance(action.to, int | float) and not isinstance(action.to, bool):
        return [round(action.to)]
    ratio = step_ratio(at)
    factor = ratio if action.direction == "raise" else 1 / ratio
    return sorted({max(1, round(value * factor)) for value in at.changes[path]})


def step_ratio(at: Deployment) -> float:
    """One step of a setting without a target."""
    entry = at.session.catalog.find("judgment", "priced-actions")
    assert isinstance(entry, Judgment)
    return float(entry.parameters["step_ratio"].value)


def _hits(at: Deployment, action: ActionAdvised) -> Turn:
    """Hits as the plan counts on them, where fewer were observed."""
    if action.knob == "routing" and action.to == "load-aware":
        raise NotPricedError("a plan spreads requests evenly: it knows no busy replica beside an idle one")
    planned = planned_hit(at)
    if planned <= 0:
        raise NotPricedError("the plan counts on no prefix hits: state them under prefix_cache")
    now = 0.0 if at.known.get("prefix_caching") is False else hits(at)
    changes = hit_changes(at, planned) if now is not None else {}
    if action.knob == "routing" and at.stated("prefix_cache") is not None:
        changes |= {at.path("prefix_cache", "routing"): "cache-aware"}
    if not changes:
        raise NotPricedError("the share of hits was not observed: prefix_hit_ratio")
    if now is not None and now >= planned:
        raise NotPricedError(f"hits are at the plan's {numbers.share(planned)} already")
    return _kept(at, changes)


def _tp(at: Deployment, action: ActionAdvised) -> Turn:
    """Twice or half the degree on the same GPUs: the number of replicas follows."""
    pool = at.pools[0]
    degree = pool.tp * 2 if action.direction == "raise" else pool.tp // 2
    if set(at.present) != {"serve"} or len(at.pools) > 1:
        raise NotPricedError("the plan has several pools: change search.tp of each with a what-if")
    if degree < 1:
        raise NotPricedError("a replica has one GPU already")
    replicas = at.present["serve"] * pool.tp // degree
    if replicas < 1:
        raise NotPricedError(f"a replica of TP {degree} needs more GPUs than are there")
    changes = {"search.tp": [degree], "search.max_batch": None, at.path("min_replicas"): replicas}
    return Turn(changes, {"serve": replicas})


def _replicas(at: Deployment, action: ActionAdvised) -> Turn:
    """One replica more or fewer; disaggregated, of the role that limits."""
    step = -1 if action.direction == "lower" else 1
    if set(at.present) == {"serve"}:
        changes = {at.path("min_replicas"): at.present["serve"] + step, **_market(at)}
        return _moved(at, {"serve": step}, changes)
    role = _limiting(at)
    if step < 0:
        (role,) = set(at.present) - {role}
    return _moved(at, {role: step}, _market(at))


def _ratio(at: Deployment, action: ActionAdvised) -> Turn:
    """One replica from one role to the other."""
    if set(at.present) == {"serve"}:
        raise NotPricedError("the plan serves prefill and decode together")
    step = -1 if action.direction == "lower" else 1
    return _moved(at, {"prefill": step, "decode": -step}, {})


def _moved(at: Deployment, steps: Mapping[str, int], changes: Changes) -> Turn:
    present = {role: count + steps.get(role, 0) for role, count in at.present.items()}
    if min(present.values()) < 1:
        raise NotPricedError("there is one replica only")
    return Turn(changes, present)


def _limiting(at: Deployment) -> str:
    """The role that carries least, as the fleet is."""
    plan = solved(at, {})
    layout = plan if isinstance(plan, Plan) and plan.pools else at.plan.model_copy(update={"pools": at.pools})
    room = capacity_by_role_rps(layout, at.present)
    return min(room, key=lambda role: room[role])


def _market(at: Deployment) -> Changes:
    """What may be bought, as the problem states it."""
    limits = ("budget", "max_gpus", "stock")
    stated = {name: problem_value(at.plan, "fleet", name) for name in limits}
    return {f"fleet.{name}": value for name, value in stated.items() if value}


def _free(at: Deployment) -> Changes:
    """Everything that a new layout decides, open to the search again."""
    return {f"search.{name}": problem_value(at.plan, "search", name) for name in (*LAYOUT, *BATCH)} | {
        at.path("min_replicas"): at.stated("min_replicas"),
        **_market(at),
    }


def _gpu(at: Deployment, action: ActionAdvised) -> Turn:
    """The accelerator of the cheapest plan that lost with another one, or the others that may be bought."""
    present = {pool.gpu for pool in at.pools}
    if isinstance(action.to, str):
        others = [action.to]
    else:
        rivals = [one.gpu for one in at.plan.runners_up if one.gpu not in present][:1]
        stated = problem_value(at.plan, "fleet", "accelerators") or ()
        others = rivals or [name for name in stated if name not in present]
    if not others:
        raise NotPricedError("no other accelerator is in the plan's problem: add one to fleet.accelerators")
    precision = {at.path("precision"): at.stated("precision")}
    held = {path: None for path in at.changes if path.startswith(at.path("precision") + ".")}
    return Turn({"fleet.accelerators": others, **_free(at), **held, **precision}, None)


def _mode(at: Deployment, action: ActionAdvised) -> Turn:
    mode = "aggregated" if action.direction == "disable" else "disaggregated"
    if mode == at.mode:
        raise NotPricedError(f"the plan is {mode} already")
    return Turn({"search.modes": [mode], **_free(at)}, None)


def _prompt_cap(at: Deployment, _: ActionAdvised) -> Turn:
    """Prompts as long as the plan took them to be, where longer ones were observed."""
    path = at.path("lengths", "input")
    planned = sizing_of(at.plan, at.workload)
    seen = at.changes.get(path)
    if seen is None or planned is None or seen["p99"] <= planned.input_tokens.get("p99", 0.0):
        raise NotPricedError("prompts were not observed to be longer than the plan's")
    return _kept(at, {path: at.stated("lengths", "input")})


def _answer_cap(at: Deployment, _: ActionAdvised) -> Turn:
    guard = at.plan.guardrails_of(at.workload)
    if guard is None:
        raise NotPricedError("the plan states no limit for answers")
    trim = at.stated("trim") or {}
    return _kept(at, {at.path("trim"): {**trim, "output_cap": guard.max_output_tokens}})


def _drafts(at: Deployment, action: ActionAdvised) -> Turn:
    stated = at.stated("speculation")
    if action.direction == "disable":
        if all(pool.speculation is None for pool in at.pools):
            raise NotPricedError("the plan uses no drafts")
        return _kept(at, {at.path("speculation"): None})
    if any(pool.speculation is not None for pool in at.pools):
        raise NotPricedError("the plan uses drafts already")
    if not stated:
        raise NotPricedError("the plan knows no drafts: state speculation with a measured acceptance")
    return _kept(at, {at.path("speculation"): stated})


def _adapters(at: Deployment, action: ActionAdvised) -> Turn:
    lora = at.stated("lora")
    if not lora:
        raise NotPricedError("the plan serves no adapters")
    slots, ratio = lora.get("active") or lora["adapters"], step_ratio(at)
    wanted = slots * ratio if action.direction == "raise" else slots / ratio
    return _kept(at, {at.path("lora"): {**lora, "active": min(max(1, round(wanted)), lora["adapters"])}})


_TURNS: Mapping[Knob, Turning] = {
    "kv_precision": _kv_precision,
    "weights_precision": _weights_precision,
    "max_batch": _max_batch,
    "chunked_prefill": _chunk,
    "prefix_caching": _hits,
    "routing": _hits,
    "tp": _tp,
    "replicas": _replicas,
    "pd_ratio": _ratio,
    "gpu": _gpu,
    "disaggregation": _mode,
    "max_input_tokens": _prompt_cap,
    "context_limit": _prompt_cap,
    "max_output_tokens": _answer_cap,
    "speculative": _drafts,
    "adapters_max": _adapters,
}
"""Knob -> the paths of a problem that it is; other knobs have no place there."""
