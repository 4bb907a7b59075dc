"""What the planner predicts for actions on the fleet of a plan: a table, and one action in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rich.console import RenderableType
from rich.text import Text

from planner import numbers
from planner.report.parts import bullets, section, table
from planner.schema.diagnosis import ActionAdvised, Finding
from planner.schema.held_plan import PlanUsed, PredictedState, PricedEffect, PricedRow
from planner.schema.metrics import METRICS

ValueT = TypeVar("ValueT")


def expectation(one: ActionAdvised) -> str:
    """What the rule lets expect."""
    return one.effect if isinstance(one.effect, str) else one.effect.text


def section_of(plan: PlanUsed, findings: Sequence[Finding]) -> RenderableType:
    """How the plan was fitted to what was seen, and the table of actions against the fleet as it is."""
    parts: list[RenderableType] = [Text(one) for one in fit_lines(plan)]
    if plan.table:
        headings = ["", "TTFT P99", "ITL P99", "capacity", "cost", "limits"]
        parts.append(table(headings, [row_cells(one) for one in plan.table], right=(1, 2, 3, 4)))
    reasons: dict[str, dict[str, None]] = {}
    for action in (action for finding in findings for action in finding.actions if action.not_priced):
        reasons.setdefault(str(action.not_priced), {})[action.knob] = None
    if reasons:
        parts.append(bullets(f"not priced ({', '.join(knobs)}): {why}" for why, knobs in reasons.items()))
    return section(f"Priced on the plan {plan.problem}, workload {plan.workload}", *parts)


def fit_lines(plan: PlanUsed) -> Iterator[str]:
    """What the prediction rests on, and each measure that was seen beside it."""
    basis = "observed" if plan.rate_is_observed else "the plan's peak"
    if plan.fit is None:
        yield (
            f"At {numbers.rate(plan.rate_rps)} ({basis}); not fitted to what was seen: that takes "
            "request_rate_rps or batch_mean, and latencies."
        )
        return
    if plan.fit.rate_from == "batch_mean":
        basis = "from the running requests"
    factor = f"step times {numbers.significant(plan.fit.step_factor, 3)} times the model's"
    yield f"Fitted to what was seen: {numbers.rate(plan.rate_rps)} ({basis}), {factor}."
    for one in plan.fit.measures:
        unit = METRICS[one.metric].unit
        got = "without end" if one.predicted is None else numbers.quantity(one.predicted, unit)
        word = "" if one.holds else ": NOT reproduced"
        yield f"{one.metric} seen {numbers.quantity(one.seen, unit)}, predicted {got}{word}"


def row_cells(one: PricedRow) -> list[str]:
    """One line of the table."""
    state = one.state
    cells = (
        (state.ttft_p99_s, numbers.seconds),
        (state.itl_p99_s, numbers.seconds),
        (state.capacity_rps, numbers.rate),
        (state.cost_usd_per_hour, _usd_per_h),
    )
    told = ["-" if value is None else words(value) for value, words in cells]
    return [one.text, *told, "hold" if one.clears_slo else _BROKEN[state.status]]


_BROKEN = {"serves": "broken", "overloaded": "broken", "infeasible": "cannot run"}


def prediction(priced: PricedEffect) -> str:
    """Before and after, and whether the limits then hold."""
    before, after = priced.before, priced.after
    if after.status == "infeasible":
        return f"infeasible. {after.why}"
    if before.status == "infeasible":
        return f"the fleet as it is cannot run ({before.why}) Afterwards: {_state(after)}"
    moves = [
        _move("TTFT P99", before.ttft_p99_s, after.ttft_p99_s, numbers.seconds),
        _move("ITL P99", before.itl_p99_s, after.itl_p99_s, numbers.seconds),
        _move("capacity", before.capacity_rps, after.capacity_rps, numbers.rate),
        _move("cost", before.cost_usd_per_hour, after.cost_usd_per_hour, _usd_per_h),
        _move("replicas", before.replicas, after.replicas, _ratio),
    ]
    return f"{'; '.join(move for move in moves if move)}. {_verdict(priced)}"


def _move(name: str, before: ValueT | None, after: ValueT | None, words: Callable[[ValueT], str]) -> str:
    old, new = ("none" if value is None else words(value) for value in (before, after))
    if before is None and after is None:
        return ""
    return f"{name} {old} to {new}" if old != new else f"{name} stays {old}"


def _state(state: PredictedState) -> str:
    told = (
        ("TTFT P99", state.ttft_p99_s, numbers.seconds),
        ("ITL P99", state.itl_p99_s, numbers.seconds),
        ("capacity", state.capacity_rps, numbers.rate),
        ("cost", state.cost_usd_per_hour, _usd_per_h),
    )
    return "; ".join(f"{name} {words(value)}" for name, value, words in told if value is not None)


def _verdict(priced: PricedEffect) -> str:
    if priced.clears_slo:
        held = priced.before.status == "serves"
        return (
            "Every limit holds; by the prediction it did before." if held else "Every limit holds afterwards."
        )
    if priced.needs is None:
        return "The limits do not hold, with any number of replicas."
    return f"The limits do not hold; they would with {_fleet(priced.needs)}."


def _fleet(state: PredictedState) -> str:
    cost = f" for {_usd_per_h(state.cost_usd_per_hour)}" if state.cost_usd_per_hour is not None else ""
    return f"{numbers.counted(_ratio(state.replicas), 'replica')}{cost}"


def _usd_per_h(value: float) -> str:
    return f"{numbers.usd(value)}/h"


def _ratio(replicas: dict[str, int]) -> str:
    return ":".join(str(count) for count in replicas.values())
