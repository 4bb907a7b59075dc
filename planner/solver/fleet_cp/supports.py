"""Which fleets the exact engine takes on. Loads without the solver."""

from __future__ import annotations

from planner.errors import input_error
from planner.schema.fleet import FleetProblem


def supports(problem: FleetProblem) -> bool:
    """Whether every decision is about whole replicas and GPUs.

    Deferrable work, outside suppliers, the loss of whole zones or providers and traffic divided among places
    need continuous amounts that no cover row stands for.
    """
    lasting = all(demand.deferrable is None for demand in problem.demands)
    own = all(
        demand.spares.count == 0 or demand.spares.kind not in ("zones", "providers")
        for demand in problem.demands
    )
    return lasting and own and not problem.apis and not problem.places


def size(problem: FleetProblem) -> int:
    """Rates that the model must settle: options times buckets, in every period of its own demand."""
    buckets = {demand.pool: len(demand.buckets) for demand in problem.demands}
    needs = zip(*(demand.demand_rps for demand in problem.demands), strict=True)
    return sum(buckets.get(option.pool, 0) for option in problem.options) * len(set(needs))


def refuse_shared_servers(problem: FleetProblem) -> None:
    """Spares counted in servers need servers that hold one replica each.

    Raises:
        InputError: a replica of such a pool may share its server.
    """
    hosts = {host.id: host for host in problem.hosts}
    spared = {d.pool for d in problem.demands if d.spares.kind == "servers" and d.spares.count}
    for option in problem.options:
        if option.pool not in spared:
            continue
        host = hosts[option.supply]
        if host.server_gpus is None or host.room_gpus(option) < host.server_gpus:
            raise input_error(
                f"workload {option.workload}", "redundancy.servers",
                f"{option.gpus} GPUs per replica in servers of {host.server_gpus or 1}",
                "replicas of more than half a server with purchase: node (a server is then one replica)",
                "redundancy: {replicas: n}",
            )  # fmt: skip
