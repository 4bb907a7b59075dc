"""The plan document of a fleet: purchases, hours, pools, routing, limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

from planner.commands.registry import with_commands
from planner.constraints.fleet_check import bill
from planner.explain.ratio_steps import prefill_decode_steps
from planner.explain.survival import survival
from planner.loaders.named_files import revisions, texts
from planner.performance.sizing import workload_sizing
from planner.planning.documents.bill import api_taken, orders, periods_taken, supply_taken, trap
from planner.planning.documents.busiest import hours_to_lose
from planner.planning.documents.chosen import chosen_of
from planner.planning.documents.cost_error import cost_spread, with_errors
from planner.planning.documents.costs import costs, mean_is_peak
from planner.planning.documents.efficiency import with_efficiency
from planner.planning.documents.gpu_types import gpu_types
from planner.planning.documents.guardrails import guardrails, shared_guardrails
from planner.planning.documents.limit_margins import limit_margins
from planner.planning.documents.measured_fleet import measured_pools, measured_states
from planner.planning.documents.not_taken import cannot_serve, next_best
from planner.planning.documents.pool_document import PoolCase
from planner.planning.documents.pools import FleetPool, fleet_pools
from planner.planning.documents.predicted_fleet import predicted_pools
from planner.planning.documents.prefill_decode_pools import pd_ratio
from planner.planning.documents.prices_used import newest, old_prices, prices_used
from planner.planning.documents.reuse import sessions_taken
from planner.planning.documents.routing import routes
from planner.planning.documents.safety import safety_steps
from planner.planning.documents.service_slack import service_states
from planner.planning.documents.slack import fleet_states
from planner.planning.documents.warnings import fleet_warnings
from planner.planning.formulation.fleet_case import FleetCase
from planner.planning.formulation.tokens import HOURS_S, MILLION
from planner.planning.run import Run
from planner.schema.catalog_index import Catalog
from planner.schema.fleet import FleetChoice
from planner.schema.fleet_plan import Costs
from planner.schema.limits_told import ConstraintState
from planner.schema.plan import Guardrails, Inputs, Objective, Plan, Provenance, Route
from planner.schema.pool import Pool
from planner.schema.problem import Problem
from planner.schema.reuse_state import SessionsTaken
from planner.schema.sizing import WorkloadSizing

MEASURED_CONFIDENCE = 0.5
"""Measured tables are taken at their word."""


def fleet_document(
    asked: Problem, case: FleetCase, choice: FleetChoice, catalog: Catalog, folder: Path, run: Run
) -> Plan:
    """The plan of a fleet, or the honest no.

    Args:
        asked: the problem as the user states it, tiers and all.
        case: the question that was answered.
        choice: the answer.
        catalog: for names.
        folder: of the files that the problem names.
        run: versions and times.
    """
    parts: dict[str, Any] = {"mean_utilization": None}
    if choice.value is not None:
        parts = _feasible(case, choice, catalog, run.as_of or newest(catalog))
    else:
        parts["warnings"] = (*case.warnings, *fleet_warnings(case, choice, (), ()))
        if choice.status == "infeasible":
            parts["gpu_types"] = gpu_types(case, catalog)
    plan = Plan(
        problem=asked.name,
        inputs=inputs(asked, catalog, folder),
        status=choice.status,
        objective=_objective(case, choice),
        cost_usd_per_hour=_per_hour(case, choice),
        cost_usd_per_million_output_tokens=_per_million(case, choice, with_input=False),
        cost_usd_per_million_tokens=_per_million(case, choice, with_input=True),
        sizing=_sizing(case, parts.get("pools", ()), catalog),
        provenance=Provenance(
            planner=run.version,
            seed=run.seed,
            solver=f"ortools {version('ortools')} {choice.engine or 'CP-SAT'}",
            confidence=_confidence(case),
            candidates=case.formulation.evaluations
            if case.formulation is not None
            else len(case.question.options),
            interrupted=run.interrupted,
            timing_s=run.timings(),
        ),
        **parts,
    )
    if case.formulation is None:
        return plan
    models = {name: item.model for name, item in case.formulation.cases.items()}
    return with_commands(plan, asked, models, catalog)


def inputs(problem: Problem, catalog: Catalog, folder: Path) -> Inputs:
    """The resolved problem, the files that it names, and what it was answered with."""
    values = problem.model_dump(mode="json", exclude_none=True, by_alias=True)
    return Inputs(
        problem=values,
        files=texts(values, folder),
        revisions=revisions(values),
        catalog=catalog.sha256,
        calibration=catalog.calibration_sha256,
    )


def headrooms(problem: Problem) -> dict[str, Fraction]:
    """Capacity kept free, by workload."""
    return {
        workload.name: Fraction(problem.fleet.headroom_of(workload).capacity)
        for workload in problem.workloads
    }


def _confidence(case: FleetCase) -> float:
    if case.formulation is None:
        return float(case.problem.confidence or MEASURED_CONFIDENCE)
    return next(iter(case.formulation.cases.values())).confidence


def _per_hour(case: FleetCase, choice: FleetChoice) -> float | None:
    return None if choice.value is None else float(choice.cost_usd / case.question.periods)


def _objective(case: FleetCase, choice: FleetChoice) -> Objective:
    value, bound = choice.value, choice.lower_bound
    name = case.problem.objective
    if name == "throughput":
        carried = None if value is None else float(sum(case.peaks_rps.values(), Fraction(0)))
        return Objective(name=name, value=carried, lower_bound=carried, gap=None)
    tokens = tokens_per_h(case, with_input=False)
    if name == "cost_per_token" and tokens:
        factor = Fraction(MILLION) / Fraction(tokens) / case.question.periods
        value = None if value is None else value * factor
        bound = None if bound is None else bound * factor
    return Objective(
        name=name,
        value=None if value is None else float(value),
        lower_bound=None if bound is None else float(bound),
        gap=None if choice.gap is None else float(choice.gap),
    )


def tokens_per_h(case: FleetCase, with_input: bool, at_peak: bool = False) -> float | None:
    """Tokens written (and read) in an hour, on average or at the peak of every workload.

    None where some workload states no lengths.
    """
    total, rates_rps = 0.0, case.peaks_rps if at_peak else case.means_rps
    for demand in case.question.demands:
        if demand.role == "decode" or (demand.role == "prefill" and _served_whole(case, demand.workload)):
            continue
        by_bucket = case.tokens[demand.workload]
        if by_bucket is None:
            return None
        needs = dict(zip(demand.buckets, demand.demand_rps[0], strict=True))
        sums = [sum((hour[b] for hour in demand.demand_rps), Fraction(0)) for b in range(len(needs))]
        whole = sum(sums, Fraction(0))
        for place, bucket in enumerate(demand.buckets):
            share = float(sums[place] / whole) if whole else 0.0
            tokens = by_bucket[bucket].output_tokens + (by_bucket[bucket].input_tokens if with_input else 0.0)
            total += float(rates_rps[demand.workload]) * HOURS_S * share * tokens
    return total


def _served_whole(case: FleetCase, workload: str) -> bool:
    return any(d.workload == workload and d.role == "serve" for d in case.question.demands)


def _per_million(
    case: FleetCase, choice: FleetChoice, with_input: bool, at_peak: bool = False
) -> float | None:
    tokens = tokens_per_h(case, with_input, at_peak)
    cost = _per_hour(case, choice)
    return None if not tokens or cost is None else cost / tokens * MILLION


def _costs(case: FleetCase, choice: FleetChoice, pools: Sequence[FleetPool]) -> Costs:
    found = costs(case.question, choice, pools)
    update: dict[str, object] = {"mean_is_peak": mean_is_peak(case.problem)}
    if case.question.periods == 1 and not case.question.apis:
        # Over hours the utilization trap tells it; suppliers would take more at the peak.
        for name, with_input in (("output_tokens", False), ("tokens", True)):
            update[f"usd_per_million_{name}_at_peak"] = _per_million(case, choice, with_input, at_peak=True)
    return found.model_copy(update=update)


def _carried_at_peak(case: FleetCase) -> dict[str, Fraction]:
    """By workload, what comes in the busiest hour over what replicas are sized for."""
    one = case.question.periods == 1
    return {
        name: part * case.peaks_rps[name] / case.means_rps[name] if one and case.means_rps.get(name) else part
        for name, part in case.carried.items()
    }


def _sizing(case: FleetCase, documents: tuple[Pool, ...], catalog: Catalog) -> tuple[WorkloadSizing, ...]:
    if case.formulation is None:
        return ()
    formats = catalog.formats
    return tuple(
        workload_sizing(
            name,
            item.facts,
            item.traffic,
            float(item.peak_rps),
            float(item.mean_rps),
            [pool.weights for pool in documents if pool.workload == name],
            [pool.kv for pool in documents if pool.workload == name],
            formats,
        )
        for name, item in case.formulation.cases.items()
    )


def _feasible(case: FleetCase, choice: FleetChoice, catalog: Catalog, as_of: date) -> dict[str, Any]:
    question = case.question
    pools = fleet_pools(question, choice, [workload.name for workload in case.problem.workloads])
    documents, cases, states, limits, sessions = _described(case, pools, catalog)
    tokens = tokens_per_h(case, with_input=False)
    taken = trap(question, choice, pools, tokens, case.carried, _carried_at_peak(case))
    paid = bill(question, choice.periods)
    spread = cost_spread(case, choice, pools, cases, catalog.calibration)
    prices = prices_used(case, choice, catalog, as_of)
    cost, supply = float(choice.cost_usd / question.periods), supply_taken(question, choice)
    return {
        "mean_utilization": taken.mean_utilization if taken is not None else None,
        "utilization_trap": taken,
        "gpus": _most(paid.periods),
        "pd_ratio": pd_ratio(_while_disaggregated(pools, documents)),
        "pools": documents,
        "sessions": sessions,
        "routing": tuple(_routing(case, choice, pools)),
        "constraints": (*states, *fleet_states(question, choice)),
        "supply": supply,
        "periods": periods_taken(question, choice, pools),
        "orders": orders(question, choice),
        "api": api_taken(question, choice),
        "survives": survival(question, choice, headrooms(case.problem), hours_to_lose(choice)),
        "safety": safety_steps(case, choice, pools, cases, catalog.calibration),
        "margins": limit_margins(case, documents),
        "guardrails": shared_guardrails(limits),
        "guardrails_by_workload": limits,
        "pd_steps": prefill_decode_steps(question, choice),
        "cost_error": None if spread is None else spread.error,
        "costs": _costs(case, choice, pools),
        "prices_used": prices,
        "prices_as_of": as_of.isoformat(),
        "runners_up": with_errors(case, next_best(case, choice), spread, cost, catalog.calibration),
        "why_not": cannot_serve(case),
        "gpu_types": gpu_types(case, catalog, documents, supply),
        "warnings": (
            *case.warnings,
            *fleet_warnings(case, choice, pools, documents),
            *old_prices(prices, as_of),
        ),
    }


def _routing(case: FleetCase, choice: FleetChoice, pools: Sequence[FleetPool]) -> Iterator[Route]:
    """Shares of all requests; prompts that are short enough go straight to decode, past prefill pools."""
    sent = {
        pool.id: chosen_of(formulation).sent_fraction(formulation.found[pool.option.anywhere][1])
        for pool in pools
        if pool.option.role == "prefill" and (formulation := case.behind(pool.option)) is not None
    }
    for route in routes(case.question, choice, pools):
        yield Route(**{**route.model_dump(), "share": route.share * sent.get(route.pool, 1.0)})


def _while_disaggregated(pools: Sequence[FleetPool], documents: Sequence[Pool]) -> list[Pool]:
    """The pools of the hour in which most requests are served disaggregated; of several the first."""
    prefill = [pool for pool in pools if pool.option.role == "prefill"]
    hours = range(len(pools[0].counts)) if pools else ()
    hour = max(
        hours, key=lambda t: (sum((pool.carried_rps(t) for pool in prefill), Fraction(0)), -t), default=0
    )
    return [
        document.model_copy(update={"replicas": pool.counts[hour]})
        for pool, document in zip(pools, documents, strict=True)
    ]


def _most(periods: Any) -> dict[str, int]:
    """GPUs by type, the most of any hour."""
    found: dict[str, int] = {}
    for period in periods:
        for gpu, count in period.gpus.items():
            found[gpu] = max(found.get(gpu, 0), count)
    return {gpu: count for gpu, count in sorted(found.items()) if count}


def _described(
    case: FleetCase, pools: tuple[FleetPool, ...], catalog: Catalog
) -> tuple[
    tuple[Pool, ...],
    tuple[PoolCase, ...],
    list[ConstraintState],
    Mapping[str, Guardrails],
    tuple[SessionsTaken, ...],
]:
    """Pools with what is behind them, states of limits, guardrails by workload, what sessions imply."""
    if case.formulation is None:
        return measured_pools(case, pools), (), measured_states(case, pools), {}, ()
    documents, cases = predicted_pools(case, pools, catalog)
    documents = with_efficiency(documents, cases, case.question.periods == 1)
    served = {
        name: item
        for name, item in case.formulation.cases.items()
        if any(pool.workload == name for pool in documents)
    }
    limits = {
        name: guardrails(item, [pool for pool in documents if pool.workload == name])
        for name, item in served.items()
    }
    first = {item.placed.workload: (item.evaluated, item.placed.configuration) for item in reversed(cases)}
    sessions = sessions_taken({name: first[name] for name in served})
    return documents, cases, service_states(served, cases, documents), limits, sessions
