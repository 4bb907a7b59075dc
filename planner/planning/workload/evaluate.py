"""The candidates of a workload: enumerated, selected, evaluated."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from planner.candidates.attributes import PART_OF_SERVER
from planner.candidates.enumerate import enumerate_candidates
from planner.candidates.space import search_space
from planner.candidates.subset import by_part, subset
from planner.constraints import planning_rules
from planner.explain.why_not import refused_by
from planner.performance.evaluate import evaluate
from planner.performance.memory_fit import memory_fit
from planner.performance.replica import specifications
from planner.planning.workload.caching import keeping
from planner.planning.workload.case import Case, Enumerated, Evaluated, Selected
from planner.planning.workload.memory_shares import departures
from planner.schema.candidates import BoolArray, IntArray, Lot
from planner.schema.catalog_index import Catalog
from planner.schema.configuration import Configuration
from planner.schema.hardware import Fleet
from planner.schema.problem import Problem
from planner.schema.rules import PlanningRule
from planner.schema.search import Search
from planner.schema.slo import Slo

_NOT_PACED = tuple(name for name in Slo.model_fields if name.startswith("ttft"))


def enumerated(
    case: Case,
    problem: Problem,
    lots: Sequence[Lot],
    rules: Sequence[PlanningRule],
    catalog: Catalog,
    everything: bool = False,
    off: Collection[str] = (),
) -> Enumerated:
    """Enumerate the candidates of a workload, and ask the planning rules about them.

    Args:
        case: the workload.
        problem: for its fleet and search lists.
        lots: what can be bought.
        rules: the active planning rules.
        catalog: formats, networks, calibration.
        everything: also what the problem does not allow, marked so (to explain).
        off: rules that are switched off beside those of the problem.
    """
    fleet: Fleet = problem.fleet
    search = problem.search.model_copy(update={"rules_off": (*problem.search.rules_off, *sorted(off))})
    space = search_space(
        case.workload,
        case.model,
        case.facts,
        case.engine,
        fleet,
        search,
        catalog,
        paced=not set(case.limits_s) <= set(_NOT_PACED),
        everything=everything,
    )
    headroom_fraction = case.memory_headroom_fraction

    def holds(configurations: Sequence[Configuration]) -> IntArray:
        specs = specifications(configurations)
        specs = replace(specs, engine_utilization=np.full(len(specs), max(case.memory_shares)))
        share = case.policy.prefix_cache_share
        return memory_fit(specs, case.traffic, headroom_fraction, share, case.fill).max_sequences

    candidates = enumerate_candidates(space, lots, holds)
    if not len(candidates):
        return Enumerated(candidates, {}, {})
    candidates, _ = by_part(
        candidates, planning_rules.depends_on(PART_OF_SERVER, rules, candidates.attributes)
    )
    refused = planning_rules.refusals(rules, candidates.attributes)
    refused_gpus = refused_by(candidates, refused, {rule.id: rule.title for rule in rules})
    return Enumerated(candidates, refused, refused_gpus)


def selected(found: Enumerated, keep: BoolArray) -> Selected:
    """The candidates where ``keep`` holds, ready for the step model."""
    candidates = found.candidates if keep.all() else subset(found.candidates, keep)
    return Selected(candidates, specifications(candidates.configurations))


def evaluated(
    case: Case,
    found: Enumerated,
    part: Selected,
    search: Search,
    rules: Sequence[PlanningRule],
    memory_factor: float = 1.0,
) -> Evaluated:
    """Memory and capacity of the candidates that were selected.

    Args:
        case: the workload.
        found: what was enumerated.
        part: those to evaluate, at least one.
        search: batches to choose from, if listed.
        rules: the active planning rules.
        memory_factor: times the memory of every GPU (to explain).
    """
    specs = part.specs
    if memory_factor != 1.0:
        specs = replace(specs, capacity_bytes=specs.capacity_bytes * memory_factor)
    candidates, rows = part.candidates, None
    kept = keeping(case, candidates, specs, search, rules)
    if kept is not None:
        candidates, specs, rows = kept
    evaluation = evaluate(
        workload=case.workload,
        model=case.facts,
        traffic=case.traffic,
        candidates=candidates,
        specs=specs,
        policy=case.policy,
        load=case.load,
        limits_s=case.limits_s,
        headroom_fraction=case.memory_headroom_fraction,
        search=search,
        refusals=planning_rules.refusals(rules, candidates.attributes),
        penalties=planning_rules.penalties(rules, candidates.attributes) + departures(case, candidates),
        rows=rows,
        routing=case.routing,
        need_rps=case.need_rps,
    )
    return Evaluated(case, evaluation, specs, len(found.candidates), found.refused_gpus)
