"""One service model: what one configuration gives under any kind of load.

Closed loops, bursts and batches follow the fitted formulas of benchmarks (`planner.performance.rows`), open
arrivals the load model of planning, finite runs a simulation with the same step times. What the user's own
benchmarks say of a configuration multiplies all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planner.performance.closed_spread import first_token_percentiles
from planner.performance.load import Load
from planner.performance.row_loads import RowLoads, Service, configurations_of, row_loads
from planner.performance.row_queues import Alike, alike
from planner.performance.rows import RowPredictions, predict_rows
from planner.performance.service_result import EVERY_LATENCY, ServiceResult
from planner.performance.service_run import is_simulated, request_overhead_s, run_of
from planner.performance.user_factors import row_factors
from planner.physics.arrays import FloatArray
from planner.schema.service_load import Burst, ClosedLoop, LargestRate, OpenArrivals
from planner.schema.slo import METRICS
from planner.steptime.build import build_specs
from planner.steptime.prompt_start import prompt_starts_s
from planner.steptime.rates import first_token_overhead_s

_PER_TOKEN = ("itl", "tpot")
NEARLY_FULL = 0.98
"""Of what a service carries, the most at which a queue with an end is shown."""
_SAME = 1e-6
"""Share by which what is carried may miss what is sent: states are searched to less."""


def serve(services: Sequence[Service], with_percentiles: bool = True) -> ServiceResult:
    """The numbers of every service; without percentiles the means alone, which are the same.

    The services share one calibration.
    """
    result = ServiceResult.blank(len(services))
    if not services:
        return result
    loads, items = row_loads(services), configurations_of(services)
    calibration = services[0].item.calibration
    waiting = _with_factors(predict_rows(build_specs(items), loads, calibration), services)
    result.fitting[:] = waiting.fitting
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        _take_formulas(result, waiting, loads)
        _take_open(result, services)
        _take_static(result, services, loads)
        if with_percentiles:
            _spread_closed(result, waiting, services, loads)
        _take_runs(result, services, with_percentiles)
        _derive(result, services, loads, waiting, with_percentiles)
    return result


def _with_factors(found: RowPredictions, services: Sequence[Service]) -> RowPredictions:
    """Step times, and beyond them first tokens, as the user's own benchmarks have them."""
    own = row_factors([service.item for service in services], 0.0)
    step, first = own.step, own.first_token
    return replace(
        found,
        output_tokens_per_s=found.output_tokens_per_s / step,
        ttft_s=first * (found.fixed_s + step * (found.ttft_s - found.fixed_s)),
        tpot_s=step * found.tpot_s,
        prompt_s=first * step * found.prompt_s,
        fixed_s=first * found.fixed_s,
        full_s=first * step * found.full_s,
    )


def _take_formulas(result: ServiceResult, waiting: RowPredictions, loads: RowLoads) -> None:
    result.output_tokens_per_s[:] = waiting.output_tokens_per_s
    result.rate_rps[:] = waiting.output_tokens_per_s / loads.replicas / np.maximum(loads.output_tokens, 1.0)
    result.decoding[:] = waiting.decoding
    result.step_s[:] = waiting.tpot_s
    result.latency_s["ttft_mean"][:] = waiting.ttft_s
    for name in _PER_TOKEN:
        result.latency_s[f"{name}_mean"][:] = waiting.tpot_s
    after_s = np.maximum(loads.output_tokens - 1.0, 0.0) * waiting.tpot_s
    result.latency_s["e2e_mean"][:] = waiting.ttft_s + after_s


