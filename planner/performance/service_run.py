"""A service in a finite run: the simulation with the step times of its configuration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.performance.finite_run import RunLengths, arrivals_s, run_requests
from planner.performance.load import PERCENTILE
from planner.performance.replica import replicas
from planner.performance.row_loads import Service
from planner.performance.row_queues import mean_traffic
from planner.performance.run_replica import Worker
from planner.performance.run_simulation import RunPlan, RunResult, simulate
from planner.performance.step_table import step_table
from planner.performance.user_factors import row_factors
from planner.physics.arrays import FloatArray
from planner.queueing import routing
from planner.schema.candidates import BoolArray
from planner.schema.configuration import Configuration
from planner.schema.service_load import Burst, ClosedLoop, OpenArrivals
from planner.schema.slo import METRICS
from planner.steptime.build import build_specs
from planner.steptime.memory import max_sequences, memory_account
from planner.steptime.rates import first_token_overhead_s, parameter

SEED = 20_240_607
DRAWS, MOST_DRAWN = 5, 2_000
"""Short runs are drawn several times, for the median of each number: requests of all draws at most."""
MOST_REQUESTS = 6_000
"""Longer runs are simulated in one replica that gets its part of the arrivals, and without their start."""
LIVES = 12.0
"""Batches of requests that such a part holds at least."""
BEFORE_RATE = 0.1
"""Of the run that fills the caches over the one that counts: ladders begin at low rates."""
PAUSE_S = 1e7
"""Between the run that fills the caches and the one that counts."""
START = 0.4
"""Share of it that counts as its start."""
LARGEST_BATCH = 4_096
LEGACY_PREFILL_ONLY_STEPS = "vllm-legacy"
"""The scheduler that ran prompts in steps of their own."""


@dataclass(frozen=True, slots=True)
class Run:
    """Latencies of a run, by name, and what it completed."""

    latency_s: dict[str, float]
    rate_rps: float
    """Of all replicas."""
    output_tokens_per_s: float


def is_simulated(service: Service, fitting: float, with_percentiles: bool) -> bool:
    """Whether a load is a finite run of a service that is simulated.

    Closed loops have a formula for their means; they are simulated for their percentiles alone, or where
    prompts repeat each other or a router spreads them, of which the formula knows nothing.
    """
    load = service.load
    if service.prefill is not None or service.item.engine.limits.batching == "static" or not fitting >= 1.0:
        return False
    if isinstance(load, OpenArrivals | Burst):
        return load.requests > 0
    if isinstance(load, ClosedLoop) and load.requests and math.isfinite(load.clients):
        return with_percentiles or not _has_formula(service)
    return False


def _has_formula(service: Service) -> bool:
    """Whether the formula of closed loops knows all of a service: new prompts, and one replica."""
    return service.repeats is None and service.replicas == 1


def run_of(service: Service, fitting: float, means_s: Mapping[str, float]) -> Run:
    """The run in numbers.

    Args:
        service: with a load that `is_simulated`.
        fitting: sequences that one replica holds.
        means_s: what the formula of the load gives for each metric, NaN where there is none. The percentiles
            of closed loops are scaled to these means: they are fitted to such runs.
    """
    part, count = _part(service, fitting)
    worker = _worker(part, fitting)
    before = part.repeats.distinct if part.repeats is not None else 0
    draws = DRAWS if part is service and (before + count) * DRAWS <= MOST_DRAWN else 1
    return _median(
        [_one(service, part, worker, (before, count), SEED + 10 * draw, means_s) for draw in range(draws)]
    )


def _median(runs: Sequence[Run]) -> Run:
    """The median of every number over runs that differ in their random numbers alone."""
    return Run(
        {name: float(np.median([run.latency_s[name] for run in runs])) for name in runs[0].latency_s},
        float(np.median([run.rate_rps for run in runs])),
        float(np.median([run.output_tokens_per_s for run in runs])),
    )


def _one(
    service: Service,
    part: Service,
    worker: Worker,
    counts: tuple[int, int],
    seed: int,
    means_s: Mapping[str, float],
) -> Run:
    before, count = counts
    plan = _plan(part, before, count, seed)
    run = simulate(worker, plan)
    place = np.arange(before + count)
    kept = place >= before + (round(START * count) if part is not service else 0)
    if isinstance(service.load, ClosedLoop) and not service.load.start_burst:
        kept &= place >= before + service.load.clients
    answers = np.array(plan.requests.answer, dtype=np.float64)
    return _numbers(service, run, answers, kept if kept.any() else place >= before, means_s)


def _part(service: Service, fitting: float) -> tuple[Service, int]:
    """The service itself, or one replica of a long open run with its share of the arrivals."""
    load = service.load
    assert isinstance(load, OpenArrivals | ClosedLoop | Burst)
    count = load.requests
    if not isinstance(load, OpenArrivals) or count <= MOST_REQUESTS or service.repeats is not None:
        return service, min(count, 4 * MOST_REQUESTS)
    own = routing.replica_scv_ratio(load.routing.policy, service.replicas, load.burstiness)
    alone = OpenArrivals(load.rate_rps / service.replicas, own, requests=count)
    wanted = max(MOST_REQUESTS // 2, round(LIVES * min(fitting, LARGEST_BATCH)))
    return _with(service, alone), min(max(count // service.replicas, 1), wanted)


def _with(service: Service, load: OpenArrivals) -> Service:
    return replace(service, load=load, replicas=1)


def _worker(service: Service, fitting: float) -> Worker:
    item, limits = service.item, service.item.engine.limits
    specs = build_specs([item])
    traffic = mean_traffic(service.input_tokens, service.output_tokens, 0.0)
    servers = item.attention_dp * item.pp
    running = int(min(specs.max_running[0] * item.attention_dp, service.most_sequences, LARGEST_BATCH))
    held = service.input_tokens + service.held_answer_fraction * service.output_tokens
    return Worker(
        table=step_table(replicas([item], specs, traffic), 0, max(running, 1), item.batched_tokens * servers),
        batched_tokens=item.batched_tokens * servers,
        running=max(running, 1),
        kv_tokens=_kv_tokens(service, held, fitting),
        reserves_answer=service.held_answer_fraction >= 1.0,
        prefill_only_steps=not limits.chunked_prefill or item.engine.id == LEGACY_PREFILL_ONLY_STEPS,
        caches=service.repeats is not None,
    )


def _kv_tokens(service: Service, held: float, fitting: float) -> float:
    specs, row = build_specs([service.item]), np.zeros(1, dtype=np.intp)
    told = service.told_sequences / service.item.attention_dp
    pool = memory_account(specs, row, running=told).kv_cache_bytes
    return float(max(max_sequences(specs, row, pool, max(held, 1.0))[0], fitting) * held)


def _plan(service: Service, before: int, count: int, seed: int) -> RunPlan:
    """The run, and before it one that fills the caches and ends."""
    load = service.load
    assert isinstance(load, OpenArrivals | ClosedLoop | Burst)
    tokens = RunLengths(
        service.input_tokens,
        service.output_tokens,
        service.input_log_sigma,
        service.output_log_sigma,
        service.most_input_tokens,
        service.most_output_tokens,
    )
    times: list[float] = []
    if isinstance(load, OpenArrivals):
        slow = BEFORE_RATE * load.rate_rps
        times = arrivals_s(slow, before, load.burstiness, seed + 1) if before else []
        since = PAUSE_S if before else 0.0
        times += [since + at for at in arrivals_s(load.rate_rps, count, load.burstiness, seed)]
    elif isinstance(load, Burst):
        times = [0.0] * before + [PAUSE_S if before else 0.0] * count
    return RunPlan(
        requests=run_requests(tokens, service.repeats, before + count, seed),
        arrival_s=times,
        clients=int(load.clients) if isinstance(load, ClosedLoop) else 0,
        replicas=service.replicas,
        policy=load.routing.policy if service.replicas > 1 else "random",
        seed=seed,
        before=before,
    )


def _numbers(
    service: Service, run: RunResult, answers: FloatArray, kept: BoolArray, means_s: Mapping[str, float]
) -> Run:
    item = service.item
    first = row_factors([item], 0.0).first_token[0]
    overhead_s = request_overhead_s(item, service.input_tokens)
    ttft_s = first * (overhead_s + run.first_s - run.sent_s)
    after_s = run.last_s - run.first_s
    many = kept & (answers > 1.0)
    found = _statistics("ttft", ttft_s[kept]) | _statistics("e2e", (ttft_s + after_s)[kept])
    if many.any():
        found |= _statistics("tpot", after_s[many] / (answers[many] - 1.0))
        found |= _weighted("itl", run.gap_s, run.gap_weight)
    if isinstance(service.load, ClosedLoop) and _has_formula(service):
        found = _scaled(found, means_s)
    duration_s = max(float(run.last_s[kept].max() - run.sent_s[kept].min()), 1e-9)
    return Run(found, float(kept.sum()) / duration_s, float(answers[kept].sum()) / duration_s)


def request_overhead_s(item: Configuration, input_tokens: float) -> float:
    """In front of the engine, where requests come one by one: closed loops of benchmarks have more.

    Equation: min(h0, h_1 + tau ISL): handling of a request, and text to tokens.
    """
    own = first_token_overhead_s(item.calibration, item.engine.id)
    handling = parameter(item.calibration, "request_overhead_s")
    return min(own, handling + parameter(item.calibration, "token_overhead_s") * input_tokens)


def _scaled(found: dict[str, float], means_s: Mapping[str, float]) -> dict[str, float]:
    """The statistics with the means that are given."""
    ratios = {
        metric: means_s[metric] / found[f"{metric}_mean"] for metric in METRICS if f"{metric}_mean" in found
    }
    return {
        name: value * ratio if math.isfinite(ratio := ratios[name.split("_")[0]]) else value
        for name, value in found.items()
    }


def _statistics(metric: str, values: FloatArray) -> dict[str, float]:
    found = {f"{metric}_{name}": float(np.quantile(values, rank)) for name, rank in PERCENTILE.items()}
    return {f"{metric}_mean": float(values.mean()), **found}


def _weighted(metric: str, values: FloatArray, weight: FloatArray) -> dict[str, float]:
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order])
    found = {
        f"{metric}_{name}": float(
            values[order][min(np.searchsorted(below, rank * below[-1]), order.size - 1)]
        )
        for name, rank in PERCENTILE.items()
    }
    return {f"{metric}_mean": float(values @ weight / below[-1]), **found}
