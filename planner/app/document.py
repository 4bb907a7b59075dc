"""The plan document: every number of the answer, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from planner.app.amounts import MILLION, mean_utilization, per_million, tokens_per_h
from planner.app.case import Case, Evaluated
from planner.app.choosing import asked
from planner.app.chosen import Chosen
from planner.app.compared import left_out, other_plans
from planner.app.demands import limits as market_limits
from planner.app.guardrails import guardrails, shared_guardrails
from planner.app.mode_choice import interference, mode_choices
from planner.app.pools import PoolCase, pool_document, pools
from planner.app.pools_apart import apart_documents, pd_ratio
from planner.app.remarks import warnings, warnings_without_plan
from planner.app.reuse import sessions_taken
from planner.app.run import Run
from planner.app.states import constraint_states
from planner.explain.prefill_decode import prefill_decode_steps
from planner.loaders.named_files import texts
from planner.performance.sizing import workload_sizing
from planner.schema.catalog_index import Catalog
from planner.schema.choice import Choice, ChoiceProblem
from planner.schema.plan import (
    Inputs,
    Objective,
    Plan,
    Pool,
    Provenance,
    Removal,
    Route,
)
from planner.schema.problem import Problem
from planner.schema.sizing import WorkloadSizing


def document(
    problem: Problem,
    catalog: Catalog,
    cases: Mapping[str, Case],
    run: Run,
    choice: Choice,
    chosen: Chosen | None,
    removed: tuple[Removal, ...],
    candidates: int,
    folder: Path,
    aside: Mapping[str, str],
) -> Plan:
    """The plan, or the honest no with what stands in the way; ``aside``: what was not considered, and why."""
    parts: dict[str, Any] = {}
    if chosen is not None:
        parts = _feasible(problem, catalog, cases, run, choice, chosen)
    cost = float(choice.cost_usd_per_h) if chosen is not None else None
    sized = tuple(_sizing(case, parts.get("pools", ()), catalog) for case in cases.values())
    return Plan(
        problem=problem.name,
        inputs=inputs(problem, catalog, folder),
        status=choice.status,
        objective=objective(problem, choice, cases),
        cost_usd_per_hour=cost,
        cost_usd_per_million_output_tokens=per_million(choice, cases, with_input=False),
        cost_usd_per_million_tokens=per_million(choice, cases, with_input=True),
        gpus=dict(sorted(choice.gpus.items())),
        removed=removed,
        sizing=sized,
        provenance=provenance(cases, run, candidates),
        **({"mean_utilization": None, "warnings": warnings_without_plan(choice, aside)} | parts),
    )


def _sizing(case: Case, documents: Sequence[Pool], catalog: Catalog) -> WorkloadSizing:
    mine = [pool for pool in documents if pool.workload == case.workload.name]
    return workload_sizing(
        case.workload.name,
        case.facts,
        case.traffic,
        float(case.peak_rps),
        float(case.mean_rps),
        [pool.weights for pool in mine],
        [pool.kv for pool in mine],
        {entry.id: entry for entry in catalog.number_formats},
    )


def inputs(problem: Problem, catalog: Catalog, folder: Path) -> Inputs:
    """The resolved problem, the files that it names, and what it was answered with."""
    values = problem.model_dump(mode="json", exclude_none=True, by_alias=True)
    return Inputs(
        problem=values,
        files=texts(values, folder),
        catalog=catalog.sha256,
        calibration=catalog.calibration_sha256,
    )


def objective(problem: Problem, choice: Choice, cases: Mapping[str, Case]) -> Objective:
    """Value and bound of the objective; cost per token scales both by the same tokens."""
    value, bound = choice.value, choice.lower_bound
    if problem.objective == "cost_per_token" and value is not None:
        tokens = tokens_per_h(cases, with_input=False)
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
        interrupted=run.interrupted,
        timing_s=run.timings(),
    )


def _feasible(
    problem: Problem, catalog: Catalog, cases: Mapping[str, Case], run: Run, choice: Choice, chosen: Chosen
) -> dict[str, Any]:
    pool_cases = pools(
        choice,
        chosen.found,
        chosen.part,
        tuple(cases),
        chosen.lots,
        {name: _storage(case, catalog) for name, case in cases.items()},
    )
    documents = _documents(pool_cases, chosen)
    limits = market_limits(problem, tuple(chosen.lots), catalog.accelerator)
    by_workload = {
        name: guardrails(case, [pool for pool in documents if pool.workload == name])
        for name, case in cases.items()
    }
    return {
        "mean_utilization": mean_utilization(cases, documents),
        "pd_ratio": pd_ratio(documents),
        "pd_steps": prefill_decode_steps(chosen.question, choice),
        "mode_choice": mode_choices(
            chosen.question,
            choice,
            partial(best_value, run),
            interference(chosen.evaluated.__getitem__, pool_cases, documents),
        ),
        "pools": documents,
        "routing": _routing(pool_cases, documents, chosen),
        "sessions": sessions_taken(_first(pool_cases)),
        "constraints": constraint_states(cases, pool_cases, documents, choice, limits),
        "guardrails": shared_guardrails(by_workload),
        "guardrails_by_workload": by_workload,
        "runners_up": other_plans(choice, chosen),
        "why_not": left_out(chosen),
        "warnings": warnings(cases, documents, choice, chosen, problem.fleet.network is not None),
    }


def best_value(run: Run, question: ChoiceProblem) -> Choice:
    """The optimal value of a question, ties left open."""
    return asked(question, run)


def _documents(pool_cases: Sequence[PoolCase], chosen: Chosen) -> tuple[Pool, ...]:
    """One pool a case, in the same order."""
    documents: list[Pool] = []
    for name in dict.fromkeys(case.placed.workload for case in pool_cases):
        mine = [case for case in pool_cases if case.placed.workload == name]
        if mine[0].placed.role == "serve":
            documents += [pool_document(case, number) for number, case in enumerate(mine, 1)]
        else:
            documents += apart_documents(mine, chosen.apart[name])
    return tuple(documents)


def _first(pool_cases: Sequence[PoolCase]) -> dict[str, tuple[Evaluated, int]]:
    """The candidate of the first pool of each workload."""
    found: dict[str, tuple[Evaluated, int]] = {}
    for case in pool_cases:
        found.setdefault(case.placed.workload, (case.evaluated, case.placed.configuration))
    return found


def _routing(pool_cases: Sequence[PoolCase], documents: Sequence[Pool], chosen: Chosen) -> tuple[Route, ...]:
    return tuple(
        Route(
            workload=pool.workload,
            bucket="all",
            pool=pool.id,
            share=float(case.share) * chosen.sent_fraction(case.placed),
        )
        for case, pool in zip(pool_cases, documents, strict=True)
        if case.share > 0
    )


def _storage(case: Case, catalog: Catalog) -> Any:
    named = case.workload.storage
    return catalog.storage(named or "local-nvme")
