"""The pools of a plan: what each one is, how its memory is used, how fast it answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.hours import has_hours, replicas_by_hour
from planner.explain.phrases import listing, offer, pool_layout, preemptions
from planner.explain.routing import routing_sentence
from planner.report.fleet_routing_text import fleet_routing_section
from planner.report.memory_bar import MemoryBar
from planner.report.parts import section, table
from planner.schema.plan import Plan
from planner.schema.pool import Pool, Statistic
from planner.schema.speculation import DraftsTaken

STATISTICS = ("mean", "p50", "p90", "p95", "p99", "p99.9")
METRICS = (("TTFT", "ttft_s"), ("ITL", "itl_s"), ("TPOT", "tpot_s"), ("E2E", "e2e_s"))
"""What is rarer is told as this."""


def pools_section(plan: Plan) -> RenderableType | None:
    """One row of cells per pool, two lines each, so that it fits 80 columns; nothing without pools."""
    if not plan.pools:
        return None
    rows = []
    for pool in plan.pools:
        gpus = "1 slice" if pool.slice else numbers.count(pool.gpus_per_replica, "GPU")
        load = f"{numbers.significant(pool.load_rps)} of {numbers.rate(pool.capacity_rps)}"
        rows.append(
            (
                f"{pool.id}\n{pool.engine}, {pool.mode}",
                f"{_replicas(plan, pool)} × {gpus}\n{pool.gpu}\n{_bought_as(plan, pool)}".rstrip(),
                _choices(pool),
                f"{load}\n{numbers.share(pool.utilization)} used\n{_money(plan, pool)}",
            )
        )
    grid = table(("pool", "replicas", "layout", "load of one replica"), rows)
    notes = [Text(line, "dim") for line in _router_lines(plan)]
    if has_hours(plan):
        notes.append(Text("Loads are those of the hour in which a pool has the most replicas.", "dim"))
    return section("Pools", grid, *notes)


def _router_lines(plan: Plan) -> Iterable[str]:
    """What the routers are worth, the same said once."""
    several = len(plan.pools) > 1
    for pool in plan.pools:
        sentence = routing_sentence(pool)
        if sentence is not None:
            yield f"{pool.id}: {sentence[0].lower()}{sentence[1:]}" if several else sentence


def _replicas(plan: Plan, pool: Pool) -> str:
    """``8 replicas``; of a fleet over hours ``2–8 replicas``."""
    counts = replicas_by_hour(plan, pool) if has_hours(plan) else (pool.replicas,)
    least, most = min(counts), max(counts)
    words = numbers.count(most, "replica")
    return words if least == most else f"{least:,}–{words}"


def _bought_as(plan: Plan, pool: Pool) -> str:
    """Site or instance; nothing more where the purchases above say it."""
    if pool.site is not None:
        return pool.site
    return "" if has_hours(plan) and pool.offer is None else offer(pool)


def _money(plan: Plan, pool: Pool) -> str:
    mean = " on average" if has_hours(plan) else ""
    return f"{numbers.usd(pool.usd_per_hour)}/h{mean}"


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
    return f"drafts {name} {taken.tokens}: {numbers.counted(f'{taken.tokens_per_step:.3g}', 'token')} a step"


def memory_section(plan: Plan) -> RenderableType | None:
    """A bar per pool, or per equal pools; nothing where rates were measured and no memory is known."""
    known = [pool for pool in plan.pools if pool.memory_bytes is not None]
    if not known:
        return None
    parts: list[RenderableType] = []
    for alike in _alike(plan, known, "gpu", "memory_bytes", "memory_flag", "kv_cache"):
        memory = alike[0].memory_bytes
        assert memory is not None
        if len(known) > 1:
            parts.append(Text(f"{listing([pool.id for pool in alike])} on {alike[0].gpu}"))
        parts.append(MemoryBar(memory))
        parts += [Text(line, "dim") for line in _cache_lines(alike[0])]
    return section("Memory of one GPU", *parts)


def _cache_lines(pool: Pool) -> Iterator[str]:
    """What the engine will print at its start, and what it must be told."""
    if pool.memory_flag is not None:
        yield f"{pool.memory_flag}"
    if pool.kv_cache is not None:
        cache, rank = pool.kv_cache, " of a rank" if pool.attention_dp > 1 else ""
        yield f"KV cache{rank}: {numbers.count(cache.tokens, 'token')}"
        longest = numbers.count(cache.request_tokens, "token")
        yield f"Maximum concurrency for {longest} per request: {cache.max_concurrency:,.2f}x"
        if cache.block_tokens > 1:
            waste = numbers.share(cache.block_waste)
            yield f"blocks of {cache.block_tokens} tokens: {waste} of those in use are not filled"
        if cache.preemptions_per_s:
            yield f"preemptions of a replica: at most {preemptions(cache)}"


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
    for alike in _alike(plan, plan.pools, *(field for _, field in METRICS), "bound"):
        pool = alike[0]
        upper = " (upper bound)" if pool.e2e_is_upper_bound else ""
        rows = [(name + (upper if name == "E2E" else ""), getattr(pool, field)) for name, field in METRICS]
        if not any(values for _, values in rows):
            continue
        if len(plan.pools) > 1:
            parts.append(Text(listing([pool.id for pool in alike])))
        parts.append(latency_table(rows))
        if pool.bound:
            parts.append(Text(bound_sentence(pool.bound), style="dim"))
    return section("Latency at the planned load", *parts) if parts else None


def _alike(plan: Plan, pools: Sequence[Pool], *fields: str) -> list[list[Pool]]:
    """Pools of a fleet with the same values together, such as those of one option at several sites."""
    groups: list[list[Pool]] = []
    for pool in pools:
        mine = [getattr(pool, field) for field in fields]
        twin = [group for group in groups if plan.periods and mine == [getattr(group[0], f) for f in fields]]
        if twin:
            twin[0].append(pool)
        else:
            groups.append([pool])
    return groups


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
        fleet_routing_section(plan) if plan.periods else routing_section(plan),
        memory_section(plan),
        predicted_section(plan),
    )
    return Group(*(part for part in sections if part is not None))
