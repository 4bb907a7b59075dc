"""How many length classes pay: what a workload costs at the cheapest rates when its requests are cut up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.schema.candidates import FloatArray, IntArray


def cheapest(cost: FloatArray, micro_rps: IntArray, shares: FloatArray) -> float:
    """Cost of one request per second when every class goes where it is cheapest: sum of share x cost / rate.

    Counts of replicas are not rounded, so this is a lower bound of what the rates of these classes allow;
    infinite where nothing serves a class.

    Args:
        cost: of one replica, by configuration.
        micro_rps: [configuration, class], 0 = cannot serve it.
        shares: of requests, by class.
    """
    return float(_busy(cost, micro_rps, shares).min(axis=0).sum())


def _busy(cost: FloatArray, micro_rps: IntArray, shares: FloatArray) -> FloatArray:
    """[configuration, class]: cost of the class of one request per second."""
    with np.errstate(divide="ignore"):
        rate = np.where(micro_rps > 0, micro_rps / 1e6, 0.0)
        return np.asarray(np.where(rate > 0.0, cost[:, None] * shares / rate, np.inf))


def merged_costs(cost: FloatArray, micro_rps: IntArray, shares: FloatArray) -> FloatArray:
    """[from, up to]: cost of neighboring classes that go to one and the same configuration.

    Busy times of classes add up, so the classes a … b-1 cost min over configurations of
    cost x sum of share / rate. All configurations, and all ranges of classes, at once.
    """
    busy = _busy(cost, micro_rps, shares)
    there = np.isfinite(busy)
    sums, missing = _running(np.where(there, busy, 0.0)), _running(~there)
    within = sums[:, None, :] - sums[:, :, None]
    whole = missing[:, None, :] == missing[:, :, None]
    return np.asarray(np.where(whole, within, np.inf).min(axis=0))


def _running(values: NDArray[Any]) -> NDArray[Any]:
    """Sums of the columns before each column, and of all."""
    return np.concatenate((np.zeros((values.shape[0], 1)), np.cumsum(values, axis=1)), axis=1)


def best_merges(merged: FloatArray, most: int) -> list[tuple[float, tuple[int, ...]]]:
    """For 1, 2 … ``most`` groups of neighboring classes the cheapest cost, and where the groups end.

    Dynamic programming over the end of the last group: best[n, b] = min over a < b of
    best[n-1, a] + merged[a, b].

    Args:
        merged: see `merged_costs`.
        most: groups at most.
    """
    count = merged.shape[0] - 1
    open_ = np.where(np.arange(count + 1)[:, None] < np.arange(count + 1), merged, np.inf)
    best = np.where(np.arange(count + 1) == 0, 0.0, np.inf)
    before: list[IntArray] = []
    found = []
    for _ in range(min(most, count)):
        table = best[:, None] + open_
        before.append(table.argmin(axis=0))
        best = table.min(axis=0)
        found.append((float(best[count]), _ends(before, count)))
    return found


def _ends(before: Sequence[IntArray], count: int) -> tuple[int, ...]:
    """Ends of the groups, the last one included."""
    ends = [count]
    for table in reversed(before[1:]):
        ends.append(int(table[ends[-1]]))
    return tuple(reversed(ends))


def groups(ends: Sequence[int]) -> list[range]:
    """The classes of each group."""
    return [range(first, last) for first, last in pairwise((0, *ends))]
