"""A workload served disaggregated: its candidates as prefill and decode workers, and their options."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from planner.candidates.attributes import PART_OF_SERVER
from planner.candidates.options import Placed
from planner.candidates.roles import role_attributes, worth_trying
from planner.candidates.space import network
from planner.candidates.split_options import split_options
from planner.candidates.subset import by_part, subset
from planner.constraints import planning_rules
from planner.constraints.registry import admitted, verdicts
from planner.performance.reuse import traffic_at
from planner.performance.split import Conditions, RoleCandidates, Side, Split, evaluate_split
from planner.planning.workload.case import Case, Selected
from planner.planning.workload.memory_shares import FITS_LESS, departures
from planner.schema.candidates import Lot
from planner.schema.catalog_index import Catalog
from planner.schema.choice import Option
from planner.schema.problem import Problem
from planner.schema.rules import PlanningRule
from planner.schema.traffic import Traffic


def split_evaluated(
    case: Case,
    part: Selected,
    problem: Problem,
    rules: Sequence[PlanningRule],
    catalog: Catalog,
    off: Collection[str] = (),
    memory_factor: float = 1.0,
) -> Split | None:
    """Both sides of a workload; None where one of them has no candidate.

    Args:
        case: the workload.
        part: candidates that rules admit, whatever the role.
        problem: for its network and batches.
        rules: the active planning rules.
        catalog: networks.
        off: rules that do not refuse (to explain).
        memory_factor: times the memory of every GPU (to explain).
    """
    sides = {side: _role(case, part, side, rules, off, memory_factor) for side in ("prefill", "decode")}
    if not all(len(side.candidates) for side in sides.values()):
        return None
    one_way, latency = network(problem.fleet, catalog)
    given = Conditions(
        workload=case.workload,
        model=case.facts,
        traffic=split_traffic(case.traffic),
        policy=case.policy,
        load=case.load,
        limits_s=case.limits_s,
        headroom_fraction=case.memory_headroom_fraction,
        search=problem.search,
        network_bytes_per_s=one_way,
        network_latency_s=latency,
        first_token_from=case.engine.supports.first_token_from,
        routing=case.routing,
        prefill_routing=case.prefill_routing,
        need_rps=case.need_rps,
    )
    local = case.engine.kv_transfer is not None and case.engine.kv_transfer.local_prefill
    return evaluate_split(given, sides["prefill"], sides["decode"], local)


def split_traffic(traffic: Traffic) -> Traffic:
    """Without hits that depend on the number of replicas: those are planned for aggregated serving only."""
    return traffic if traffic.reuse is None else replace(traffic_at(traffic, 0.0), reuse=None)


def disaggregated_options(
    split: Split,
    lots: Sequence[Lot],
    rules: Sequence[PlanningRule],
    whole_servers: bool,
    off: Collection[str] = (),
    weight_bits: int = 0,
) -> dict[str, tuple[Option, Placed]]:
    """Every option of both sides that no constraint excludes, with weights of so many bits at least."""
    allowed = []
    for side in split.sides:
        judged = verdicts(side.evaluation, tuple(rules))
        mask = admitted(tuple(one for one in judged if one.id.split(":")[0] not in off))
        allowed.append(mask & side.evaluation.candidates.has_weight_bits(weight_bits))
    return split_options(split, lots, allowed, whole_servers)


def _role(
    case: Case,
    part: Selected,
    side: Side,
    rules: Sequence[PlanningRule],
    off: Collection[str],
    memory_factor: float,
) -> RoleCandidates:
    """The candidates that may have a role."""
    every = replace(
        part.candidates,
        attributes={**part.candidates.attributes, **role_attributes(part.candidates.configurations, side)},
    )
    candidates, rows = by_part(every, planning_rules.depends_on(PART_OF_SERVER, rules, every.attributes))
    refused = planning_rules.refusals(rules, candidates.attributes)
    keep = worth_trying(candidates.configurations, side)
    if side == "prefill":
        keep = keep & (candidates.attributes[FITS_LESS] == 0)
    for name, bits in refused.items():
        if name not in off:
            keep = keep & ~bits
    kept, specs = subset(candidates, keep), part.specs.take(rows[keep])
    if memory_factor != 1.0:
        specs = replace(specs, capacity_bytes=specs.capacity_bytes * memory_factor)
    return RoleCandidates(
        candidates=kept,
        specs=specs,
        refusals=_of(refused, np.flatnonzero(keep)),
        penalties=planning_rules.penalties(rules, kept.attributes) + departures(case, kept),
    )


def _of(bits: Mapping[str, np.ndarray], rows: np.ndarray) -> dict[str, np.ndarray]:
    return {name: column[rows] for name, column in bits.items()}
