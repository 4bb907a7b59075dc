"""Sizing steps 7 to 10: what one replica carries, how it keeps KV and batches, and the second look."""

from __future__ import annotations

from planner import numbers
from planner.explain.phrases import is_measured, listing, preemptions, speculation
from planner.explain.problem_values import planned_hit, problem_value
from planner.explain.routing import routing_sentence
from planner.explain.sizing.context import Asked, Context, figure, told
from planner.schema.explanation import Figure, Step
from planner.schema.limits_told import ConstraintState
from planner.schema.pool import Pool

OPERATING_POINT = Asked(
    7,
    "Operating point",
    "Raise the load of one replica until a limit breaks: what it carries there is its capacity, not the peak "
    "of its curve. Requests in flight must agree with rate × time (Little's law).",
    "8.3; 9.1, step 7",
)
KV_STRATEGY = Asked(
    8,
    "KV strategy",
    "Paged blocks, a narrower KV format, a prefix cache where prompts share their start, routing that keeps "
    "it warm, then eviction. Offload only for long batch work.",
    "7.2; 7.3; 7.6; 9.1, step 8",
)
BATCHING = Asked(
    9,
    "Batching",
    "Continuous batching always, chunked prefill where prompts stall answers, speculation where few requests "
    "run at once, and disaggregated prefill where one replica cannot keep both limits.",
    "6.7; 9.1, step 9",
)
RE_CHECK = Asked(
    10,
    "Re-check",
    "Look again with everything switched on: every choice moves the curve, and the fleet is sized from the "
    "last one.",
    "9.1, step 10",
)


def operating_point(at: Context) -> Step:
    """Step 7."""
    figures: list[Figure] = []
    verdicts = []
    doubted = False
    for pool in at.plan.pools:
        who = at.of_pool(pool)
        figures += [
            figure("a replica carries", pool.capacity_rps, "req/s", who),
            figure("alone, without the pool", _alone(pool), "req/s", who),
            figure("planned load", pool.load_rps, "req/s", who),
            figure("batch at most", pool.max_batch or None, "sequences", who),
            figure("decoding on average", pool.concurrency, "sequences", who),
        ]
        figures += [
            figure(f"{metric.upper()} P99 there", values.get("p99"), "s", who)
            for metric, values in (("ttft", pool.ttft_s), ("itl", pool.itl_s))
        ]
        stop = f", limited by {pool.limited_by}" if pool.limited_by else ""
        verdicts.append((who, f"One replica carries {numbers.rate(pool.capacity_rps)}{stop}."))
        router = routing_sentence(pool)
        if router is not None:
            verdicts.append((who, router))
        law = _law(pool)
        if law is not None and pool.concurrency:
            doubted |= not 1 / at.rules.law_gap_ratio <= law / pool.concurrency <= at.rules.law_gap_ratio
            decoding = f"{numbers.counted(numbers.significant(law), 'request')} decoding at once"
            planned = numbers.significant(pool.concurrency)
            verdicts.append((who, f"Little's law gives {decoding}, the plan {planned}."))
    return at.step(OPERATING_POINT, figures, told(verdicts), open_=doubted)


def _alone(pool: Pool) -> float | None:
    """Capacity of a replica that is no part of a pool, where that is less."""
    alone = None if pool.routing is None else pool.routing.capacity_rps_alone
    return alone if alone is not None and alone < pool.capacity_rps else None


def _law(pool: Pool) -> float | None:
    """Requests decoding by Little's law: rate × (E2E − TTFT)."""
    whole, first = pool.e2e_s.get("mean"), pool.ttft_s.get("mean")
    return pool.load_rps * (whole - first) if whole is not None and first is not None else None


def kv_strategy(at: Context) -> Step:
    """Step 8."""
    figures: list[Figure] = []
    verdicts = []
    for pool in at.plan.pools:
        who = at.of_pool(pool)
        if is_measured(pool):
            figures.append(figure("KV", pool.kv or None, of=who))
            continue
        figures.append(figure("KV format", pool.kv, of=who))
        if pool.memory_bytes is not None:
            figures.append(figure("KV cache of a GPU", pool.memory_bytes.kv_cache, "B", who))
        if pool.kv_cache is not None:
            cache = pool.kv_cache
            longest = numbers.count(cache.request_tokens, "token")
            figures += [
                figure("KV cache of a rank", cache.tokens, "tokens", who),
                figure(
                    f"maximum concurrency for {longest} per request", f"{cache.max_concurrency:,.2f}x", of=who
                ),
                figure("preemptions of a replica at most", preemptions(cache), of=who),
            ]
        figures.append(figure("in use on average", pool.kv_usage, "fraction", who))
        if pool.role == "prefill":
            continue
        sizing = at.sizing(pool.workload)
        mean = numbers.count(sizing.sequence_tokens, "token") if sizing is not None else ""
        length = f" of {mean} on average" if mean else ""
        kept = numbers.count(pool.max_batch, "running request")
        verdicts.append((who, f"The cache of a replica keeps {kept}{length} in {pool.kv}."))
    prefixes = [pair for name in at.workloads for pair in _prefixes(at, name)]
    open_ = any(by_prefix for _, by_prefix in prefixes)
    return at.step(
        KV_STRATEGY, figures, [*told(verdicts), *told([pair for pair, _ in prefixes])], open_=open_
    )


