"""The problem over what is there: of what nothing limits, any load can be served."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal

from planner.candidates.market import find_id
from planner.errors import input_error
from planner.explain.phrases import listing
from planner.schema.catalog import Accelerator
from planner.schema.catalog_index import folded
from planner.schema.hardware import Fleet
from planner.schema.problem import Problem
from planner.schema.supply import SupplyLine

Find = Callable[[str], Accelerator | None]


def of_what_is_there(
    problem: Problem, find: Find, table_gpus: Iterable[str], table_stock: Mapping[str, int], where: str
) -> tuple[Problem, tuple[str, ...]]:
    """The problem without GPUs and suppliers that nothing limits, and what was left aside, in words.

    A budget, `max_gpus`, `max_replicas` or a limit on power limits everything that is bought; `stock`,
    `owned`, a quota and `max_gpus` of a line limit their own GPUs.

    Args:
        problem: as the user states it.
        find: accelerator by id or alias.
        table_gpus: of the table of workers, where there is one.
        table_stock: GPUs that it says can be had.
        where: the problem file, for messages.

    Raises:
        InputError: nothing is left.
    """
    fleet, lines = problem.fleet, []
    if problem.api and fleet.budget is None:
        lines.append("outside suppliers are left aside: without a budget they carry any load")
        problem = problem.model_copy(update={"api": ()})
    if _all_limited(problem):
        return problem, tuple(lines)
    names = {find_id(find, name): name for name in (*fleet.stock, *fleet.owned, *table_stock)}
    supply = [line for line in fleet.supply or () if _limited(line, fleet, set(names), find)]
    names |= {find_id(find, line.gpu): line.gpu for line in supply}
    if fleet.accelerators is not None:
        allowed = {find_id(find, name) for name in fleet.accelerators}
        names = {gpu: name for gpu, name in names.items() if gpu in allowed}
    if not names:
        raise input_error(
            where,
            "fleet",
            "nothing that limits what can be bought, so it carries any load",
            "what there is: owned, stock, max_gpus, budget, or max_gpus in the lines of supply",
            "fleet.stock: {h100-sxm: 16}",
        )
    stocked = {find_id(find, name) for name in (*fleet.stock, *table_stock)}
    prices = {gpu: usd for gpu, usd in (fleet.prices or {}).items() if find_id(find, gpu) in stocked}
    lines += _aside(fleet, set(names), supply, prices, set(table_gpus), find)
    taken = fleet.model_copy(
        update={
            "accelerators": tuple(names.values()),
            "supply": tuple(supply) or None,
            "prices": prices or None,
        }
    )
    return problem.model_copy(update={"fleet": taken}), tuple(lines)


def _all_limited(problem: Problem) -> bool:
    """One limit counts everything that is bought or runs."""
    fleet = problem.fleet
    caps = (fleet.max_gpus, fleet.max_power, fleet.max_replicas, fleet.max_co2_kg_per_day)
    if any(cap is not None for cap in caps) or all(w.max_replicas is not None for w in problem.workloads):
        return True
    free = [line for line in fleet.supply or () if line.max_gpus is None and not line.price_usd_per_gpu_h]
    free_prices = [usd for usd in (fleet.prices or {}).values() if usd == Decimal(0)]
    if fleet.budget is not None and not free and not free_prices:
        return True
    quota = {folded(name) for name in fleet.quota}
    places = fleet.providers or fleet.regions
    return bool(quota and places and all(folded(name) in quota for name in places))


def _limited(line: SupplyLine, fleet: Fleet, stocked: set[str], find: Find) -> bool:
    """A stock, a quota or the line itself limits it."""
    quota = {folded(name) for name in fleet.quota}
    places = {folded(name) for name in (line.provider, line.region) if name}
    return line.max_gpus is not None or find_id(find, line.gpu) in stocked or bool(places & quota)


def _aside(
    fleet: Fleet,
    names: set[str],
    supply: list[SupplyLine],
    prices: Mapping[str, Decimal],
    table_gpus: set[str],
    find: Find,
) -> list[str]:
    """What is left out, where the user named it."""
    gone = [f"{line.gpu}/{line.term}" for line in fleet.supply or () if line not in supply]
    gone += [f"{gpu} at its price" for gpu in fleet.prices or {} if gpu not in prices]
    gone += [name for name in fleet.accelerators or () if find_id(find, name) not in names]
    gone += sorted(gpu for gpu in table_gpus if find_id(find, gpu) not in names)
    words = listing(list(dict.fromkeys(gone)))
    return [f"left aside, because nothing limits how much of it can be had: {words}"] if gone else []
