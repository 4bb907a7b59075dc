"""One configuration that flags describe, as a service under a load; its latencies as documents."""

from __future__ import annotations

import math

from planner.app.one_configuration import Asked, Built, Told
from planner.performance.row_loads import Service
from planner.performance.service_result import ServiceResult
from planner.queueing.lengths import normal_score
from planner.schema.pool import Statistic
from planner.schema.service_load import ClosedLoop, OpenArrivals, ServiceLoad
from planner.schema.slo import METRICS, SHOWN_STATISTICS

LENGTH_SPREAD = 0.065
"""Log-standard deviation of lengths between 0.8 and 1 of nominal, as benchmarks draw them in finite runs."""


def service_of(asked: Asked, told: Told, load: ServiceLoad, most_sequences: float) -> Service:
    """The configuration under a load, as `planner.performance.service.serve` takes it."""
    held = asked.catalog.find("judgment", "measurements").parameters
    engine = asked.engine
    known = held.get(f"{engine.id}.held_answer_fraction")
    share = known.value if known else float(engine.memory.reserves_answer or engine.memory.contiguous)
    spread = 0.0 if isinstance(load, ClosedLoop) and load.equal_lengths else LENGTH_SPREAD
    return Service(
        item=told.built.candidates.configurations[0],
        load=load,
        input_tokens=asked.traffic.input_mean_tokens,
        output_tokens=asked.traffic.output_mean_tokens,
        held_answer_fraction=share,
        replicas=load.routing.replicas if isinstance(load, OpenArrivals | ClosedLoop) else 1,
        input_log_sigma=spread,
        output_log_sigma=spread,
        most_sequences=most_sequences,
        told_sequences=float(told.batch),
        slot_z_score=normal_score(1.0 - asked.policy.slot_full_fraction),
        traffic=asked.traffic,
    )


def most_sequences(built: Built, context: int | None, max_batch: int | None) -> float:
    """Sequences of one replica at most by what was asked: a batch, or a context that each may fill."""
    fitting = float(built.fit.max_sequences[0])
    return float(min(fitting, max_batch)) if max_batch else fitting if context else math.inf


def latencies(found: ServiceResult, index: int, output_tokens: float) -> dict[str, Statistic]:
    """``ttft_s`` and so on; statistics without a finite value and gaps of one token are left out."""
    documents: dict[str, Statistic] = {}
    for metric in METRICS:
        values = {name: float(found.latency_s[f"{metric}_{name}"][index]) for name in SHOWN_STATISTICS}
        finite = {name: value for name, value in values.items() if math.isfinite(value)}
        documents[f"{metric}_s"] = {} if output_tokens <= 1.0 and metric in ("itl", "tpot") else finite
    return documents
