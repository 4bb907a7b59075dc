"""What runs: pools, every GPU type that was looked at, and the memory of one GPU."""

from __future__ import annotations

from planner.explain.hours import has_hours, replicas_by_hour
from planner.explain.phrases import is_measured, offer, pool_layout
from planner.numbers import share, size, usd
from planner.report.cells import number, table
from planner.report.gpu_types_text import LEFT_OUT
from planner.report.sections.build import section
from planner.schema.compared import GpuType
from planner.schema.plan import Plan
from planner.schema.pool import Pool
from planner.schema.report import Bar, BarChart, Cell, Part, Section, StackChart, Table

_MOST_TYPES = 10
"""Bars that fit a chart; the table has every type."""
_MOST_POOLS = 12
_BOUNDS = {"exact": "", "upper": "at most ", "lower": "at least "}
_STATUS = ("chosen", "dearer")
_MEMORY = ("weights", "kv_cache", "activations", "framework", "adapters", "free")
_MEMORY_WORDS = {"kv_cache": "KV cache", "free": "kept free"}


def pools(plan: Plan) -> Section | None:
    """Every pool: where it runs, in which layout, under which load and for how much."""
    rows = [_pool(plan, pool) for pool in plan.pools]
    headings = (
        "pool", "replicas", "GPU", "GPUs of a replica", "layout", "engine", "weights", "KV", "batch",
        "load of a replica", "capacity of a replica", "utilization", "cost", "where",
    )  # fmt: skip
    note = (
        "Load and replicas are those of the hour in which the pool has the most." if has_hours(plan) else ""
    )
    return section("pools", "What runs", table("pools", "Pools", headings, rows, note), _routing(plan))


def _pool(plan: Plan, pool: Pool) -> tuple[Cell, ...]:
    measured = is_measured(pool)
    least = min(replicas_by_hour(plan, pool))
    return (
        pool.id,
        number(pool.replicas, "", "" if least == pool.replicas else f"{least:,} to "),
        pool.gpu,
        number(pool.gpus_per_replica),
        pool.option if measured else pool_layout(pool),
        pool.engine,
        None if measured else pool.weights,
        pool.kv or None,
        None if measured else number(pool.max_batch),
        number(pool.load_rps, "req/s"),
        number(pool.capacity_rps, "req/s"),
        number(pool.utilization, "share"),
        number(pool.usd_per_hour, "USD/h"),
        offer(pool),
    )


def _routing(plan: Plan) -> Table | None:
    """Shares, where requests have more than one way to go."""
    if all(route.share in (0.0, 1.0) for route in plan.routing):
        return None
    rows = [(r.workload, r.bucket, r.pool, number(r.share, "share")) for r in plan.routing if r.share > 0]
    return table("routing", "Where requests go", ("workload", "bucket", "pool", "share"), rows)


def gpu_types(plan: Plan) -> Section | None:
    """Every accelerator of the catalog once: its best fleet, or what keeps it out."""
    rows = [_type(row) for row in plan.gpu_types if row.status in _STATUS]
    headings = ("GPU type", "answer", "GPUs", "replicas", "cost", "limited by", "layout", "where")
    stuck = [row for row in plan.gpu_types if row.status == "infeasible"] if plan.gpu_types else plan.why_not
    return section(
        "gpu-types",
        "GPU types",
        types_chart(plan),
        table("gpu-types", "The best fleet of each GPU type", headings, rows),
        table(
            "why-not",
            "GPU types that cannot keep the limits",
            ("GPU type", "limited by", "the nearest configuration"),
            [(item.gpu, item.stopped_by, item.why) for item in stuck],
        ),
        table(
            "left-out",
            "GPU types that are left out",
            ("GPU type", "answer", "why"),
            [(row.gpu, row.status, row.why) for row in plan.gpu_types if row.status in LEFT_OUT],
        ),
    )


def _type(row: GpuType) -> tuple[Cell, ...]:
    return (
        row.gpu,
        row.status,
        number(row.gpus, "GPUs"),
        number(row.replicas),
        number(row.cost_usd_per_hour, "USD/h", _BOUNDS[row.bound or "exact"]),
        row.stopped_by,
        row.layout,
        " ".join(part for part in (row.provider, row.place) if part),
    )


def types_chart(plan: Plan) -> BarChart | None:
    """What the best fleet of each type costs, the cheapest ones."""
    priced = [row for row in plan.gpu_types if row.cost_usd_per_hour is not None]
    if len(priced) < 2:
        return None
    priced.sort(key=lambda row: (row.status != "chosen", row.cost_usd_per_hour or 0.0, row.gpu))
    bars = tuple(
        Bar(
            row.gpu,
            row.cost_usd_per_hour or 0.0,
            f"{_BOUNDS[row.bound or 'exact']}{usd(row.cost_usd_per_hour or 0.0)}/h"
            + (" (chosen)" if row.status == "chosen" else ""),
            strong=row.status == "chosen",
        )
        for row in priced[:_MOST_TYPES]
    )
    told = ", ".join(f"{bar.name} {bar.label}" for bar in bars)
    more = len(priced) - len(bars)
    title = "What the best fleet of each GPU type costs" + (
        f" (the cheapest {len(bars)})" if more > 0 else ""
    )
    return BarChart("gpu-types", title, f"{told}.", "USD an hour", bars)


def memory(plan: Plan) -> Section | None:
    """What fills the memory of one GPU of every pool; None where rates were measured."""
    known = [pool for pool in plan.pools if pool.memory_bytes is not None]
    rows = [_memory_row(pool) for pool in known]
    headings = ("pool", "GPU", *(_MEMORY_WORDS.get(name, name) for name in _MEMORY), "capacity",
                "tokens that the KV cache holds", "argument")  # fmt: skip
    return section(
        "memory",
        "Memory of one GPU",
        memory_chart(known[:_MOST_POOLS]),
        table("memory", "Memory of one GPU", headings, rows),
    )


def _memory_row(pool: Pool) -> tuple[Cell, ...]:
    taken = pool.memory_bytes
    assert taken is not None
    return (
        pool.id,
        pool.gpu,
        *(number(getattr(taken, name) or None, "B") for name in _MEMORY),
        number(taken.capacity, "B"),
        None if pool.kv_cache is None else number(pool.kv_cache.tokens, "tokens"),
        pool.memory_flag,
    )


def memory_chart(known: list[Pool]) -> StackChart | None:
    """A bar a pool, its parts in the order in which memory is taken."""
    parts, told = [], []
    for pool in known:
        taken = pool.memory_bytes
        assert taken is not None
        values = {_MEMORY_WORDS.get(name, name): getattr(taken, name) for name in _MEMORY}
        parts += [Part(pool.id, name, value) for name, value in values.items() if value]
        shares = [f"{name} {share(value / taken.capacity)}" for name, value in values.items() if value]
        told.append(f"{pool.id} on {pool.gpu} ({size(taken.capacity)}): {', '.join(shares)}")
    if not parts:
        return None
    return StackChart("memory", "What fills the memory of one GPU", f"{'; '.join(told)}.", "B", tuple(parts))
