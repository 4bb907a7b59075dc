"""The plan document: every number of the answer, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from typing import Any

from planner.app.case import Case, Evaluated
from planner.app.demands import limits as market_limits
from planner.app.guardrails import guardrails
from planner.app.pools import PoolCase, pool_document, pools
from planner.app.run import Run
from planner.app.states import constraint_states
from planner.candidates.attributes import unpacked, weights_native
from planner.candidates.options import Placed
from planner.constraints.registry import admitted, verdicts
from planner.explain.runners_up import runners_up
from planner.explain.single import single_plan
from planner.explain.why_not import why_not
from planner.performance.spread import IN_WORDS, spread_class
from planner.schema.candidates import Lot
from planner.schema.catalog_index import Catalog
from planner.schema.choice import Choice, ChoiceProblem, Option
from planner.schema.plan import (
    Guardrails,
    Inputs,
    Objective,
    Plan,
    Pool,
    Provenance,
    Removal,
    Route,
    RunnerUp,
    WhyNot,
)
from planner.schema.problem import Problem
from planner.schema.rules import PlanningRule

HOURS_S = 3600
MILLION = 1_000_000


@dataclass(frozen=True, eq=False)
class Chosen:
    """What the solver chose from, so that its ids can be read."""

    question: ChoiceProblem
    found: Mapping[str, tuple[Option, Placed]]
    evaluated: Mapping[str, Evaluated]
    lots: Sequence[Lot]
    rules: Sequence[PlanningRule]
    unpriced: tuple[str, ...]
    """Accelerators that the problem names and nobody sells."""


def document(
    problem: Problem,
    catalog: Catalog,
    cases: Mapping[str, Case],
    run: Run,
    choice: Choice,
    chosen: Chosen | None,
    removed: tuple[Removal, ...],
    candidates: int,
) -> Plan:
    """The plan, or the honest no with what stands in the way."""
    parts: dict[str, Any] = {}
    if chosen is not None:
        parts = _feasible(problem, catalog, cases, choice, chosen)
    cost = float(choice.cost_usd_per_h) if chosen is not None else None
    return Plan(
        problem=problem.name,
        inputs=inputs(problem, catalog),
        status=choice.status,
        objective=objective(problem, choice, cases),
        cost_usd_per_hour=cost,
        cost_usd_per_million_output_tokens=_per_million(choice, cases, chosen, with_input=False),
        cost_usd_per_million_tokens=_per_million(choice, cases, chosen, with_input=True),
        gpus=dict(sorted(choice.gpus.items())),
        removed=removed,
        provenance=provenance(cases, run, candidates),
        **({"mean_utilization": None, "warnings": _no_warnings(problem, choice)} | parts),
    )


def inputs(problem: Problem, catalog: Catalog) -> Inputs:
    """The resolved problem and what it was answered with."""
    return Inputs(
        problem=problem.model_dump(mode="json", exclude_none=True),
        catalog=catalog.sha256,
        calibration=catalog.calibration_sha256,
    )


def objective(problem: Problem, choice: Choice, cases: Mapping[str, Case]) -> Objective:
    """Value and bound of the objective; cost per token scales both by the same tokens."""
    value, bound = choice.value, choice.lower_bound
    if problem.objective == "cost_per_token" and value is not None:
        tokens = _tokens_per_h(cases, with_input=False)
        value = value / Fraction(tokens) * MILLION
        bound = bound / Fraction(tokens) * MILLION if bound is not None else None
    return Objective(
        name=problem.objective,
        value=float(value) if value is not None else None,
        lower_bound=float(bound) if bound is not None else None,
        gap=float(choice.gap) if choice.gap is not None else None,
    )


def solver_name() -> str:
    """Name and version of the solver."""
    return f"ortools {version('ortools')} CP-SAT"


def provenance(cases: Mapping[str, Case], run: Run, candidates: int) -> Provenance:
    """Versions, seed and how much was looked at."""
    first = next(iter(cases.values()), None)
    return Provenance(
        planner=run.version,
        seed=run.seed,
        solver=solver_name(),
        confidence=first.confidence if first is not None else 0.5,
        candidates=candidates,
        timing_s=run.timings(),
    )


def _feasible(
    problem: Problem, catalog: Catalog, cases: Mapping[str, Case], choice: Choice, chosen: Chosen
) -> dict[str, Any]:
    pool_cases = pools(
        choice,
        chosen.found,
        chosen.evaluated,
        chosen.lots,
        {name: _storage(case, catalog) for name, case in cases.items()},
    )
    documents = _numbered(pool_cases)
    limits = market_limits(problem, tuple(chosen.lots), catalog.accelerator)
    by_workload = {
        name: guardrails(case, [pool for pool in documents if pool.workload == name])
        for name, case in cases.items()
    }
    first: Guardrails | None = next(iter(by_workload.values()), None)
    return {
        "mean_utilization": _mean_utilization(cases, documents),
        "pools": documents,
        "routing": _routing(pool_cases, documents),
        "constraints": constraint_states(cases, pool_cases, documents, choice, limits),
        "guardrails": first,
        "guardrails_by_workload": by_workload if len(by_workload) > 1 else {},
        "runners_up": _runners_up(choice, chosen),
        "why_not": _why_not(chosen),
        "warnings": (*_unsearched(problem), *_warnings(cases, documents, choice, chosen)),
    }


def _numbered(pool_cases: Sequence[PoolCase]) -> tuple[Pool, ...]:
    count: dict[str, int] = {}
    documents = []
    for case in pool_cases:
        count[case.placed.workload] = count.get(case.placed.workload, 0) + 1
        documents.append(pool_document(case, count[case.placed.workload]))
    return tuple(documents)


def _routing(pool_cases: Sequence[PoolCase], documents: Sequence[Pool]) -> tuple[Route, ...]:
    return tuple(
        Route(workload=pool.workload, bucket="all", pool=pool.id, share=float(case.share))
        for case, pool in zip(pool_cases, documents, strict=True)
        if case.share > 0
    )


def _storage(case: Case, catalog: Catalog) -> Any:
    named = case.workload.storage
    return catalog.storage(named or "local-nvme")


def _tokens_per_h(cases: Mapping[str, Case], with_input: bool) -> float:
    return sum(
        float(case.mean_rps)
        * HOURS_S
        * (case.traffic.output_mean_tokens + (case.traffic.input_mean_tokens if with_input else 0.0))
        for case in cases.values()
    )


def _per_million(
    choice: Choice, cases: Mapping[str, Case], chosen: Chosen | None, with_input: bool
) -> float | None:
    tokens = _tokens_per_h(cases, with_input)
    if chosen is None or tokens <= 0.0:
        return None
    return float(choice.cost_usd_per_h) / tokens * MILLION


def _mean_utilization(cases: Mapping[str, Case], documents: Sequence[Pool]) -> float | None:
    """Mean demand over what the replicas can carry, workloads weighted by their capacity."""
    capacity = sum(pool.capacity_rps * pool.replicas for pool in documents)
    return sum(float(case.mean_rps) for case in cases.values()) / capacity if capacity > 0.0 else None


def _runners_up(choice: Choice, chosen: Chosen) -> tuple[RunnerUp, ...]:
    if len(chosen.question.demands) != 1 or choice.value is None:
        return ()
    supplies = {supply.id: supply for supply in chosen.question.supplies}
    demand = chosen.question.demands[0]
    plans = [single_plan(option, supplies[option.supply], demand) for option in chosen.question.options]
    evaluation = chosen.evaluated[demand.workload].evaluation
    limited = {
        option_id: evaluation.capacities.limited_by[placed.configuration]
        for option_id, (_, placed) in chosen.found.items()
    }
    return runners_up(
        plans,
        tuple(choice.counts),
        choice.value,
        sum(choice.gpus.values()),
        chosen.question.limits.objective,
        limited,
        limits=chosen.question.limits,
    )


def _why_not(chosen: Chosen) -> tuple[WhyNot, ...]:
    lines: list[WhyNot] = []
    for part in chosen.evaluated.values():
        judged = verdicts(part.evaluation, tuple(chosen.rules))
        lines += why_not(
            part.evaluation, judged, admitted(judged), lots=chosen.lots, refused=part.refused_gpus
        )
    return tuple(lines)


def _warnings(
    cases: Mapping[str, Case], pools_: Sequence[Pool], choice: Choice, chosen: Chosen
) -> tuple[str, ...]:
    lines = [f"{name}: no price is known, so it was not considered" for name in chosen.unpriced]
    for case in cases.values():
        if case.own_model and case.model.note:
            lines.append(f"{case.model.id}: {case.model.note}")
    for pool in pools_:
        memory = pool.memory_bytes
        if memory is not None and memory.kv_cache < 0.1 * memory.capacity:
            lines.append(
                f"{pool.id}: KV cache has {memory.kv_cache / 1e9:.1f} GB, under 10 % of the memory; "
                "a few GB more or less change the batch a lot"
            )
        if "across-servers" in pool.option:
            lines.append(f"{pool.id}: a replica spans servers; its stages talk over fleet.network")
    lines += _remarks(chosen, pools_)
    places = sorted(
        {f"{pool.offer.provider} {pool.offer.region}" for pool in pools_ if pool.offer is not None}
    )
    if len(places) > 1:
        lines.append(
            f"the fleet is spread over {', '.join(places)}; fleet.providers, fleet.regions or "
            "search.mix: false keep it together"
        )
    if not choice.exact:
        lines.append("prices or rates were rounded to the safe side for the solver")
    return tuple(lines)


def _unsearched(problem: Problem) -> tuple[str, ...]:
    """What the problem asks for and this version does not search."""
    if "disaggregated" in problem.search.modes:
        return (
            "search.modes: only aggregated serving was searched; predictions do not size "
            "prefill and decode pools yet",
        )
    return ()


def _no_warnings(problem: Problem, choice: Choice) -> tuple[str, ...]:
    cut = ("the time limit ended the search before there was an answer",)
    return (*(cut if choice.status == "unknown" else ()), *_unsearched(problem))


def _remarks(chosen: Chosen, pools_: Sequence[Pool]) -> list[str]:
    """Pools whose weights are unpacked, or whose predictions rest on no measured rows of their own kind."""
    lines = []
    for pool in pools_:
        placed = chosen.found[pool.option][1]
        item = chosen.evaluated[placed.workload].evaluation.candidates.configurations[placed.configuration]
        if not weights_native(item):
            lines.append(f"{pool.id}: {unpacked(item)}")
        name = spread_class(item.calibration, item.model.family, item.accelerator.architecture)
        if name in IN_WORDS and pool.evidence == "modelled":
            lines.append(f"{pool.id}: {IN_WORDS[name]}; benchmark it before you buy")
    return lines
