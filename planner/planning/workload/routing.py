"""Which router stands in front of the pools of a workload."""

from __future__ import annotations

from planner.schema.hardware import Fleet
from planner.schema.routing import RoutingPolicy
from planner.schema.stated import RouterChoice
from planner.schema.workload import Workload


def routers(workload: Workload, fleet: Fleet) -> tuple[RoutingPolicy, RoutingPolicy]:
    """Policies of the routers in front of replicas, and of prefill workers.

    What the problem states holds for both. Otherwise a prefix cache is routed to as it says, other requests
    go to the least loaded replica, and prompts for prefill workers wait in one queue.
    """
    stated = _stated(workload, fleet)
    if stated is not None:
        return stated.policy, stated.policy
    cache = workload.prefix_cache
    if cache is not None:
        return cache.routing, "shared-queue"
    return ("cache-aware" if workload.demand.sessions is not None else "least-loaded"), "shared-queue"


def with_router(workload: Workload, fleet: Fleet) -> Workload:
    """The workload with a prefix cache that is routed to as the problem's router does."""
    stated, cache = _stated(workload, fleet), workload.prefix_cache
    if stated is None or cache is None or "routing" in cache.model_fields_set:
        return workload
    routing = "cache-aware" if stated.policy == "cache-aware" else "round-robin"
    return workload.model_copy(update={"prefix_cache": cache.model_copy(update={"routing": routing})})


def _stated(workload: Workload, fleet: Fleet) -> RouterChoice | None:
    return workload.routing or fleet.routing
