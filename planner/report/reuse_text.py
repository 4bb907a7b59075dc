"""KV that is used again: what sessions bring, what each pool finds, and what that takes."""

from __future__ import annotations

from rich.console import RenderableType

from planner import numbers
from planner.report.parts import bullets, section
from planner.schema.plan import Plan
from planner.schema.reuse_state import PoolReuse, SessionsTaken

_TIERS = {"host": "host memory", "nvme": "drives"}


def reuse_section(plan: Plan) -> RenderableType | None:
    """One sentence or two for sessions and for each pool; nothing where the problem asks for neither."""
    lines = [_sessions(taken) for taken in plan.sessions]
    for pool in plan.pools:
        if pool.reuse is not None:
            matched = _matched(pool.reuse, pool.workload in {taken.workload for taken in plan.sessions})
            lines.append(f"{pool.id}: {' '.join([*_pool(pool.reuse), *matched])}")
    return section("KV used again", bullets(lines)) if lines else None


def _sessions(taken: SessionsTaken) -> str:
    prompt, each = taken.input_tokens, numbers.count(taken.resting_tokens, "token")
    alike = f", {taken.shared_tokens:,.0f} of them the same in all" if taken.shared_tokens else ""
    return (
        f"{taken.workload}: {numbers.rate(taken.requests_rps)} from sessions of "
        f"{numbers.counted(numbers.significant(taken.turns_mean), 'turn')}. "
        f"Prompts have {numbers.count(prompt['mean'], 'token')} "
        f"(P95 {prompt['p95']:,.0f}), {taken.new_tokens_mean:,.0f} of them new. "
        f"{numbers.count(round(taken.resting), 'session')} rest between turns with "
        f"{each} each{alike}: {numbers.size(taken.resting_bytes)} of KV."
    )


def _matched(reuse: PoolReuse, sessions: bool) -> list[str]:
    """How prefixes are known again, and what whole blocks lose."""
    if reuse.hit <= 0.0 or reuse.matching is None:
        return []
    if reuse.match_tokens == 1:
        return ["Prefixes are found to the token (radix tree)."]
    lost = f"{numbers.significant((reuse.match_tokens - 1) / 2)} of each"
    stated = f"{numbers.count(reuse.prefix_tokens, 'token')}, {reuse.prefix_found_tokens:,.0f} are found"
    text = f"{lost} are computed again"
    if reuse.prefix_tokens:
        text = f"of {stated}"
    if reuse.prefix_tokens and sessions:
        text = f"of the shared {stated}, and {lost} that ends elsewhere are computed again"
    how = {"hash": "hash", "radix": "radix tree"}[reuse.matching]
    return [f"Prefixes are found in whole blocks of {reuse.match_tokens} tokens ({how}): {text}."]


def _pool(reuse: PoolReuse) -> list[str]:
    if reuse.hit <= 0.0 and not reuse.sets_aside:
        return ["nothing is kept: it would take more room than it saves time."]
    parts = []
    if reuse.hit > 0.0:
        parts.append(f"{numbers.share(reuse.hit)} of prompt tokens are found at full load;")
        if reuse.cache_share > 0.0:
            room = f"{numbers.share(reuse.cache_share)} more blocks, {numbers.size(reuse.cache_bytes)} a GPU"
            parts.append(f"{numbers.share(reuse.held)} of requests find their own in the cache ({room}).")
        if reuse.held_once_bytes > 0.0:
            parts.append(
                f"{reuse.held_once_tokens:,.0f} tokens ({numbers.size(reuse.held_once_bytes)} a GPU) are "
                f"held once; a request reads {reuse.read_there_tokens:,.0f} there and holds the rest itself."
            )
        parts.append(_needs(reuse))
    if reuse.fetched > 0.0 and reuse.tier and reuse.fetch_s is not None and reuse.compute_s is not None:
        again = numbers.seconds(reuse.compute_s)
        parts.append(
            f"{numbers.share(reuse.fetched)} fetch it from {_TIERS[reuse.tier]} in "
            f"{numbers.seconds(reuse.fetch_s)}; to compute it again would take {again}."
        )
    if reuse.sets_aside and reuse.tier:
        parts.append(
            f"KV is sized for what requests need on average; what does not fit waits in {_TIERS[reuse.tier]}."
        )
    return parts


def _needs(reuse: PoolReuse) -> str:
    """Routing and numbers of replicas that the hits count on."""
    way = "Requests with one prefix must reach one replica" if reuse.routing == "cache-aware" else ""
    number = ""
    if reuse.replicas_to is not None and reuse.replicas_from == reuse.replicas_to:
        number = f"exactly {numbers.count(reuse.replicas_to, 'replica')}"
    elif reuse.replicas_to is not None:
        number = f"{reuse.replicas_from} to {reuse.replicas_to} replicas"
    elif reuse.replicas_from > 1:
        number = f"{reuse.replicas_from} replicas or more"
    if way and number:
        return f"{way}, and the workload must have {number}."
    if way:
        return f"{way}."
    return f"Requests may reach any replica{f'; the workload must have {number}' if number else ''}."
