"""Services under their loads, one by one and as columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.performance.finite_run import Repeats
from planner.physics.arrays import FloatArray, IntArray
from planner.schema.configuration import Configuration
from planner.schema.service_load import Burst, ClosedLoop, LargestRate, OpenArrivals, ServiceLoad, StaticBatch
from planner.schema.traffic import Traffic

SLOT_SCORE = 2.3263478740408408
"""Normal score of 1 %."""


@dataclass(frozen=True, slots=True)
class PrefillSide:
    """Prefill workers of disaggregated serving; the service itself is then a decode worker."""

    item: Configuration
    workers: int
    decode_workers: int
    link_bytes_per_s: float = math.inf
    """What one GPU sends of a prompt's KV to the decode workers, one way."""
    link_latency_s: float = 0.0


@dataclass(frozen=True, eq=False)
class Service:
    """One configuration under one load: what `planner.performance.service.serve` answers."""

    item: Configuration
    load: ServiceLoad
    input_tokens: float
    """Mean."""
    output_tokens: float
    held_answer_fraction: float
    """Share of an answer that a running request holds on average."""
    replicas: int = 1
    input_log_sigma: float = 0.0
    """Spread of the lengths: 0 equal."""
    output_log_sigma: float = 0.0
    most_input_tokens: float = math.inf
    """Where a benchmark leaves out longer prompts."""
    most_output_tokens: float = math.inf
    most_sequences: float = math.inf
    """Sequences of one replica at most, where something else than its memory says so."""
    told_sequences: float = math.inf
    """Sequences of one replica that the engine is told to run at most (``max_num_seqs``), and so profiles."""
    slot_z_score: float = SLOT_SCORE
    """Normal score at which open arrivals may meet a full batch."""
    speculative: bool = False
    prefill: PrefillSide | None = None
    repeats: Repeats | None = None
    """Prompts that repeat each other, where a prefix cache finds them."""
    traffic: Traffic | None = None
    """Lengths for open arrivals, where more is known of them than means and spreads."""


@dataclass(frozen=True, eq=False)
class RowLoads:
    """Loads of rows, per replica; one entry a row."""

    kind: np.ndarray[tuple[int], np.dtype[np.str_]]
    engine: tuple[str, ...]
    """Engine family, as the calibration names it."""
    input_tokens: FloatArray
    output_tokens: FloatArray
    requests: FloatArray
    """In flight, in the batch, or sent at once; infinite where nobody says."""
    replicas: FloatArray
    held_answer_fraction: FloatArray
    """Share of an answer that a running request holds on average."""
    most_sequences: FloatArray
    told_sequences: FloatArray
    """Sequences at once at most, beside what memory and engine allow."""
    burst_share: FloatArray
    """Share of the requests of a closed loop that come at its start."""
    run_requests: FloatArray
    """Of a run of a closed loop; infinite where it does not end."""
    equal_lengths: FloatArray
    """1 where all requests are equally long."""
    speculative: FloatArray
    """1 where drafts are verified."""
    alone: FloatArray
    """1 where the time to first token has no server in front of it."""
    prefill_row: IntArray
    """Entry of the prefill worker of a disaggregated row among the specifications, else -1."""
    prefill_workers: FloatArray
    prefill_batched_tokens: FloatArray
    """Prompt tokens that one attention rank of a prefill worker takes into a step."""
    decode_workers: FloatArray
    kv_transfer_bytes_per_s: FloatArray
    """Of one GPU of a prefill worker, what its engine hides counted as faster."""
    kv_transfer_latency_s: FloatArray

    def __len__(self) -> int:
        """Number of rows."""
        return int(self.input_tokens.shape[0])


def configurations_of(services: Sequence[Service]) -> tuple[Configuration, ...]:
    """Those of the services, one each, then the prefill workers."""
    sides = (service.prefill.item for service in services if service.prefill is not None)
    return (*(service.item for service in services), *sides)


def row_loads(services: Sequence[Service]) -> RowLoads:
    """The columns; prefill workers follow the services in the order of `configurations_of`."""
    places = iter(range(len(services), 2 * len(services)))
    prefill = [-1 if service.prefill is None else next(places) for service in services]
    sides = [service.prefill for service in services]
    loads = [service.load for service in services]
    replicas = np.array([float(service.replicas) for service in services])
    closed = [load if isinstance(load, ClosedLoop) else None for load in loads]

    def numbers(values: Sequence[float]) -> FloatArray:
        return np.array(values, dtype=np.float64)

    return RowLoads(
        kind=np.array([_kind(load) for load in loads]),
        engine=tuple(service.item.engine.id for service in services),
        input_tokens=numbers([service.input_tokens for service in services]),
        output_tokens=numbers([service.output_tokens for service in services]),
        requests=numbers([_requests(load) for load in loads]) / replicas,
        replicas=replicas,
        held_answer_fraction=numbers([service.held_answer_fraction for service in services]),
        most_sequences=numbers([service.most_sequences for service in services]),
        told_sequences=numbers([service.told_sequences for service in services]),
        burst_share=numbers([0.0 if load is None else load.burst_share for load in closed]),
        run_requests=numbers([float(load.requests if load else 0) or math.inf for load in closed]) / replicas,
        equal_lengths=numbers([float(load is not None and load.equal_lengths) for load in closed]),
        speculative=numbers([float(service.speculative) for service in services]),
        alone=numbers([float(isinstance(load, StaticBatch) and load.alone) for load in loads]),
        prefill_row=np.array(prefill, dtype=np.intp),
        prefill_workers=numbers([0.0 if side is None else float(side.workers) for side in sides]),
        prefill_batched_tokens=numbers(
            [0.0 if side is None else float(side.item.batched_tokens) for side in sides]
        ),
        decode_workers=numbers([1.0 if side is None else float(side.decode_workers) for side in sides]),
        kv_transfer_bytes_per_s=numbers([math.inf if side is None else _shown_rate(side) for side in sides]),
        kv_transfer_latency_s=numbers([0.0 if side is None else side.link_latency_s for side in sides]),
    )


def _shown_rate(side: PrefillSide) -> float:
    """Bytes per second as a client sees them: what hides behind the prompt itself takes no time."""
    engine = side.item.engine.kv_transfer
    shown = 1.0 - (float(engine.hidden) if engine else 0.0)
    return side.link_bytes_per_s / shown if shown > 0.0 else math.inf


def _kind(load: ServiceLoad) -> str:
    if isinstance(load, ClosedLoop):
        return "closed-loop" if math.isfinite(load.clients) else "offline"
    if isinstance(load, StaticBatch):
        return "first-token" if load.first_token_only else "static-batch"
    return {OpenArrivals: "open-loop", Burst: "burst", LargestRate: "server-slo"}[type(load)]


def _requests(load: ServiceLoad) -> float:
    if isinstance(load, ClosedLoop):
        return load.clients
    return float(load.requests) if isinstance(load, Burst | StaticBatch) else math.inf
