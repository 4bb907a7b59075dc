"""The pools of a plan: what each one is, how its memory is used, how fast it answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.phrases import offer, pool_layout
from planner.report.memory_bar import MemoryBar
from planner.report.parts import section, table
from planner.schema.plan import Plan, Pool, Statistic
from planner.schema.speculation import DraftsTaken

STATISTICS = ("mean", "p50", "p90", "p95", "p99", "p99.9")
METRICS = (("TTFT", "ttft_s"), ("ITL", "itl_s"), ("TPOT", "tpot_s"), ("E2E", "e2e_s"))


def pools_section(plan: Plan) -> RenderableType:
    """One row of cells per pool, two lines each, so that it fits 80 columns."""
    rows = []
    for pool in plan.pools:
        gpus = numbers.count(pool.gpus_per_replica, "GPU")
        load = f"{numbers.significant(pool.load_rps)} of {numbers.rate(pool.capacity_rps)}"
        rows.append(
            (
                f"{pool.id}\n{pool.engine}, {pool.mode}",
                f"{numbers.count(pool.replicas, 'replica')} × {gpus}\n{pool.gpu}\n{offer(pool)}",
                _choices(pool),
                f"{load}\n{numbers.share(pool.utilization)} used\n{numbers.usd(pool.usd_per_hour)}/h",
            )
        )
    return section("Pools", table(("pool", "replicas", "layout", "load of one replica"), rows))


def _choices(pool: Pool) -> str:
    """Layout, formats and operating point; of a measured worker only what its table says."""
    if pool.evidence == "measured":
        return "\n".join([pool.option, *([f"KV {pool.kv}"] if pool.kv else [])])
    lines = [
        pool_layout(pool),
        f"weights {pool.weights}",
        f"KV {pool.kv}",
        f"batch {pool.max_batch:,}, chunk {pool.batched_tokens:,}",
    ]
    if pool.speculation is not None:
        lines.append(_drafts(pool.speculation))
    return "\n".join(lines)


def _drafts(taken: DraftsTaken) -> str:
    """Who drafts, how many a step, and what comes out."""
    name = {"ngram": "n-gram", "eagle": "EAGLE"}.get(taken.kind, taken.draft or taken.kind)
    return f"drafts {name} {taken.tokens}: {taken.tokens_per_step:.3g} tokens a step"


def memory_section(pools: Iterable[Pool]) -> RenderableType | None:
    """A bar per pool; nothing where rates were measured and no memory is known."""
    known = [pool for pool in pools if pool.memory_bytes is not None]
    if not known:
        return None
    parts: list[RenderableType] = []
    for pool in known:
        assert pool.memory_bytes is not None
        if len(known) > 1:
            parts.append(Text(f"{pool.id} on {pool.gpu}"))
        parts.append(MemoryBar(pool.memory_bytes))
    return section("Memory of one GPU", *parts)


def latency_table(rows: Iterable[tuple[str, Statistic]]) -> RenderableType:
    """Named latencies by statistic; a column appears when some row has it."""
    rows = [(name, values) for name, values in rows if values]
    shown = [name for name in STATISTICS if any(name in values for _, values in rows)]
    cells = [
        (label, *(numbers.seconds(values[name]) if name in values else "" for name in shown))
        for label, values in rows
    ]
    return table(("", *shown), cells, right=range(1, len(shown) + 1))


def predicted_section(plan: Plan) -> RenderableType | None:
    """Predicted latencies of each pool at the planned load, and what bounds its phases."""
    parts: list[RenderableType] = []
    for pool in plan.pools:
        upper = " (upper bound)" if pool.e2e_is_upper_bound else ""
        rows = [(name + (upper if name == "E2E" else ""), getattr(pool, field)) for name, field in METRICS]
        if not any(values for _, values in rows):
            continue
        if len(plan.pools) > 1:
            parts.append(Text(pool.id))
        parts.append(latency_table(rows))
        if pool.bound:
            parts.append(Text(bound_sentence(pool.bound), style="dim"))
    return section("Latency at the planned load", *parts) if parts else None


def bound_sentence(bound: Mapping[str, str]) -> str:
    """What each phase waits for: ``Prefill is bound by compute, …``."""
    words = {"overhead": "the engine's own overhead", "memory-bandwidth": "memory bandwidth"}
    phrases = [f"{phase} is bound by {words.get(what, what)}" for phase, what in bound.items()]
    return ", ".join(phrases).capitalize() + "."


def routing_section(plan: Plan) -> RenderableType | None:
    """Shares, where a workload's requests have more than one way to go."""
    ways = [(route.workload, route.bucket) for route in plan.routing]
    if len(ways) == len({route.workload for route in plan.routing}):
        return None
    rows = [(r.workload, r.bucket, r.pool, numbers.share(r.share)) for r in plan.routing if r.share > 0]
    return section("Routing", table(("workload", "bucket", "pool", "share"), rows, right=[3]))


def pools_group(plan: Plan) -> Group:
    """Everything about the pools."""
    sections = (
        pools_section(plan),
        routing_section(plan),
        memory_section(plan.pools),
        predicted_section(plan),
    )
    return Group(*(part for part in sections if part is not None))
