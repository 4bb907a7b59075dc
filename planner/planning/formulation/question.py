"""From a one-period question and the fleet part of a problem to the question of the fleet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from planner.constraints.plan.limit import Stated
from planner.constraints.plan.registry import stated_day, stated_rows
from planner.errors import Fault, InputError
from planner.planning.formulation.hours import deferrable, factors, periods_of
from planner.planning.formulation.market import hosts_of, lines_of, starts_of, supply_of
from planner.planning.formulation.places import Linked, at_their_places
from planner.planning.formulation.starting import on_lines
from planner.schema.catalog_index import Catalog, folded
from planner.schema.choice import ChoiceProblem, PoolDemand, Spares
from planner.schema.fleet import (
    Api,
    Changes,
    FleetDemand,
    FleetLimits,
    FleetProblem,
    Line,
    Site,
)
from planner.schema.problem import Problem
from planner.schema.workload import Workload
from planner.solver.cp.supports import shares_servers


def fleet_question(
    catalog: Catalog,
    problem: Problem,
    question: ChoiceProblem,
    peaks_rps: Mapping[str, Fraction],
    places: Mapping[str, Site],
    apis: Sequence[Api] = (),
    today_gpus: Mapping[str, int] | None = None,
    slices: Mapping[str, tuple[str, int]] | None = None,
    arriving_rps: Mapping[str, Fraction] | None = None,
    linked: Sequence[ChoiceProblem] = (),
    *,
    paid_starts: bool = False,
) -> FleetProblem:
    """The fleet's question.

    Args:
        catalog: facts that limits read.
        problem: as the user states it.
        question: options and demands of the busiest hour.
        peaks_rps: rate of that hour, by workload; of work that may wait its mean.
        places: sites of hosts that are offers of a price list.
        apis: outside suppliers.
        today_gpus: GPUs of today's fleet by type, where changes are limited.
        slices: of supplies that are slices, the supply of the whole GPUs and how many slices one holds.
        arriving_rps: exact mean rate of work that may wait, by workload; absent: the rate of ``peaks_rps``.
        linked: the question again for each link between places, with every KV transfer at its speed.
        paid_starts: replicas are paid from their start on, so each stands on one line.

    Raises:
        InputError: zones or providers that may be lost, and a supply that names none; a limit that cannot be
            told for it.
    """
    periods = periods_of(problem)
    hosts, options = hosts_of(question, slices or {})
    supply = supply_of(problem.fleet, catalog.accelerator)
    lines = lines_of(problem.fleet, supply, question, hosts, places)
    lines = on_lines(lines) if paid_starts else lines
    by_name = {workload.name: workload for workload in problem.workloads}
    means_rps = {**peaks_rps, **(arriving_rps or {})}
    demands = tuple(
        _demand(
            by_name[demand.workload],
            demand,
            periods,
            peaks_rps[demand.workload],
            means_rps[demand.workload] / peaks_rps[demand.workload],
            lines,
        )
        for demand in question.demands
    )
    limits, changes = question.limits, None
    if problem.fleet.max_changes is not None:
        changes = Changes(dict(today_gpus or {}), problem.fleet.max_changes)
    stated = Stated(problem, lines, limits.stock_gpus, catalog, frozenset(places))
    found = FleetProblem(
        periods=periods,
        options=options,
        hosts=hosts,
        lines=lines,
        demands=demands,
        limits=FleetLimits(
            rows=stated_rows(stated),
            changes=changes,
            objective=limits.objective,
            must_use=limits.must_use,
            day=stated_day(stated),
        ),
        couplings=question.couplings,
        apis=tuple(apis),
        starts=starts_of(problem.fleet, lines),
    )
    _refuse_unnamed_places(found)
    links = zip(problem.fleet.links, linked, strict=True) if linked else ()
    over = [Linked(link, hosts_of(one, slices or {})[1]) for link, one in links]
    return at_their_places(_with_spares(found), over)


def _demand(
    workload: Workload,
    demand: PoolDemand,
    periods: int,
    peak_rps: Fraction,
    level: Fraction,
    lines: Sequence[Line],
) -> FleetDemand:
    waiting = deferrable(workload, periods, level)
    return FleetDemand(
        workload=demand.workload,
        role=demand.role,
        demand_rps=tuple(
            tuple(need * factor for need in demand.demand_rps)
            for factor in factors(workload, periods, peak_rps)
        ),
        buckets=demand.buckets,
        max_utilization=demand.max_utilization,
        # Nothing has to stay warm for work that may wait, unless the workload says so.
        min_replicas=(workload.min_replicas or 0) if waiting else demand.min_replicas,
        spares=demand.spares,
        mix=demand.mix,
        sites=_sites(workload, lines),
        deferrable=waiting,
    )


def _sites(workload: Workload, lines: Sequence[Line]) -> tuple[Site, ...] | None:
    if workload.regions is None and workload.providers is None:
        return None
    checks: list[Callable[[Site], bool]] = []
    if workload.regions is not None:
        regions = {folded(name) for name in workload.regions}
        checks.append(lambda site: folded(site.region) in regions)
    if workload.providers is not None:
        providers = {folded(name) for name in workload.providers}
        checks.append(lambda site: folded(site.provider) in providers)
    return tuple(sorted({line.site for line in lines if all(check(line.site) for check in checks)}))


def _refuse_unnamed_places(question: FleetProblem) -> None:
    faults = []
    for demand in question.demands:
        kind = demand.spares.kind
        if kind not in ("zones", "providers") or not demand.spares.count:
            continue
        sites = {
            site
            for option in question.options
            if option.pool == demand.pool
            for site in question.sites_of(option)
        }
        if sites and not any(any(site.part(kind)) for site in sites):
            named = "provider" if kind == "providers" else "provider, region or zone"
            faults.append(
                Fault(
                    f"workload {demand.workload}", f"redundancy.{kind}",
                    f"GPUs of which nobody says where they stand: no {kind[:-1]} is known that could be lost",
                    f"fleet.supply with the {named} of its lines, or the offers of the price lists",
                    f"redundancy: {{replicas: {demand.spares.count}}}",
                )
            )  # fmt: skip
    if faults:
        raise InputError(faults)


def _with_spares(question: FleetProblem) -> FleetProblem:
    """Servers that may be lost, counted in replicas where every server holds one at most."""
    if shares_servers(question):
        return question
    demands = tuple(
        replace(demand, spares=Spares("replicas", demand.spares.count))
        if demand.spares.kind == "servers" and _on_servers(question, demand)
        else demand
        for demand in question.demands
    )
    return replace(question, demands=demands)


def _on_servers(question: FleetProblem, demand: FleetDemand) -> bool:
    servers = {host.id for host in question.hosts if host.server_gpus is not None}
    return all(option.supply in servers for option in question.options if option.pool == demand.pool)