def _prefixes(at: Context, workload: str) -> list[tuple[tuple[str, str], bool]]:
    """What the planned hits of the prefix cache depend on, and whether that is routing."""
    sizing = at.sizing(workload)
    pools = [pool for pool in at.pools(workload) if pool.role != "decode"]
    replicas = sum(pool.replicas for pool in pools)
    found = sum(pool.replicas * planned_hit(pool, sizing) for pool in pools)
    if not found or replicas < 2:
        return []
    text = f"{numbers.share(found / replicas)} of the prompt tokens come from the prefix cache"
    by_prefix = any(pool.reuse is None or pool.reuse.routing == "cache-aware" for pool in pools)
    if by_prefix:
        text += (
            ": that takes routing by prefix, since "
            f"round robin over {numbers.count(replicas, 'replica')} finds a prefix on one of {replicas:,}."
        )
    else:
        text += ", whichever replica a request reaches."
    return [((at.of_workload(workload), text), by_prefix)]


def batching(at: Context) -> Step:
    """Step 9."""
    figures: list[Figure] = []
    verdicts = []
    for pool in at.plan.pools:
        who = at.of_pool(pool)
        figures += [
            figure("mode", pool.mode, of=who),
            figure("tokens in one step", pool.batched_tokens or None, "tokens", who),
            figure("batch at most", pool.max_batch or None, "sequences", who),
            figure("speculation", speculation(pool) or None, of=who),
        ]
        verdicts.append((who, _batched(pool)))
    for kind, ratio in (at.plan.pd_ratio or {}).items():
        figures.append(figure(f"prefill to decode in {'GPUs' if kind == 'gpus' else kind}", ratio))
    searched = problem_value(at.plan, "search", "modes")
    searched = [str(mode) for mode in searched] if isinstance(searched, list | tuple) else []
    figures.append(figure("ways searched", listing(searched) or None))
    sentences = told(verdicts)
    unsearched = bool(searched) and "disaggregated" not in searched
    if unsearched:
        sentences.append("Disaggregated prefill was not searched (search.modes).")
    return at.step(BATCHING, figures, sentences, open_=unsearched)


def _batched(pool: Pool) -> str:
    if pool.mode == "disaggregated":
        return "Prompts and answers run on replicas of their own: neither stalls the other."
    if pool.batched_tokens:
        chunk = numbers.count(pool.batched_tokens, "token")
        return f"Prompts and answers share a replica; prompts come in chunks of {chunk}."
    return "Prompts and answers share a replica."


def re_check(at: Context) -> Step:
    """Step 10."""
    states = [state for state in at.plan.constraints if state.limit is not None and state.value is not None]
    figures = [figure(state.id, _against(state)) for state in states]
    evidence = dict.fromkeys(pool.evidence for pool in at.plan.pools)
    figures.append(figure("evidence", listing([*evidence]) or None))
    left = [(state.slack / state.limit, state) for state in states if state.slack is not None and state.limit]
    verdict = []
    if left:
        room, nearest = min(left, key=lambda item: (item[0], item[1].id))
        kept = "Every limit is kept" if room >= 0 else "A limit is broken"
        verdict.append(
            f"{kept} with all of the above; the nearest, {nearest.id}, has {numbers.share(room)} left."
        )
    predicted = any(pool.evidence != "measured" for pool in at.plan.pools)
    if predicted:
        verdict.append(
            "The numbers are predictions: measure one replica before buying, and give the result to "
            "`planner calibrate`."
        )
    return at.step(RE_CHECK, figures, verdict, open_=predicted)


def _against(state: ConstraintState) -> str:
    value, limit = numbers.quantity(state.value, state.unit), numbers.quantity(state.limit, state.unit)
    return f"{value} of {limit}"
