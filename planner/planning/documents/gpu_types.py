"""One table of all GPU types: every accelerator of the catalog with its best fleet, or what keeps it out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from planner import numbers
from planner.candidates.market import by_accelerator, find_id
from planner.constraints.registry import admitted, verdicts
from planner.explain.phrases import listing
from planner.explain.single_type import OneType, of_one_type
from planner.explain.why_not import why_not
from planner.planning.documents.chosen import Chosen, chosen_of
from planner.planning.formulation.fleet_case import FleetCase
from planner.schema.catalog_index import Catalog
from planner.schema.compared import GpuType, WhyNot
from planner.schema.fleet_plan import SupplyTaken
from planner.schema.pool import Pool

_STOPS = {"memory": "vram"}
"""Words for what limits a replica, where the constraint has another name."""
_ORDER = ("chosen", "dearer", "infeasible", "excluded", "no-price")


def gpu_types(
    case: FleetCase, catalog: Catalog, pools: Sequence[Pool] = (), supply: Sequence[SupplyTaken] = ()
) -> tuple[GpuType, ...]:
    """Every accelerator of the catalog once, the best first; of predicted problems over one period.

    Args:
        case: the question.
        catalog: accelerators and price lists.
        pools: of the answer; none without a plan.
        supply: bought.
    """
    if case.formulation is None or case.question.periods > 1:
        return ()
    table = _Table(case, catalog)
    taken = {item.gpu for item in supply if item.gpus}
    rows = [
        _chosen(name, [p for p in pools if p.gpu == name], [s for s in supply if s.gpu == name])
        if name in taken
        else table.row(name, accelerator)
        for accelerator, name in table.names.items()
    ]
    return tuple(sorted(rows, key=_place))


def _place(row: GpuType) -> tuple[int, float, str]:
    return _ORDER.index(row.status), row.cost_usd_per_hour or 0.0, row.gpu


def _chosen(name: str, pools: Sequence[Pool], supply: Sequence[SupplyTaken]) -> GpuType:
    most = max(supply, key=lambda item: item.gpus)
    return GpuType(
        gpu=name,
        status="chosen",
        gpus=sum(item.gpus for item in supply),
        replicas=sum(pool.replicas for pool in pools),
        layout=listing([f"{pool.replicas} × {_described(pool)}" for pool in pools]),
        cost_usd_per_hour=sum(item.usd for item in supply),
        bound="exact",
        stopped_by=next((stop_id(pool.limited_by, pool.workload) for pool in pools if pool.limited_by), None),
        provider=most.provider,
        place=most.region,
        why="its part of the plan",
    )


class _Table:
    """What is known of accelerators that the plan does not take."""

    def __init__(self, case: FleetCase, catalog: Catalog) -> None:
        assert case.formulation is not None
        self.case, self.catalog, self.chosen = case, catalog, chosen_of(case.formulation)
        stated = case.problem.fleet
        written = [
            *(stated.accelerators or ()),
            *(stated.prices or {}),
            *stated.stock,
            *(line.gpu for line in stated.supply or ()),
        ]
        called = {find_id(catalog.accelerator, name): name for name in reversed(written)}
        self.names = {item.id: called.get(item.id, item.id) for item in catalog.accelerators}
        self.sold = {lot.name for lot in self.chosen.lots}
        self.able = {option.gpu for option in case.question.options}
        self.reasons = _reasons(self.chosen)
        listed = [(prices.id, offer) for prices, offer in catalog.offers()]
        self.offers = by_accelerator(catalog.accelerator, listed)

    def row(self, name: str, accelerator: str) -> GpuType:
        """One accelerator."""
        if name in self.chosen.aside and name not in self.sold:
            why = self.chosen.aside[name]
            if "power" in why:
                return GpuType(gpu=name, status="excluded", stopped_by="power", why=why)
        if name not in self.sold:
            return self._not_sold(name, accelerator)
        found = of_one_type(self.case.question, name) if name in self.able else None
        if isinstance(found, OneType):
            return self._alone(name, found)
        stop = self._reason(name, found)
        return GpuType(gpu=name, status="infeasible", stopped_by=stop.stopped_by or None, why=stop.why)

    def _reason(self, name: str, workload: str | None) -> WhyNot:
        """Why it cannot serve a workload, or any."""
        lines = [
            line
            for (mine, gpu), line in self.reasons.items()
            if gpu == name and (workload is None or mine == workload)
        ]
        nothing = WhyNot(gpu=name, why="no prefill and decode layouts of it work together within the limits")
        return lines[0] if lines else nothing

    def _alone(self, name: str, found: OneType) -> GpuType:
        question = self.case.question
        places = any(d.spares.count and d.spares.kind in ("zones", "providers") for d in question.demands)
        mixed = any(len(d.buckets) > 1 for d in question.demands)
        exact = found.usd_per_h == found.least_usd_per_h and not mixed
        line = found.lines[0] if found.lines else None
        needed = sum(count * option.gpus for option, count in found.held)
        return GpuType(
            gpu=name,
            status="infeasible" if found.broken else "dearer",
            gpus=max(found.gpus, needed),
            replicas=sum(count for _, count in found.held),
            layout=listing([f"{count} × {option.role} {option.label}" for option, count in found.held]),
            # What there is too little of has no price.
            cost_usd_per_hour=float(found.usd_per_h) if needed <= found.gpus else None,
            bound="lower" if places else "exact" if exact else "upper",
            stopped_by=found.broken[0] if found.broken else self._stop(found),
            provider=(line.site.provider or None) if line else None,
            place=(line.site.region or None) if line else None,
            why=f"alone it breaks {listing(found.broken)}" if found.broken else "",
        )

    def _stop(self, found: OneType) -> str | None:
        """What keeps a replica of its largest pool from carrying more."""
        option, _ = max(found.held, key=lambda held: (held[0].gpus * held[1], held[0].id))
        formulation = self.case.behind(option)
        assert formulation is not None
        _, placed = formulation.found[option.anywhere]
        word = self.chosen.part(placed).stop(placed.configuration)
        return stop_id(word, option.workload) if word else None

    def _not_sold(self, name: str, accelerator: str) -> GpuType:
        """Left out by the problem, or without a price."""
        fleet, find = self.case.problem.fleet, self.catalog.accelerator
        stated: Mapping[str, Sequence[str] | None] = {
            "fleet.accelerators": fleet.accelerators,
            "fleet.prices": None if fleet.prices is None else (*fleet.prices, *fleet.stock),
            "fleet.supply": None if fleet.supply is None else [line.gpu for line in fleet.supply],
        }
        for key, named in stated.items():
            if named is not None and accelerator not in {find_id(find, item) for item in named}:
                return GpuType(gpu=name, status="excluded", stopped_by=key, why=f"not in {key}")
        pairs = self.offers.get(accelerator, [])
        offers = [offer for _, offer in pairs]
        lists = self.catalog.by_folder["prices"]
        usable = [offer for prices, offer in pairs if offer.usable and not lists[prices].marketplace]
        if usable:
            key = "fleet.providers" if fleet.providers is not None else "fleet.regions"
            where = numbers.count(len(usable), "offer")
            return GpuType(gpu=name, status="excluded", stopped_by=key, why=f"{where}, none within {key}")
        if not offers:
            return GpuType(gpu=name, status="no-price", why="no price list of the catalog has an offer")
        listed = numbers.count(len(offers), "offer")
        markets = sorted({prices for prices, offer in pairs if offer.usable})
        if markets:
            why = f"{listed}, only of marketplaces: fleet.providers may name {listing(markets)}"
            return GpuType(gpu=name, status="no-price", why=why)
        notes = dict.fromkeys(offer.note for offer in offers if offer.note)
        told = f": {next(iter(notes))}" if notes else ""
        why = f"{listed} listed, not used{told}"
        return GpuType(gpu=name, status="no-price", why=why)


def stop_id(limited_by: str, workload: str) -> str:
    """``ttft:chat``: the constraint that keeps a replica from carrying more."""
    word = limited_by.partition(":")[0]
    return f"{_STOPS.get(word, word)}:{workload}"


def _described(pool: Pool) -> str:
    """``serve h100-80gb-sxm vllm fp8+kv-fp8 tp1 …``: the choices of a pool without workload and place."""
    words = pool.option.removeprefix(f"{pool.workload}: ").partition(" @ ")[0]
    return words if words.startswith(pool.role) else f"{pool.role} {words}"


def _reasons(chosen: Chosen) -> Mapping[tuple[str, str], WhyNot]:
    """By workload and GPU type: why no configuration of it can serve that workload aggregated."""
    return dict(_told(chosen))


def _told(chosen: Chosen) -> Iterator[tuple[tuple[str, str], WhyNot]]:
    for workload, part in chosen.evaluated.items():
        judged = verdicts(part.evaluation, tuple(chosen.rules))
        lines = why_not(
            part.evaluation, judged, admitted(judged), lots=chosen.lots, refused=part.refused_gpus
        )
        yield from (((workload, line.gpu), line) for line in lines)
