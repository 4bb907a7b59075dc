"""The routing of a plan as a gateway takes it: shares and whole weights by bucket."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import isfinite
from pathlib import Path

from planner.errors import input_error
from planner.loaders.files import name_of
from planner.loaders.plan_file import load_plan
from planner.schema.choice import Role
from planner.schema.fleet_out import BucketRoutes, PoolWeight, Routes, WorkloadRoutes
from planner.schema.fleet_plan import PeriodRoute
from planner.schema.plan import Plan, Route

WHOLE = 1000
"""Weights of a bucket sum to this."""


def routes_out(path: Path, period: int | None = None) -> Routes:
    """The routing in a plan document.

    Args:
        path: of the document.
        period: an hour, from 0; None: shares of the whole day.

    Raises:
        InputError: no plan, one that serves nothing, or an hour that it does not have.
    """
    plan = load_plan(path)
    if not plan.routing:
        raise without_pools(path, plan)
    return routes_of(plan, period, name_of(path))


def without_pools(path: Path, plan: Plan) -> Exception:
    """Bad input: a document that holds no answer."""
    maybe = '"planner relax PROBLEM"' if plan.status == "infeasible" else ""
    return input_error(
        name_of(path), "pools", f"none (status {plan.status})", "a plan that serves requests", maybe
    )


def routes_of(plan: Plan, period: int | None, where: str) -> Routes:
    """The routing of a plan.

    Raises:
        InputError: an hour that the plan does not have.
    """
    periods = max(len(plan.periods), 1)
    if period is not None and not 0 <= period < periods:
        hours = f"an hour from 0 to {periods - 1}" if periods > 1 else "0: the plan has one period"
        raise input_error(
            where, "--period", f"{period}", hours, f'"--period {min(max(period, 0), periods - 1)}"'
        )
    stated: Sequence[Route | PeriodRoute] = plan.routing
    if period is not None and plan.periods:
        stated = plan.periods[period].routing
    return Routes(
        problem=plan.problem, period=period, periods=periods, workloads=tuple(_workloads(plan, stated))
    )


def _workloads(plan: Plan, stated: Iterable[Route | PeriodRoute]) -> Iterable[WorkloadRoutes]:
    roles = {pool.id: pool.role for pool in plan.pools}
    disaggregated = {pool.workload for pool in plan.pools if pool.role == "prefill"}
    found: dict[tuple[str, Role], dict[str, dict[str, float]]] = {}
    for route in stated:
        if route.share > 0 and isfinite(route.share):
            # A supplier takes whole requests: it stands where requests come in.
            role = roles.get(route.pool, "prefill" if route.workload in disaggregated else "serve")
            buckets = found.setdefault((route.workload, role), {})
            pools = buckets.setdefault(route.bucket, {})
            pools[route.pool] = pools.get(route.pool, 0.0) + route.share
    for (workload, role), buckets in found.items():
        # Requests come in at whole and at prefill pools: where hours differ in that, at both.
        doors: tuple[Role, ...] = ("decode",) if role == "decode" else ("serve", "prefill")
        rows = []
        for name, shares in buckets.items():
            together = [
                found[workload, door][name] for door in doors if name in found.get((workload, door), {})
            ]
            weights = weighed({pool: share for part in together for pool, share in part.items()})
            rows.append(BucketRoutes(bucket=name, pools=tuple(to for to in weights if to.pool in shares)))
        yield WorkloadRoutes(workload=workload, role=role, buckets=tuple(rows))


def weighed(shares: dict[str, float]) -> tuple[PoolWeight, ...]:
    """Shares that sum to 1 and whole weights that sum to 1000, the largest first.

    Weights are rounded down and the missing ones go to the largest remainders (Hamilton's method); of equal
    ones to the larger share, then to the first name.
    """
    exact = {pool: Fraction(share) for pool, share in shares.items()}
    whole = sum(exact.values(), Fraction(0))
    parts = {pool: share / whole for pool, share in exact.items()}
    weights = {pool: int(part * WHOLE) for pool, part in parts.items()}
    by_rest = sorted(parts, key=lambda pool: (weights[pool] - parts[pool] * WHOLE, -parts[pool], pool))
    for pool in by_rest[: WHOLE - sum(weights.values())]:
        weights[pool] += 1
    order = sorted(parts, key=lambda pool: (-parts[pool], pool))
    return tuple(PoolWeight(pool=p, share=float(parts[p]), weight=weights[p]) for p in order)
