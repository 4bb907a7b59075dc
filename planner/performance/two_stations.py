"""Disaggregated serving as a closed loop of two stations: finite prefill workers, then decoding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from planner.physics.arrays import FloatArray

PASSES = 60
DAMPING = 0.5


@dataclass(frozen=True, eq=False)
class TwoStations:
    """Steady state of the loop."""

    wait_s: FloatArray
    """In and before the prefill station, the first wave of a benchmark included."""
    think_s: FloatArray
    """In the decode station, one answer."""
    rate_rps: FloatArray


def two_stations(
    customers: FloatArray,
    service_s: FloatArray,
    servers: FloatArray,
    think_s: Callable[[FloatArray], FloatArray],
    first_wave_fraction: FloatArray | float,
    most_prompts: FloatArray | float = 1.0,
    full_service_s: FloatArray | None = None,
    most_decoding: FloatArray | float = np.inf,
) -> TwoStations:
    """``C`` requests go round between ``m`` prefill servers and the decode workers.

    ``X = C / (W + Z)`` and ``W = S + A s(b) / m`` with the ``A = X W (C - 1) / C`` that an arrival finds;
    ``Z`` follows from the ``X Z`` sequences that decode. Prompts that wait for a server share its steps:
    ``b = A / m`` of them, at least 1 and at most ``n``, and each takes ``s(b) = s_n + (S - s_n) u`` with
    ``u = (1 / b - 1 / n) / (1 - 1 / n)``, since a step has a fixed part. A benchmark starts with all C at
    the prefill station: part of that first wave, ``max(C s(b) / (2 m) - W, 0)``, stays in the mean.
    Decode workers that hold F sequences pass no more than ``F / Z`` on: the rest of a cycle, ``C Z / F - Z``
    where that is more than W, is a wait for a place, before prefill or after it.

    Args:
        customers: C. service_s: S of one prompt on one server. servers: m (workers x attention ranks).
        think_s: time of an answer (Z) when so many sequences decode in all workers together.
        first_wave_fraction: share of the first wave that the mean keeps.
        most_prompts: n, prompts that one step of a server can take in.
        full_service_s: s_n, time per prompt of a step with so many; S where it is not given.
        most_decoding: F, sequences that all decode workers hold.

    Source: performance model, section 5 (approximate mean-value analysis).
    Breaks down when: prefill is above 90 % busy: then W is the difference of two large numbers.
    """
    one = np.maximum(service_s, 1e-9)
    full = one if full_service_s is None else np.clip(full_service_s, 1e-9, one)
    fewest = 1.0 / np.maximum(most_prompts, 1.0)
    wait, each = one.copy(), one
    think = think_s(np.maximum(customers / 2.0, 1.0))
    for _ in range(PASSES):
        rate = customers / (wait + think)
        seen = rate * wait * (customers - 1.0) / np.maximum(customers, 1.0)
        alone = 1.0 / np.clip(seen / servers, 1.0, 1.0 / fewest)
        each = full + (one - full) * (alone - fewest) / np.maximum(1.0 - fewest, 1e-9)
        wait = DAMPING * (one + each / servers * seen) + (1.0 - DAMPING) * wait
        decoding = np.clip(customers / (wait + think) * think, 1e-6, customers)
        think = DAMPING * think_s(decoding) + (1.0 - DAMPING) * think
    first = np.maximum(customers * each / (2.0 * servers) - wait, 0.0)
    placed = np.maximum(wait, customers * think / most_decoding - think)
    return TwoStations(placed + first_wave_fraction * first, think, customers / (placed + think))
