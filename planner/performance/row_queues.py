"""Services with arrivals of their own, without end: at a rate, or at the largest rate within limits.

Those with the same lengths share one traffic and are evaluated together. Predictions are medians: no margin
for the confidence of a plan.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.performance.at_load import at_load, in_flight
from planner.performance.capacity import capacities
from planner.performance.load import Load, LoadPolicy
from planner.performance.replica import replicas
from planner.performance.row_loads import Service
from planner.performance.service_result import EVERY_LATENCY
from planner.physics.arrays import FloatArray
from planner.queueing import lengths
from planner.schema.service_load import LargestRate, OpenArrivals
from planner.schema.traffic import Traffic
from planner.steptime.build import build_specs

_SCORES = (-1.2815515655446004, 0.0, 1.2815515655446004, 2.3263478740408408)
_PROBABILITIES = (0.1, 0.5, 0.9, 0.99)


def traffic_of(service: Service) -> Traffic:
    """Lengths and arrivals of a service."""
    traffic = service.traffic or mean_traffic(
        service.input_tokens, service.output_tokens, service.input_log_sigma, service.output_log_sigma
    )
    load = service.load
    if isinstance(load, OpenArrivals):
        return replace(traffic, arrival_scv_ratio=load.burstiness, routing=load.routing)
    return traffic


def mean_traffic(
    input_tokens: float, output_tokens: float, log_sigma: float, output_log_sigma: float | None = None
) -> Traffic:
    """Poisson arrivals with lognormal lengths of the given means."""
    prompt = _atoms(input_tokens, log_sigma)
    answer = _atoms(output_tokens, log_sigma if output_log_sigma is None else output_log_sigma)
    total = lengths.sum_atoms(*prompt, *answer)
    return Traffic(
        input_weight=prompt[0],
        input_tokens=prompt[1],
        output_weight=answer[0],
        output_tokens=answer[1],
        input_mean_tokens=float(prompt[0] @ prompt[1]),
        output_mean_tokens=float(answer[0] @ answer[1]),
        input_p95_tokens=lengths.atom_quantile(*prompt, 0.95),
        output_p95_tokens=lengths.atom_quantile(*answer, 0.95),
        input_p99_tokens=lengths.atom_quantile(*prompt, 0.99),
        output_p99_tokens=lengths.atom_quantile(*answer, 0.99),
        kv_tokens=math.ceil(float(total[0] @ total[1])),
        cached_fraction=0.0,
        arrival_scv_ratio=1.0,
    )


def _atoms(mean_tokens: float, log_sigma: float) -> tuple[FloatArray, FloatArray]:
    if not log_sigma:
        return np.ones(1), np.array([max(mean_tokens, 1.0)])
    median = mean_tokens * math.exp(-(log_sigma**2) / 2.0)
    known = np.array([median * math.exp(log_sigma * score) for score in _SCORES])
    weight, tokens = lengths.atoms_from_percentiles(np.array(_PROBABILITIES), known)
    # The bins do not keep the mean exactly; the table gives it.
    scaled: FloatArray = np.maximum(tokens * (mean_tokens / float(weight @ tokens)), 1.0)
    return weight, scaled


@dataclass(frozen=True, eq=False)
class Alike:
    """Services of one traffic, with the batch that each of their replicas holds."""

    services: tuple[Service, ...]
    traffic: Traffic
    fitting: FloatArray

    @property
    def static(self) -> bool:
        """Batches are computed to their longest answer."""
        return self.services[0].item.engine.limits.batching == "static"

    def _policy(self, saturated: bool) -> LoadPolicy:
        return LoadPolicy(
            slot_z_score=self.services[0].slot_z_score,
            step_factor_ratio=1.0,
            ttft_factor_ratio=1.0,
            saturated=saturated,
            static_batches=self.static,
        )

    def at_rates(self, rates_rps: FloatArray, saturated: bool, wanted: tuple[str, ...]) -> Load:
        """The state in which each replica carries its rate, or all that it can."""
        items = [service.item for service in self.services]
        workers = replicas(items, build_specs(items), self.traffic)
        rows, batch = np.arange(len(items), dtype=np.int64), np.maximum(self.fitting, 1.0)
        return at_load(workers, rows, rates_rps, batch, self.traffic, self._policy(saturated), wanted)

    def with_clients(self, clients: FloatArray) -> Load:
        """The state with so many requests always in flight in each replica, without a start."""
        items = [service.item for service in self.services]
        workers = replicas(items, build_specs(items), self.traffic)
        rows, batch = np.arange(len(items), dtype=np.int64), np.maximum(self.fitting, 1.0)
        policy = self._policy(saturated=False)
        return in_flight(workers, rows, clients, batch, self.traffic, policy, EVERY_LATENCY)

    def largest_rps(self) -> FloatArray:
        """The largest rate of a replica at which the limits of its load hold."""
        limits = [_limits(service) for service in self.services]
        rates = np.empty(len(limits))
        for kept in {tuple(sorted(limit.items())) for limit in limits}:
            picked = [row for row, limit in enumerate(limits) if tuple(sorted(limit.items())) == kept]
            items = [self.services[row].item for row in picked]
            found = capacities(
                replicas(items, build_specs(items), self.traffic),
                np.asarray(np.maximum(self.fitting[picked], 1.0), dtype=np.int64),
                self.traffic,
                self._policy(saturated=False),
                dict(kept),
            )
            rates[picked] = found.rate_rps
        return rates


def _limits(service: Service) -> Mapping[str, float]:
    return service.load.limits_s if isinstance(service.load, LargestRate) else {}


def alike(
    services: Sequence[Service], picked: Sequence[int], fitting: FloatArray
) -> list[tuple[list[int], Alike]]:
    """The picked services by traffic, with their places."""
    places: dict[tuple[object, ...], list[int]] = {}
    for place in picked:
        one = services[place]
        arriving = (
            (one.load.burstiness, one.load.routing) if isinstance(one.load, OpenArrivals) else type(one.load)
        )
        spread = (one.input_tokens, one.output_tokens, one.input_log_sigma, one.output_log_sigma)
        own: object = spread if one.traffic is None else id(one.traffic)
        static = one.item.engine.limits.batching == "static"
        places.setdefault((own, arriving, static, one.slot_z_score), []).append(place)
    return [
        (rows, Alike(tuple(services[row] for row in rows), traffic_of(services[rows[0]]), fitting[rows]))
        for rows in places.values()
    ]
