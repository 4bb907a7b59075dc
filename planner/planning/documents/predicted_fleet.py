"""Pools of a fleet over predictions: every pool with memory and latencies at its busiest hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from planner.planning.documents.chosen import Chosen, chosen_of
from planner.planning.documents.class_traffic import capacity_rps, carries_rps, mixed_part
from planner.planning.documents.pool_document import PoolCase, pool_document
from planner.planning.documents.pools import FleetPool, replicas_like
from planner.planning.documents.prefill_decode_pools import disaggregated_documents
from planner.planning.formulation.fleet_case import FleetCase
from planner.planning.workload.starting import storage_of
from planner.schema.catalog_index import Catalog
from planner.schema.pool import Pool

_NONE = Fraction(0)


def predicted_pools(
    case: FleetCase, pools: Sequence[FleetPool], catalog: Catalog
) -> tuple[tuple[Pool, ...], tuple[PoolCase, ...]]:
    """The documents of the pools, in their order, with the case behind each."""
    assert case.formulation is not None
    documents: dict[str, Pool] = {}
    cases: dict[str, PoolCase] = {}
    # Prefill and decode pools are described by their partners: those of their place.
    for together in dict.fromkeys((pool.option.workload, pool.option.place) for pool in pools):
        mine = [pool for pool in pools if (pool.option.workload, pool.option.place) == together]
        chosen = chosen_of(case.linked.get(together[1], case.formulation))
        for period in sorted({_shown(pool, mine) for pool in mine}):
            present = [pool for pool in mine if pool.counts[period]]
            at_hour = [
                _pool_case(case, chosen, pool, period, catalog, replicas_like(pool, pools, period))
                for pool in present
            ]
            for pool, item, document in zip(present, at_hour, _documents(at_hour, chosen), strict=True):
                if _shown(pool, mine) == period:
                    documents[pool.id] = document.model_copy(
                        update={
                            "id": pool.id,
                            "replicas": pool.replicas,
                            "power_w": None
                            if document.power_w is None
                            else document.power_w / item.replicas * pool.replicas,
                        }
                    )
                    cases[pool.id] = item
    return tuple(documents[pool.id] for pool in pools), tuple(cases[pool.id] for pool in pools)


def _shown(pool: FleetPool, mine: Sequence[FleetPool]) -> int:
    """The hour that a pool is described at; prefill and decode pools want partners in the same hour."""
    if pool.option.role == "serve":
        return pool.shown
    both = [
        t
        for t in range(len(pool.counts))
        if pool.counts[t] and {p.option.role for p in mine if p.counts[t]} >= {"prefill", "decode"}
    ]
    return max(both, key=lambda t: (pool.counts[t], pool.load(t), -t))


def _documents(cases: Sequence[PoolCase], chosen: Chosen) -> list[Pool]:
    """One pool a case, in the same order."""
    serving = [case for case in cases if case.placed.role == "serve"]
    found = {id(case): pool_document(case, number) for number, case in enumerate(serving, 1)}
    disaggregated = [case for case in cases if case.placed.role != "serve"]
    if disaggregated:
        ordered = sorted(disaggregated, key=lambda case: case.placed.role == "decode")
        split = chosen.disaggregated[disaggregated[0].placed.workload]
        for case, document in zip(ordered, disaggregated_documents(ordered, split), strict=True):
            found[id(case)] = document
    return [found[id(case)] for case in cases]


def _pool_case(
    case: FleetCase, chosen: Chosen, pool: FleetPool, period: int, catalog: Catalog, pool_replicas: int
) -> PoolCase:
    option, placed = chosen.found[pool.option.anywhere]
    part = chosen.part(placed)
    headroom = 1 + Fraction(part.case.headroom.capacity)
    needs = dict(zip(pool.demand.buckets, pool.demand.demand_rps[period], strict=True))
    carried = sum((share * needs[bucket] for bucket, share in pool.shares[period].items()), _NONE)
    carried *= pool.levels[period] / headroom
    whole = sum(needs.values(), _NONE) / headroom * pool.levels[period]
    mixed = None
    classes = case.classes.get(placed.workload)
    if classes is not None and case.formulation is not None:
        # A pool is described by what it really gets, and that candidate is the only one there.
        part = mixed_part(
            case.formulation,
            classes,
            placed.workload,
            pool.shares[period],
            pool_replicas,
            placed.configuration,
        )
        placed, mixed = replace(placed, configuration=0), capacity_rps(pool, period)
        mixed = min(mixed, carries_rps(part) or mixed)
    return PoolCase(
        option=option,
        placed=placed,
        evaluated=part,
        lot=chosen.lots[placed.lot],
        storage=storage_of(part.case.workload.storage, catalog),
        replicas=pool.counts[period],
        share=carried / whole if whole else _NONE,
        usd_per_h=pool.usd_per_h,
        planned_rps=carried / pool.counts[period],
        site=str(pool.site) or None,
        mixed_rps=mixed,
        pool_replicas=pool_replicas,
    )
