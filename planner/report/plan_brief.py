"""A plan on one screen: decision, money, pools, hours, limits, GPU types, and what to mind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.hours import has_hours, replicas_by_hour
from planner.explain.phrases import listing, pool_layout
from planner.report.capacity_text import capacity_section
from planner.report.commands_text import commands_section
from planner.report.demand_text import demand_section
from planner.report.fleet_hours_text import hours_in_short
from planner.report.fleet_text import shortage_section
from planner.report.gpu_types_text import types_in_short
from planner.report.headline import headline, lone_replicas
from planner.report.limits_text import limits_in_short, removals_in_short
from planner.report.parts import Fitted, bullets, section, table
from planner.report.proof_text import proof_section
from planner.report.reasons_text import conflicts_section, relaxations_section
from planner.report.safety_text import steps_in_short
from planner.report.traces_text import traces_section
from planner.report.warnings_text import warnings_of
from planner.schema.fleet_plan import PLACE_NOT_STATED
from planner.schema.plan import Plan
from planner.schema.pool import Pool
from planner.schema.supply import HOURS_PER_YEAR

MOST_LINES = 40
"""Of a screen."""


@dataclass(frozen=True)
class _Room:
    """How much of what may be cut is shown; all of it is on the page of details."""

    warnings: int
    letters: int
    """Of a warning."""
    types: int
    """Of GPUs; all that were chosen are shown."""
    pools: int = 8
    limits: int = 6


_ROOMS = (
    _Room(3, 92, 5), _Room(3, 70, 5), _Room(2, 70, 5), _Room(2, 70, 3), _Room(1, 70, 3),
    _Room(1, 70, 2, pools=5, limits=4), _Room(1, 70, 2, pools=3, limits=3),
)  # fmt: skip


def view(plan: Plan) -> RenderableType:
    """The screen of a plan: what is cut is counted, and the last line says how to see it."""
    page = _answer if plan.status in ("optimal", "feasible") else _honest_no
    return Fitted([partial(page, plan, room) for room in _ROOMS], MOST_LINES)


def _answer(plan: Plan, room: _Room) -> RenderableType:
    parts = (
        *headline(plan),
        *_money(plan),
        *lone_replicas(plan),
        demand_section(plan),
        capacity_section(plan),
        _pools(plan, room.pools),
        traces_section(plan),
        _commands(plan),
        hours_in_short(plan),
        limits_in_short(plan.constraints, room.limits),
        types_in_short(plan, room.types),
        proof_section(plan),
        steps_in_short(plan),
        _mind(plan, room),
        _rest("Memory, percentiles, prices, losses, next best fleets and the rest"),
    )
    return Group(*(part for part in parts if part is not None))


def _honest_no(plan: Plan, room: _Room) -> RenderableType:
    unasked = plan.status == "infeasible" and not plan.relaxations
    parts = (
        *headline(plan),
        demand_section(plan),
        removals_in_short(plan.removed, 2 * room.limits),
        conflicts_section(plan),
        shortage_section(plan),
        relaxations_section(plan),
        types_in_short(plan, room.types),
        Text("\nWhat would have to give: planner relax PROBLEM", "dim") if unasked else None,
        _mind(plan, room),
        _rest("The nearest candidates, every GPU type and the rest"),
    )
    return Group(*(part for part in parts if part is not None))


def _rest(what: str) -> Text:
    return Text(f"\n{what}: --details", "dim")


def _money(plan: Plan) -> Iterator[RenderableType]:
    """Month and year, and what tokens cost."""
    hourly = plan.cost_usd_per_hour
    if hourly is None:
        return
    month, year = hourly * numbers.HOURS_PER_MONTH, hourly * float(HOURS_PER_YEAR)
    words = f"{numbers.usd(month)} a month, {numbers.usd(year)} a year"
    if plan.cost_usd_per_million_output_tokens is not None:
        words += f"; {numbers.usd(plan.cost_usd_per_million_output_tokens)} per million output tokens"
    yield Text(f"{words}.")
    places = plan.costs.by_place.items() if plan.costs is not None else ()
    shares = {name: usd / hourly for name, usd in places if usd > 0}
    if not shares or set(shares) == {PLACE_NOT_STATED}:
        return
    if len(shares) > 1:
        yield Text(f"From {listing([f'{name} ({numbers.share(share)})' for name, share in shares.items()])}.")
        return
    kept = any(state.id.partition(":")[0] == "places" for state in plan.constraints)
    mix = " (several may be cheaper: fleet.mix_places: true)" if kept else ""
    yield Text(f"All at {next(iter(shares))}{mix}.")


def _pools(plan: Plan, most: int) -> RenderableType | None:
    if not plan.pools:
        return None
    rows = [_pool(plan, pool) for pool in plan.pools[:most]]
    more = len(plan.pools) - most
    notes = [Text(f"… and {numbers.count(more, 'more pool')}", "dim")] if more > 0 else []
    headings = ("pool", "replicas", "one replica", "load", "cost")
    engines = dict.fromkeys(f"{pool.engine}, {pool.mode}" for pool in plan.pools)
    title = f"Pools ({next(iter(engines))})" if len(engines) == 1 else "Pools"
    return section(title, table(headings, rows, right=(3, 4)), *notes)


def _pool(plan: Plan, pool: Pool) -> tuple[str, str, str, str, str]:
    counts = replicas_by_hour(plan, pool) if has_hours(plan) else (pool.replicas,)
    least, most = min(counts), max(counts)
    replicas = f"{most:,}" if least == most else f"{least:,}–{most:,}"
    return (
        pool.id,
        f"{replicas} × {_size(pool)}",
        _choices(pool),
        numbers.share(pool.utilization),
        f"{numbers.usd(pool.usd_per_hour)}/h",
    )


def _size(pool: Pool) -> str:
    """GPUs of a replica, by name: ``2 h100-80gb-sxm``."""
    if pool.slice is not None:
        return f"{pool.slice} of {pool.gpu}"
    return f"{pool.gpus_per_replica:,} {pool.gpu}"


def _choices(pool: Pool) -> str:
    """Layout, formats and batch; of a measured worker what its table says."""
    if pool.evidence == "measured":
        return pool.option
    degrees = "" if pool.gpus_per_replica == 1 and pool.slice is None else f"{pool_layout(pool)}, "
    return f"{degrees}{pool.weights}, KV {pool.kv}, batch {pool.max_batch:,}"


def _commands(plan: Plan) -> RenderableType | None:
    """The command of the one pool, or how to get those of several."""
    known = [pool for pool in plan.pools if pool.command is not None]
    if len(known) > 1:
        return Text("  Their commands and manifests: planner export PLAN --to TARGET --out DIR", "dim")
    return commands_section(plan, continued=True)


def _mind(plan: Plan, room: _Room) -> RenderableType | None:
    """The first warnings, shortened; how many there are more."""
    lines = warnings_of(plan)
    if not lines:
        return None
    shown = [_shortened(line, room.letters) for line in lines[: room.warnings]]
    more = len(lines) - len(shown)
    if more > 0:
        shown.append(f"… and {numbers.count(more, 'more warning')}")
    return section("Mind", bullets(shown))


def _shortened(line: str, letters: int) -> str:
    if len(line) <= letters:
        return line
    return f"{line[:letters].rsplit(' ', 1)[0].rstrip(',;:')} …"
