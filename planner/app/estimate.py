"""One configuration at one load: memory, step times with their bound, latencies, throughput, cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np

from planner import units
from planner.app.case import find_model, policy_of
from planner.app.pools import latency_document, memory_document
from planner.app.requests import Names, with_utilization
from planner.candidates.enumerate import enumerate_candidates, heads_divide
from planner.candidates.market import lots as market_lots
from planner.candidates.space import search_space
from planner.constraints import planning_rules
from planner.explain.single import bought
from planner.loaders.catalog import load_catalog
from planner.loaders.rules import load_planning_rules
from planner.performance.at_load import EVERY_LATENCY, at_load, in_flight
from planner.performance.open_load import Load, LoadPolicy, concurrency_at_cap
from planner.performance.replica import (
    MemoryFit,
    cold_start_seconds,
    memory_fit,
    replicas,
    specifications,
)
from planner.performance.traffic import traffic as traffic_of
from planner.queueing.lengths import normal_score
from planner.schema.candidates import Candidates, IntArray, Lot
from planner.schema.catalog import Accelerator, Engine, Model
from planner.schema.catalog_index import Catalog
from planner.schema.choice import Option, Supply
from planner.schema.configuration import Configuration
from planner.schema.facts import ModelFacts
from planner.schema.lengths import Lengths, LengthSide
from planner.schema.plan import CannotRun, Estimate
from planner.schema.policy import Policy
from planner.schema.problem import Demand, Fleet, Precision, Search, Workload
from planner.schema.traffic import Traffic
from planner.steptime.model_facts import model_facts
from planner.steptime.specs import StepSpecs
from planner.steptime.step import step_time_s

_HOUR_S = 3600.0
_MILLION = 1e6
_ADVICE = ("tensor-parallel-without-fast-link", "tensor-parallel-beyond-fast-link", "pipeline-within-server")
"""Refusals of planning that a single configuration may break: it runs, only slowly."""


@dataclass(frozen=True)
class _Asked:
    """The configuration that the flags describe."""

    catalog: Catalog
    entry: Model
    facts: ModelFacts
    gpu: Accelerator
    engine: Engine
    tp: int
    pp: int
    ep: int
    attention_dp: int
    workload: Workload
    traffic: Traffic
    policy: Policy


@dataclass(frozen=True, eq=False)
class _Built:
    """The one candidate with its columns."""

    candidates: Candidates
    specs: StepSpecs
    fit: MemoryFit
    refused: tuple[str, ...]


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
    catalog = load_catalog(overlays)
    names = Names(catalog, "planner estimate")
    names.model(model)
    accelerator, found_engine = names.accelerator(gpu), names.engine(engine)
    names.number_format("--weights", weights, of_kv=False)
    names.number_format("--kv", kv, of_kv=True)
    names.done()
    assert accelerator is not None
    assert found_engine is not None
    share: Decimal | None = None
    if memory_utilization is not None:
        share = units.parse(memory_utilization, units.FRACTION)
    entry = find_model(model, Path(), catalog)
    workload = Workload(
        name="estimate",
        model=model,
        demand=Demand(peak_rps=1),
        lengths=Lengths(input=LengthSide(fixed=isl), output=LengthSide(fixed=osl)),
        precision=Precision(weights=(weights or entry.native_format,), kv=(kv or "bf16",)),
    )
    assert workload.lengths is not None
    policy = policy_of(catalog)
    sized = traffic_of(workload, workload.lengths, None, 0, policy.kv_tail_fraction)
    asked = _Asked(
        catalog,
        entry,
        model_facts(entry),
        accelerator,
        with_utilization(found_engine, share),
        tp,
        pp,
        ep,
        attention_dp,
        workload,
        _longer(sized, context),
        policy,
    )
    built = _build(asked, overlays)
    reasons = _cannot_run(asked, built, max(context or 0, isl + osl), max_batch)
    if reasons or built is None:
        account = memory_document(built.fit.account, 0) if built is not None else None
        return Estimate(option=_text(asked), cannot_run=reasons, memory_bytes=account)
    return _answer(asked, built, concurrency, rps, max_batch)


def _longer(traffic: Traffic, context: int | None) -> Traffic:
    """Traffic whose KV is sized for a stated context."""
    if context is None:
        return traffic
    from dataclasses import replace

    return replace(traffic, kv_tokens=max(context, traffic.kv_tokens))


def _text(asked: _Asked) -> str:
    precision = asked.workload.precision
    weights, kv = (precision.weights or ("",))[0], (precision.kv or ("",))[0]
    return f"{asked.gpu.id} {asked.engine.id} {weights}+kv-{kv} tp{asked.tp} pp{asked.pp}"


def _lot(asked: _Asked) -> Lot:
    """Servers of this accelerator, at any price."""
    fleet = Fleet.model_validate({"prices": {asked.gpu.id: "1 USD/h"}})
    (lot,) = market_lots(fleet, asked.catalog.accelerator, ())
    return lot


def _build(asked: _Asked, overlays: tuple[Path, ...]) -> _Built | None:
    """The candidate; None where its shape is impossible."""
    search = Search(
        tp=(asked.tp,), pp=(asked.pp,), ep=(asked.ep,), attention_dp=(asked.attention_dp,), rules_off=_ADVICE
    )
    space = search_space(
        asked.workload,
        asked.entry,
        asked.facts,
        asked.engine,
        Fleet(),
        search,
        asked.catalog,
        paced=False,
    )

    def holds(items: Sequence[Configuration]) -> IntArray:
        return memory_fit(specifications(items), asked.traffic, 0.0, 0.0).max_sequences

    candidates = enumerate_candidates(space, [_lot(asked)], holds)
    if not len(candidates):
        return None
    specs = specifications(candidates.configurations)
    rules = load_planning_rules(overlays)
    bits = planning_rules.refusals(rules, candidates.attributes)
    return _Built(
        candidates,
        specs,
        memory_fit(specs, asked.traffic, 0.0, 0.0),
        tuple(name for name, bit in bits.items() if bit[0]),
    )


def _cannot_run(
    asked: _Asked, built: _Built | None, context: int, max_batch: int | None
) -> tuple[CannotRun, ...]:
    reasons: list[CannotRun] = []
    window = asked.facts.max_context_tokens
    if context > window:
        reasons.append(_reason("context", context, window, "tokens", f"the window of {asked.entry.id}"))
    if built is None:
        return (*reasons, *_shape_reasons(asked))
    for name in built.refused:
        if name not in _ADVICE:
            reasons.append(_reason(name, None, None, "", _title(name)))
    fit = built.fit
    wanted = max_batch or 1
    if fit.max_sequences[0] < wanted:
        account = fit.account
        resident = float(
            account.weights_bytes[0]
            + account.activations_bytes[0]
            + account.framework_bytes[0]
            + account.adapters_bytes[0]
        )
        ranks = asked.attention_dp
        need = resident + -(-wanted // ranks) * float(fit.sequence_bytes[0])
        usable = float(built.specs.capacity_bytes[0] * built.specs.engine_utilization[0])
        text = (
            f"{wanted} sequence{'s' if wanted > 1 else ''} of {asked.traffic.kv_tokens:,} tokens on one GPU"
        )
        reasons.append(_reason("vram", need, usable, "B", text))
    return tuple(reasons)


def _shape_reasons(asked: _Asked) -> list[CannotRun]:
    """Why the layout has no place: heads, experts or the fast link."""
    facts, lot, group = asked.facts, _lot(asked), asked.tp * asked.attention_dp
    reasons = []
    if not heads_divide(facts, asked.tp):
        text = f"{facts.query_heads} query heads and {facts.kv_heads} KV heads do not divide by {asked.tp}"
        below = max(degree for degree in range(1, asked.tp) if heads_divide(facts, degree))
        reasons.append(_reason("divisibility", asked.tp, below, "GPUs", text))
    if group > lot.group_limit_gpus:
        text = "GPUs of one tensor-parallel group against those of one server or rack"
        reasons.append(_reason("interconnect", group, lot.group_limit_gpus, "GPUs", text))
    if asked.pp > facts.layers:
        reasons.append(_reason("divisibility", asked.pp, facts.layers, "layers", "pipeline stages"))
    if not reasons:
        text = "experts spread over all GPUs of a stage, or over one"
        reasons.append(_reason("divisibility", asked.ep, group, "GPUs", text))
    return reasons


def _reason(name: str, value: float | None, limit: float | None, unit: str, text: str) -> CannotRun:
    return CannotRun(id=name, value=value, limit=limit, unit=unit, text=text)


def _title(rule_id: str) -> str:
    return next((rule.title for rule in load_planning_rules() if rule.id == rule_id), rule_id)


def _answer(
    asked: _Asked, built: _Built, concurrency: int | None, rps: float | None, max_batch: int | None
) -> Estimate:
    rows = np.zeros(1, dtype=np.int64)
    model = replicas(built.candidates.configurations, built.specs, asked.traffic)
    batch = float(min(built.fit.max_sequences[0], max_batch or built.fit.max_sequences[0]))
    policy = LoadPolicy(
        slot_z_score=normal_score(1.0 - asked.policy.slot_full_fraction),
        step_factor_ratio=1.0,
        ttft_factor_ratio=1.0,
        saturated=False,
    )
    cap = np.array([batch])
    if rps is not None:
        load = at_load(model, rows, np.array([rps]), cap, asked.traffic, policy, EVERY_LATENCY)
    else:
        load = in_flight(model, rows, np.array([float(concurrency or 1)]), cap, asked.traffic, policy)
    requests = (concurrency or 1) if rps is None else None
    full = float(concurrency_at_cap(cap, asked.traffic, policy)[0])
    return _document(asked, built, load, int(batch), rps, requests, full)


def _document(
    asked: _Asked,
    built: _Built,
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
    cost = _replica_price(asked, item)
    output = rate * asked.traffic.output_mean_tokens
    storage = asked.catalog.storage("local-nvme")
    sigma = item.calibration.sigma_log
    warnings = [f"planning would refuse this: {_title(name)}" for name in built.refused]
    if rps is not None and float(load.concurrency[0]) >= full * 0.999:
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
        prefill_s=float(prompt.total_s[0]),
        decode_step_s=float(decode.total_s[0]),
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
        uncertainty={name: sigma[f"{name}_new"].value for name in ("throughput", "tpot", "ttft")},
        evidence="modelled",
        warnings=tuple(warnings),
    )


def _replica_price(asked: _Asked, item: Configuration) -> float | None:
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
