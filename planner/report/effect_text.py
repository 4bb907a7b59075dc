"""What the planner predicts for an action, in a cell of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from planner import numbers
from planner.schema.diagnosis import ActionAdvised, PredictedState, PricedEffect

ValueT = TypeVar("ValueT")


def expectation(one: ActionAdvised) -> str:
    """What the rule lets expect."""
    return one.effect if isinstance(one.effect, str) else one.effect.text


def predicted(actions: Sequence[ActionAdvised]) -> list[tuple[str, str]]:
    """What the planner predicts for each action, or why it predicts nothing; empty without a plan."""
    told = []
    for place, one in enumerate(actions, start=1):
        if not isinstance(one.effect, str):
            told.append((str(place), prediction(one.effect)))
        elif one.not_priced:
            told.append((str(place), f"not priced: {one.not_priced}."))
    return told


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