def _take_open(result: ServiceResult, services: Sequence[Service]) -> None:
    """Arrivals without end, and the largest rate within limits."""
    kinds = [type(service.load) for service in services]
    for rows, group in alike(
        services, [i for i, kind in enumerate(kinds) if kind is LargestRate], result.fitting
    ):
        result.rate_rps[rows] = group.largest_rps()
        result.max_rps[rows] = result.rate_rps[rows] * [services[row].replicas for row in rows]
        answer = np.array([services[row].output_tokens for row in rows])
        result.output_tokens_per_s[rows] = result.max_rps[rows] * answer
    for rows, group in alike(
        services, [i for i, kind in enumerate(kinds) if kind is OpenArrivals], result.fitting
    ):
        rates = np.array([_rate_rps(services[row]) for row in rows])
        load = group.at_rates(rates, False, EVERY_LATENCY)
        _take_load(result, rows, load, group)
        _hand_in(result, rows, group)
        most = group.at_rates(np.full(rates.shape, np.inf), True, ("itl_mean",))
        result.carried_rps[rows] = load.rate_rps
        carried = load.rate_rps >= (1.0 - _SAME) * rates
        result.utilization[rows] = np.where(carried, np.minimum(load.rate_rps / most.rate_rps, 1.0), 1.0)


def _hand_in(result: ServiceResult, rows: list[int], group: Alike) -> None:
    """What is in front of the engine under open arrivals, in place of that of closed loops."""
    items = [service.item for service in group.services]
    first = row_factors(items, 0.0).first_token
    starts_s = prompt_starts_s(items, build_specs(items), group.traffic.input_mean_tokens)
    own_s = starts_s + [first_token_overhead_s(item.calibration, item.engine.id) for item in items]
    one_by_one_s = [request_overhead_s(service.item, service.input_tokens) for service in group.services]
    for name, values in result.latency_s.items():
        if name.startswith(("ttft", "e2e")):
            values[rows] += first * (one_by_one_s - own_s)


def _rate_rps(service: Service) -> float:
    assert isinstance(service.load, OpenArrivals)
    return service.load.rate_rps / service.replicas


def _take_load(result: ServiceResult, rows: list[int], load: Load, group: Alike) -> None:
    """A steady state of the load model."""
    counts = np.array([float(service.replicas) for service in group.services])
    result.rate_rps[rows] = load.rate_rps
    result.output_tokens_per_s[rows] = load.rate_rps * counts * group.traffic.output_mean_tokens
    result.decoding[rows], result.step_s[rows] = load.concurrency, load.mean_step_s
    for name, values in load.latency_s.items():
        result.latency_s[name][rows] = values


def _take_static(result: ServiceResult, services: Sequence[Service], loads: RowLoads) -> None:
    """Closed loops of engines that compute a batch to its longest answer."""
    picked = [
        row
        for row, service in enumerate(services)
        if isinstance(service.load, ClosedLoop) and service.item.engine.limits.batching == "static"
    ]
    for rows, group in alike(services, picked, result.fitting):
        held = np.maximum(result.fitting[rows], 1.0)
        clients = np.where(np.isfinite(loads.requests[rows]), loads.requests[rows], held)
        _take_load(result, rows, group.with_clients(clients), group)
        most = group.at_rates(np.full(len(rows), np.inf), True, ("itl_mean",))
        result.utilization[rows] = np.minimum(result.rate_rps[rows] / most.rate_rps, 1.0)


