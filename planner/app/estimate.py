"""One configuration at one load: memory, step times with their bound, latencies, throughput, cost."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from planner.app.asked_service import latencies, most_sequences, service_of
from planner.app.efficiency_of import efficiency_of
from planner.app.one_configuration import (
    Asked,
    Built,
    Told,
    ask,
    build,
    cannot_run,
    option_text,
    rule_title,
)
from planner.app.replica_price import replica_price
from planner.candidates.attributes import shared_memory, unpacked, weights_native
from planner.performance.outside import outside_measured
from planner.performance.replica import cold_start_seconds, load_point
from planner.performance.service import serve
from planner.performance.service_result import ServiceResult
from planner.performance.user_factors import TAILS, evidence, limit_sigma_log, user_factor
from planner.planning.documents.pool_document import memory_document
from planner.schema.estimate import Estimate
from planner.schema.routing import Routing, RoutingPolicy
from planner.schema.service_load import PLAIN, ClosedLoop, Conventions, OpenArrivals, ServiceLoad
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
    requests: int = 0,
    conventions: Conventions = PLAIN,
    replicas: int = 1,
    routing: RoutingPolicy = "least-loaded",
    context: int | None = None,
    memory_utilization: str | None = None,
    max_batch: int | None = None,
    overlays: tuple[Path, ...] = (),
) -> Estimate:
    """The best prediction of one configuration (medians: no planning margin).

    With ``concurrency`` that many requests are always in flight (default 1); with ``rps`` they
    arrive at random. Both are of all ``replicas`` together. With ``requests`` the load is a run of so many.
    Memory follows the engine's own limit, or ``memory_utilization``.

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
    pool = Routing(routing, replicas)
    if rps is not None:
        load: ServiceLoad = OpenArrivals(rps, conventions.burstiness, pool, requests)
    else:
        load = ClosedLoop(
            float(concurrency or 1), requests, conventions.start_burst, conventions.equal_lengths, pool
        )
    told = built.told(asked, max_batch)
    found = serve([service_of(asked, told, load, most_sequences(built, context, max_batch))])
    return _document(asked, told, load, found)


def _document(asked: Asked, told: Told, load: ServiceLoad, found: ServiceResult) -> Estimate:
    built, batch, account = told.built, told.batch, told.account
    item = built.candidates.configurations[0]
    rate, decoding = float(found.rate_rps[0]), float(found.decoding[0])
    rows = np.zeros(1, dtype=np.int64)
    tokens = asked.traffic.prefill_mean_tokens * float(item.attention_dp * item.pp)
    prompt = step_time_s(built.specs, rows, 0.0, 0.0, tokens, asked.traffic.input_mean_tokens / 2.0, 1.0)
    decode = step_time_s(built.specs, rows, max(decoding, 1.0), asked.traffic.decode_context_tokens)
    own = user_factor(item)
    step_factor = own.step_factor if own is not None else 1.0
    cost = replica_price(asked, item)
    output = rate * asked.traffic.output_mean_tokens
    storage = asked.catalog.storage("local-nvme")
    shown = latencies(found, 0, asked.traffic.output_mean_tokens)
    clients = load.clients / load.routing.replicas if isinstance(load, ClosedLoop) else None
    inside = clients if clients is not None else rate * shown["e2e_s"].get("mean", 0.0)
    # What waits for a place is in no step.
    at = load_point(asked.traffic, min(inside, float(batch)))
    return Estimate(
        option=built.candidates.names[0],
        load=load.text,
        memory_bytes=memory_document(account, 0),
        max_batch=batch,
        concurrency=inside,
        decoding=decoding,
        prefill_s=step_factor * float(prompt.total_s[0]),
        decode_step_s=step_factor * float(decode.total_s[0]),
        bound={"prefill": prompt.bound[0], "decode": decode.bound[0]},
        output_tokens_per_s=output,
        requests_per_s=rate,
        utilization=float(found.utilization[0]),
        **shown,
        gpus=item.gpus,
        usd_per_hour=cost,
        usd_per_million_output_tokens=cost / (output * _HOUR_S) * _MILLION if cost and output > 0.0 else None,
        cold_start_s=cold_start_seconds(item, account, 0, storage) if storage else None,
        host_memory_bytes=float(account.host_bytes[0]),
        efficiency=efficiency_of(item, built.specs, asked.traffic, found, cost),
        uncertainty=limit_sigma_log(item, TAILS, at),
        outside_measured=outside_measured(item, at),
        evidence=evidence(item),
        warnings=(
            *_warnings(asked, built, load, found, cost is None),
            *shared_memory(item, float(account.host_bytes[0]), float(account.free_bytes[0]), offloads=False),
        ),
    )


def _warnings(
    asked: Asked, built: Built, load: ServiceLoad, found: ServiceResult, no_price: bool
) -> list[str]:
    item, rate = built.candidates.configurations[0], float(found.rate_rps[0])
    inside = max(float(found.fitting[0]), 1.0)  # what fits at all runs, one after the other
    lines = [f"planning would refuse this: {rule_title(name)}" for name in built.refused]
    lines += [] if weights_native(item) else [unpacked(item)]
    if isinstance(load, OpenArrivals) and not load.requests:
        offered = load.rate_rps / load.routing.replicas
        if rate < offered * _CARRIED:
            lines.append(
                f"{offered:g} requests/s is more than one replica carries; shown at {rate:.3g} requests/s"
            )
    if isinstance(load, ClosedLoop) and load.clients / load.routing.replicas > inside:
        clients = load.clients / load.routing.replicas
        lines.append(f"{inside:,.0f} of {clients:,.0f} requests run at once; the others wait")
    return [*lines, f"no price known for {asked.gpu.id}"] if no_price else lines
