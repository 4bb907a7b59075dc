"""The pools of a plan as things that can be started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.commands.address import PORT
from planner.commands.dns_names import dns_names
from planner.commands.first_start import start_s
from planner.commands.option_check import unknown_to
from planner.commands.pool_facts import PoolFacts, pool_facts
from planner.commands.registry import launch_of
from planner.errors import CannotExpressError
from planner.schema.catalog import Model
from planner.schema.catalog_index import Catalog
from planner.schema.engine_options import EngineOptions, Platform, VendorDevices
from planner.schema.launch import Deployment
from planner.schema.plan import Plan
from planner.schema.pool import Pool
from planner.schema.problem import Problem


def deployments(
    plan: Plan,
    problem: Problem,
    models: Mapping[str, Model],
    catalog: Catalog,
    options: Mapping[str, EngineOptions],
    platform: Platform,
    hour: int | None = None,
) -> tuple[Deployment, ...]:
    """Every pool of a plan with its command lines, image and resources.

    Args:
        plan: with pools.
        problem: that it answers.
        models: by workload.
        catalog: what names stand for.
        options: what engines take, by engine.
        platform: what Kubernetes calls accelerators.
        hour: whose replicas are exported, from 0; None: that in which most GPUs run.

    Raises:
        CannotExpressError: with the reasons of all pools.
    """
    facts = pool_facts(plan, problem, models, catalog)
    names = dns_names(item.pool.id for item in facts)
    hour = busiest_hour(plan) if hour is None else hour
    found: list[Deployment] = []
    reasons: list[str] = []
    for item in facts:
        try:
            found.append(_deployment(item, names[item.pool.id], options, platform, hour))
        except CannotExpressError as problems:
            reasons += problems.reasons
    if reasons:
        raise CannotExpressError(reasons)
    return tuple(found)


def busiest_hour(plan: Plan) -> int:
    """The hour in which the replicas of a plan take most GPUs, the first of several; 0 without hours."""
    sizes = {pool.id: pool.gpus_per_replica for pool in plan.pools}
    taken = [
        sum(count * sizes.get(name, 0) for name, count in period.replicas.items()) for period in plan.periods
    ]
    return max(range(len(taken)), key=lambda hour: (taken[hour], -hour), default=0)


def _deployment(
    facts: PoolFacts, name: str, options: Mapping[str, EngineOptions], platform: Platform, hour: int
) -> Deployment:
    pool, accelerator, engine = facts.pool, facts.accelerator, facts.engine
    launch = launch_of(facts)
    taken = options.get(engine.id)
    if taken is None:
        raise CannotExpressError([f"{pool.id}: catalog/options has no file for {engine.name}."])
    reasons = [f"{pool.id}: {text}" for text in unknown_to(taken, launch, engine.name)]
    if reasons:
        raise CannotExpressError(reasons)
    devices = platform.devices.get(accelerator.vendor)
    image = taken.images.get(accelerator.vendor)
    if image is None or devices is None:
        reason = f"{pool.id}: the catalog knows no image of {engine.name} for {accelerator.vendor}."
        raise CannotExpressError([reason])
    return Deployment(
        pool=pool,
        name=name,
        launch=launch,
        served_name=facts.served_name,
        image=image,
        port=PORT,
        health_path=taken.health,
        vendor=accelerator.vendor,
        accelerator=accelerator.id,
        resource=_resource(pool, devices),
        product_label=devices.label,
        product=platform.products.get(accelerator.id),
        server_gpus=facts.unit_gpus,
        replicas_by_hour=tuple(_replicas(facts)),
        hour=hour,
        start_s=start_s(facts, launch.weights),
        max_queue=None if facts.guardrails is None else facts.guardrails.max_queue,
    )


def _resource(pool: Pool, devices: VendorDevices) -> str:
    if pool.slice is None:
        return devices.resource
    if devices.slice_resource is None:
        raise CannotExpressError([f"{pool.id}: the catalog knows no resource for slices ({pool.slice})."])
    return devices.slice_resource.format(slice=pool.slice)


def _replicas(facts: PoolFacts) -> Iterator[int]:
    periods, pool = facts.plan.periods, facts.pool
    if not periods:
        yield pool.replicas
    for period in periods:
        yield period.replicas.get(pool.id, 0)
