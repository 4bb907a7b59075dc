"""What predictions lose when they choose among measured configurations, and what a few own rows gain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.app.accuracy import scored
from planner.performance.shrinkage import Spread, shared_factor
from planner.physics.arrays import FloatArray, IntArray
from planner.schema.measurement import Measurement
from planner.schema.validation import PredictedRow

LIMITS_MS = (15.0, 20.0, 30.0, 50.0)
"""Limits on TPOT of the comparison."""
TOLERANCE = 1.1
"""Over the limit by more than a tenth: nothing of the choice is worth anything."""
OWN_ROWS = 3


@dataclass(frozen=True, slots=True)
class Choice:
    """One measured configuration at one load, as somebody sees it who chooses."""

    group: Hashable
    """Choices of one group stand against each other."""
    predicted_tpot_ms: float
    predicted_rate: float
    """Output tokens/s per GPU."""
    measured_tpot_ms: float
    measured_rate: float


@dataclass(frozen=True, slots=True)
class ChoiceLoss:
    """Mean loss under one limit."""

    limit_ms: float
    groups: int
    """Those in which some measured choice keeps the limit, and there is something to choose."""
    loss: float
    """Mean share of the best that is lost."""
    over: float
    """Share of groups whose pick breaks the limit by more than a tenth."""
    none: float
    """Share of groups in which no choice seemed to keep the limit."""


def choice_losses(choices: Iterable[Choice]) -> tuple[ChoiceLoss, ...]:
    """Loss of picking the largest predicted rate among choices predicted to keep a limit.

    Loss of a group: 1 - measured rate of the pick / best measured rate within the limit, at least 0;
    1 where the pick is over the limit by more than a tenth, or where nothing is picked.
    """
    groups: dict[Hashable, list[Choice]] = defaultdict(list)
    for choice in choices:
        groups[choice.group].append(choice)
    several = [group for group in groups.values() if len(group) > 1]
    return tuple(_losses(several, limit) for limit in LIMITS_MS)


def _losses(groups: Sequence[Sequence[Choice]], limit_ms: float) -> ChoiceLoss:
    losses, over, none = [], 0, 0
    for group in groups:
        good = [choice.measured_rate for choice in group if choice.measured_tpot_ms <= limit_ms]
        if not good:
            continue
        seeming = [choice for choice in group if choice.predicted_tpot_ms <= limit_ms]
        if not seeming:
            none += 1
            losses.append(1.0)
            continue
        pick = max(seeming, key=lambda choice: choice.predicted_rate)
        broken = pick.measured_tpot_ms > limit_ms * TOLERANCE
        over += broken
        losses.append(1.0 if broken else max(1.0 - pick.measured_rate / max(good), 0.0))
    count = max(len(losses), 1)
    return ChoiceLoss(limit_ms, len(losses), sum(losses) / count, over / count, none / count)


def choices(rows: Iterable[PredictedRow]) -> tuple[Choice, ...]:
    """The scored closed-loop rows of one pool, one model, GPU and pair of lengths a group."""
    found = []
    for row in rows:
        measured = row.measured
        if row.skipped or not scored(measured) or measured.disaggregated or measured.kind != "closed-loop":
            continue
        if not (row.tpot_ms and row.ttft_ms and measured.tpot_ms and measured.ttft_ms and measured.gpus):
            continue
        found.append(
            Choice(
                group=(measured.model, measured.gpu, measured.input_tokens, measured.output_tokens),
                predicted_tpot_ms=row.tpot_ms,
                predicted_rate=rate_per_gpu(measured, row.ttft_ms, row.tpot_ms),
                measured_tpot_ms=measured.tpot_ms,
                measured_rate=rate_per_gpu(measured, measured.ttft_ms, measured.tpot_ms),
            )
        )
    return tuple(found)


def rate_per_gpu(row: Measurement, ttft_ms: float, tpot_ms: float) -> float:
    """Output tokens/s per GPU of a closed loop: ``C OSL / (TTFT + (OSL - 1) TPOT) / GPUs``."""
    busy_s = (ttft_ms + (row.output_tokens - 1.0) * tpot_ms) / 1e3
    return row.requests * row.output_tokens / busy_s / row.gpus


# -- own rows -----------------------------------------------------------------------------------------------


def after_own_rows(
    log_ratios: FloatArray, groups: Sequence[Hashable], loads: FloatArray, spread: Callable[[int], Spread]
) -> FloatArray:
    """Log ratios of predicted over measured after a factor from three rows of each group.

    The rows of a group are ordered by load; the factor comes from the first, the middle and the last.
    NaN for these, and for groups without any other row.

    Args:
        log_ratios: predicted over measured, before.
        groups: which configuration a row belongs to.
        loads: requests in flight.
        spread: of the group of a row, before any row was seen.
    """
    after = np.full(log_ratios.shape, np.nan)
    members: dict[Hashable, list[int]] = defaultdict(list)
    for index, group in enumerate(groups):
        members[group].append(index)
    for found in members.values():
        if len(found) <= OWN_ROWS:
            continue
        ordered = sorted(found, key=lambda index: (loads[index], index))
        own, rest = _spread_over(np.array(ordered))
        start = -log_ratios[own]
        shared = shared_factor(lambda b, start=start: start - b, spread(ordered[0]))  # type: ignore[misc]
        after[rest] = log_ratios[rest] + np.log(shared.factor)
    return after


def _spread_over(ordered: IntArray) -> tuple[IntArray, IntArray]:
    places = [0, ordered.size // 2, ordered.size - 1]
    return ordered[places], np.delete(ordered, places)
