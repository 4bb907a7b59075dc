"""One configuration at one load: memory, step times with their bound, latencies, throughput, cost."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np

from planner.app.efficiency_of import efficiency_of
from planner.app.one_configuration import (
    Asked,
    Built,
    ask,
    build,
    cannot_run,
    median_policy,
    option_text,
    rule_title,
)
from planner.candidates.attributes import unpacked, weights_native
from planner.candidates.market import lots as market_lots
from planner.candidates.replica_cost import bought
from planner.performance.at_load import EVERY_LATENCY, at_load, in_flight
from planner.performance.open_load import Load, concurrency_at_cap
from planner.performance.replica import cold_start_seconds, replicas
from planner.performance.user_factors import evidence, sigma_log, user_factor
from planner.planning.documents.pool_document import latency_document, memory_document
from planner.schema.choice import Option, Supply
from planner.schema.configuration import Configuration
from planner.schema.plan import Estimate
from planner.schema.problem import Fleet
from planner.steptime.step import step_time_s

_HOUR_S = 3600.0
_MILLION = 1e6
_CARRIED = 0.999


def estimate(
    *,
    model: str,
    gpu: str,
    isl: int,
    osl: int,
    tp: int = 1,
    pp: int = 1,
    ep: int = 1,
    attention_dp: int = 1,
    weights: str | None = None,
    kv: str | None = None,
    engine: str = "vllm",
    concurrency: int | None = None,
    rps: float | None = None,
    context: int | None = None,
    memory_utilization: str | None = None,
    max_batch: int | None = None,
    overlays: tuple[Path, ...] = (),
) -> Estimate:
    """The best prediction of one configuration (medians: no planning margin).

    With ``concurrency`` that many requests are always in flight (default 1); with ``rps`` they
    arrive at random. Memory follows the engine's own limit, or ``memory_utilization``.

    Raises:
        InputError: unknown names.
    """
    asked = ask(
        "planner estimate",
        model=model,
        gpu=gpu,
        isl=isl,
        osl=osl,
        tp=tp,
        pp=pp,
        ep=ep,
        attention_dp=attention_dp,
        weights=weights,
        kv=kv,
        engine=engine,
        context=context,
        memory_utilization=memory_utilization,
        overlays=overlays,
    )
    built = build(asked, overlays)
    reasons = cannot_run(asked, built, max(context or 0, isl + osl), max_batch)
    if reasons or built is None:
        account = memory_document(built.fit.account, 0) if built is not None else None
        return Estimate(option=option_text(asked), cannot_run=reasons, memory_bytes=account)
    return _answer(asked, built, concurrency, rps, max_batch)


def _answer(
    asked: Asked, built: Built, concurrency: int | None, rps: float | None, max_batch: int | None
) -> Estimate:
    rows = np.zeros(1, dtype=np.int64)
    model = replicas(built.candidates.configurations, built.specs, asked.traffic)
    batch = float(min(built.fit.max_sequences[0], max_batch or built.fit.max_sequences[0]))
    policy = median_policy(asked)
    cap = np.array([batch])
    if rps is not None:
        load = at_load(model, rows, np.array([rps]), cap, asked.traffic, policy, EVERY_LATENCY)
    else:
        load = in_flight(model, rows, np.array([float(concurrency or 1)]), cap, asked.traffic, policy)
    requests = (concurrency or 1) if rps is None else None
    full = float(concurrency_at_cap(cap, asked.traffic, policy)[0])
    return _document(asked, built, load, int(batch), rps, requests, full)


def _document(
    asked: Asked,
    built: Built,
    load: Load,
    batch: int,
    rps: float | None,
    requests: int | None,
    full: float,
) -> Estimate:
    item, account = built.candidates.configurations[0], built.fit.account
    rate = float(load.rate_rps[0])
    rows = np.zeros(1, dtype=np.int64)
    tokens = asked.traffic.prefill_mean_tokens * float(item.attention_dp * item.pp)
    prompt = step_time_s(built.specs, rows, 0.0, 0.0, tokens, asked.traffic.input_mean_tokens / 2.0, 1.0)
    decode = step_time_s(
        built.specs, rows, max(float(load.concurrency[0]), 1.0), asked.traffic.decode_context_tokens
    )
    own = user_factor(item)
    step_factor = own.step_factor if own is not None else 1.0
    cost = _replica_price(asked, item)
    output = rate * asked.traffic.output_mean_tokens
    storage = asked.catalog.storage("local-nvme")
    warnings = [f"planning would refuse this: {rule_title(name)}" for name in built.refused]
    warnings += [] if weights_native(item) else [unpacked(item)]
    if rps is not None and (rate < rps * _CARRIED or float(load.concurrency[0]) >= full * _CARRIED):
        warnings.append(
            f"{rps:g} requests/s is more than one replica carries; shown at {rate:.3g} requests/s"
        )
    if requests is not None and requests > batch:
        warnings.append(f"{batch:,} of {requests:,} requests run at once; the others wait")
    if cost is None:
        warnings.append(f"no price known for {asked.gpu.id}")
    latencies = latency_document(load, 0)
    if asked.traffic.output_mean_tokens <= 1.0:
        latencies |= {"itl_s": {}, "tpot_s": {}}
    return Estimate(
        option=built.candidates.names[0],
        memory_bytes=memory_document(account, 0),
        max_batch=batch,
        concurrency=float(requests) if requests is not None else rate * latencies["e2e_s"].get("mean", 0.0),
        decoding=float(load.concurrency[0]),
        prefill_s=step_factor * float(prompt.total_s[0]),
        decode_step_s=step_factor * float(decode.total_s[0]),
        bound={"prefill": prompt.bound[0], "decode": decode.bound[0]},
        output_tokens_per_s=output,
        requests_per_s=rate,
        utilization=float(load.prefill_utilization[0]),
        **latencies,
        gpus=item.gpus,
        usd_per_hour=cost,
        usd_per_million_output_tokens=cost / (output * _HOUR_S) * _MILLION if cost and output > 0.0 else None,
        cold_start_s=cold_start_seconds(item, account, 0, storage) if storage else None,
        host_memory_bytes=float(account.host_bytes[0]),
        efficiency=efficiency_of(item, built.specs, asked.traffic, load, cost),
        uncertainty=sigma_log(item),
        evidence=evidence(item),
        warnings=tuple(warnings),
    )


def _replica_price(asked: Asked, item: Configuration) -> float | None:
    """What the GPUs of one replica cost at the cheapest on-demand price per GPU."""
    fleet = Fleet(accelerators=(asked.gpu.id,))
    prices = [
        lot.usd_per_gpu_h for lot in market_lots(fleet, asked.catalog.accelerator, asked.catalog.price_lists)
    ]
    if not prices:
        return None
    option = Option("", "estimate", "serve", "any", asked.gpu.id, item.gpus, ())
    supply = Supply("any", asked.gpu.id, "gpu", 1, Fraction(min(prices)))
    return float(bought(option, supply, 1)[1])
