"""Every engine that has a command line, and the commands of the pools of a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planner.commands import sglang, tensorrt_llm, vllm
from planner.commands.pool_facts import PoolFacts, pool_facts
from planner.commands.shell import command_line
from planner.errors import CannotExpressError
from planner.schema.catalog import Model
from planner.schema.catalog_index import Catalog
from planner.schema.launch import Launch
from planner.schema.plan import Plan
from planner.schema.problem import Problem

ENGINES: tuple[tuple[str, Callable[[PoolFacts], Launch]], ...] = (
    ("vllm", vllm.launch),
    ("sglang", sglang.launch),
    ("tensorrt-llm", tensorrt_llm.launch),
)
"""Engine of the catalog and who writes its command lines."""


def launch_of(facts: PoolFacts) -> Launch:
    """The command lines of one replica of a pool.

    Raises:
        CannotExpressError: the engine has no command line, or none that does what the plan says.
    """
    facts.refuse_unknown()
    write = dict(ENGINES).get(facts.engine.id)
    if write is None:
        raise CannotExpressError([f"{facts.pool.id}: {facts.engine.name} is no product that can be started."])
    return write(facts)


def with_commands(plan: Plan, problem: Problem, models: Mapping[str, Model], catalog: Catalog) -> Plan:
    """A plan whose pools state the command line of one replica, where there is one.

    Args:
        plan: whose pools state none.
        problem: that it answers.
        models: by workload.
        catalog: what names stand for.
    """
    try:
        facts = {item.pool.id: item for item in pool_facts(plan, problem, models, catalog)}
    except CannotExpressError:
        return plan
    pools = []
    for pool in plan.pools:
        try:
            launch = launch_of(facts[pool.id])
        except CannotExpressError:
            pools.append(pool)
            continue
        update = {"command": command_line(launch), "command_config": dict(launch.config) or None}
        pools.append(pool.model_copy(update=update))
    return plan.model_copy(update={"pools": tuple(pools)})