def _spread_closed(
    result: ServiceResult, waiting: RowPredictions, services: Sequence[Service], loads: RowLoads
) -> None:
    """Percentiles of closed loops of continuous batching, about the means of their formula."""
    picked = [
        row
        for row, service in enumerate(services)
        if loads.kind[row] == "closed-loop"
        and service.prefill is None
        and service.item.engine.limits.batching != "static"
        and np.isfinite(waiting.ttft_s[row])
    ]
    for rows, group in alike(services, picked, result.fitting):
        load, latency = group.with_clients(loads.requests[rows]), result.latency_s
        ranks = np.array([float(service.item.attention_dp) for service in group.services])
        inside = np.minimum(loads.requests[rows], np.maximum(result.fitting[rows], 1.0))
        others_s = waiting.prompt_s[rows] * np.maximum(inside / ranks - 1.0, 0.0)
        # Of a lone client nothing varies.
        varies = np.clip(inside - 1.0, 0.0, 1.0)
        full_s = np.nan_to_num(waiting.full_s[rows])
        mean_s = latency["ttft_mean"][rows] - full_s
        first_s = np.minimum(waiting.fixed_s[rows] + waiting.prompt_s[rows], mean_s)
        found = first_token_percentiles(mean_s, first_s, others_s, loads.burst_share[rows])
        for name, values in found.items():
            latency[f"ttft_{name}"][rows] = values + full_s
            for metric in _PER_TOKEN:
                above = load.latency_s[f"{metric}_{name}"] / load.latency_s[f"{metric}_mean"] - 1.0
                latency[f"{metric}_{name}"][rows] = (1.0 + varies * above) * latency[f"{metric}_mean"][rows]
            latency[f"e2e_{name}"][rows] = _whole_s(result, load, rows, name, values + full_s, varies)


def _whole_s(
    result: ServiceResult, load: Load, rows: list[int], name: str, first_s: FloatArray, varies: FloatArray
) -> FloatArray:
    """End-to-end percentiles: what first tokens, and what answers, add to the mean, in quadrature."""
    mean_s = result.latency_s["e2e_mean"][rows]
    ratio = load.latency_s[f"e2e_{name}"] / load.latency_s["e2e_mean"]
    answer_s = varies * (ratio - 1.0) * mean_s
    first_s = first_s - result.latency_s["ttft_mean"][rows]
    both = np.sign(answer_s) * answer_s**2 + np.sign(first_s) * first_s**2
    return np.asarray(mean_s + np.sign(both) * np.sqrt(np.abs(both)))


def _take_runs(result: ServiceResult, services: Sequence[Service], with_percentiles: bool) -> None:
    """Finite runs, request by request."""
    for row, service in enumerate(services):
        if not is_simulated(service, result.fitting[row], with_percentiles):
            continue
        means_s = {metric: float(result.latency_s[f"{metric}_mean"][row]) for metric in METRICS}
        run = run_of(_within(service, result.carried_rps[row]), result.fitting[row], means_s)
        for name, value in run.latency_s.items():
            result.latency_s[name][row] = value
        if isinstance(service.load, OpenArrivals | Burst):
            result.output_tokens_per_s[row] = run.output_tokens_per_s
            result.rate_rps[row] = run.rate_rps / service.replicas
            # Little's law for those between their first token and their last.
            answer_s = run.latency_s["e2e_mean"] - run.latency_s["ttft_mean"]
            result.decoding[row] = result.rate_rps[row] * answer_s
            result.carried_rps[row] = np.inf


def _within(service: Service, carried_rps: float) -> Service:
    """The service at what it carries, where its queue is known to have had an end."""
    load = service.load
    if not isinstance(load, OpenArrivals) or not load.kept_up:
        return service
    most = NEARLY_FULL * carried_rps * service.replicas
    return replace(service, load=replace(load, rate_rps=min(load.rate_rps, most)))


def _derive(
    result: ServiceResult,
    services: Sequence[Service],
    loads: RowLoads,
    waiting: RowPredictions,
    with_percentiles: bool,
) -> None:
    """Utilization of closed loops: what they complete over what an endless queue would."""
    closed = np.isin(loads.kind, ("closed-loop", "offline")) & (loads.prefill_row < 0)
    closed &= np.isnan(result.utilization)
    if not with_percentiles or not closed.any():
        return
    endless = replace(loads, requests=np.full(len(loads), np.inf), kind=np.where(closed, "offline", ""))
    full = predict_rows(build_specs(configurations_of(services)), endless, services[0].item.calibration)
    step = row_factors([service.item for service in services], 0.0).step
    share = waiting.output_tokens_per_s / (full.output_tokens_per_s / step)
    result.utilization[closed] = np.clip(share[closed], 0.0, 1.0)
