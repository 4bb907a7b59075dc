"""Which fleets the exact engine takes on. Loads without the solver."""

from __future__ import annotations

from planner.constraints.fleet_check_losses import stands_of
from planner.errors import input_error
from planner.schema.fleet import FleetProblem


def supports(problem: FleetProblem) -> bool:
    """Whether every decision is about whole replicas and GPUs.

    Deferrable work, outside suppliers, the loss of whole zones or providers and traffic divided among places
    need continuous amounts that no cover row stands for; places of single options are not known to it.
    """
    lasting = all(demand.deferrable is None for demand in problem.demands)
    own = all(
        demand.spares.count == 0 or demand.spares.kind not in ("zones", "providers")
        for demand in problem.demands
    )
    # One option alone has exactly the replicas that it needs there, and none that stay to spare a start.
    spared = any(not demand.mix and demand.workload in problem.pays_starts for demand in problem.demands)
    return (
        not spared
        and lasting
        and own
        and not problem.apis
        and not problem.places
        and not _tells_sites_apart(problem)
    )


def _tells_sites_apart(problem: FleetProblem) -> bool:
    """A limit on places or pools, and replicas that may stand at several of them: it counts them by kind."""
    for row in problem.limits.day:
        if row.counts in ("places", "pools"):
            named = dict(row.sites)
            for option in problem.options:
                sites = problem.sites_of(option)
                if len({site.place if row.counts == "pools" else named.get(site, "") for site in sites}) > 1:
                    return True
    return False


def size(problem: FleetProblem) -> int:
    """Rates that the model must settle: options times buckets, in every period of its own demand."""
    buckets = {demand.pool: len(demand.buckets) for demand in problem.demands}
    needs = zip(*(demand.demand_rps for demand in problem.demands), strict=True)
    return sum(buckets.get(option.pool, 0) for option in problem.options) * len(set(needs))


def shares_servers(problem: FleetProblem) -> bool:
    """Servers may be lost that hold several replicas."""
    spared = {d.pool for d in problem.demands if d.spares.kind == "servers" and d.spares.count}
    stands = stands_of(problem) if spared else {}
    return any(
        option.pool in spared and option.id in stands and stands[option.id].full > 1
        for option in problem.options
    )


def refuse_servers(problem: FleetProblem) -> None:
    """Spares counted in servers need servers, and whole numbers of replicas where these share them.

    Raises:
        InputError: GPUs of such a pool are bought one by one, or something beside needs the other engine.
    """
    spared = {d.pool for d in problem.demands if d.spares.kind == "servers" and d.spares.count}
    stands = stands_of(problem) if spared else {}
    for option in problem.options:
        if option.pool in spared and option.id not in stands:
            raise input_error(
                f"workload {option.workload}", "redundancy.servers",
                f"{option.gpu} that is not bought by the server: none is known that could be lost",
                "purchase: node (with node_size where the catalog does not know the GPU)",
                "redundancy: {replicas: n}",
            )  # fmt: skip
    if shares_servers(problem) and not supports(problem):
        raise input_error(
            f"workload {min(spared)[0]}", "redundancy.servers",
            "replicas that share servers, beside work that may wait, outside suppliers or several places",
            "replicas of more than half a server (one in each), or none of these",
            "redundancy: {replicas: n}",
        )  # fmt: skip
