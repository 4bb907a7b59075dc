"""Batch work beside the requests of a replay: how much of it there is, and what was done."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace
from math import inf

from planner.replay.backfill import Fill
from planner.replay.observed import Observed
from planner.replay.requests import Requests
from planner.replay.run_plan import ServicePlan
from planner.schema.replay import BatchReplayed

_WAITING = 1.25
"""Batch work at hand over what all slots of a pool hold, so that some always waits."""


def filled(
    requests: Requests, plan: ServicePlan, tokens: tuple[int, int] | None
) -> tuple[Requests, ServicePlan]:
    """Requests with batch work behind them, and the serving pools that it fills."""
    if tokens is None:
        return requests, plan
    first, pools = len(requests), []
    for pool in plan.serve:
        replicas = max([pool.replicas, *(turn.replicas for turn in pool.turns)])
        count = int(_WAITING * pool.worker.running * replicas) + 1
        pools.append(replace(pool, fill=Fill(first, count)))
        first += count
    more = first - len(requests)
    prompts = array("i", [tokens[0]]) * more
    longer = Requests(
        arrival_s=array("d", requests.arrival_s) + array("d", [inf]) * more,
        prompt=array("i", requests.prompt) + prompts,
        answer=array("i", requests.answer) + array("i", [tokens[1]]) * more,
        computed=array("i", requests.computed) + prompts,
        wait_s=requests.wait_s,
        blocks=None if requests.blocks is None else (*requests.blocks, *(((),) * more)),
        block_tokens=requests.block_tokens,
        priority=None if requests.priority is None else [*requests.priority, *([0] * more)],
    )
    return longer, replace(plan, serve=tuple(pools))


def batch_replayed(
    tokens: tuple[int, int] | None, runs: Sequence[Observed], pool: str
) -> BatchReplayed | None:
    """What a pool did of it, the mean over the runs."""
    if tokens is None:
        return None
    done = sum(run.pools[pool].batch_done / run.period_s for run in runs) / len(runs)
    return BatchReplayed(
        requests_per_s=done,
        output_tokens_per_s=done * tokens[1],
        gave_way=sum(run.pools[pool].batch_gave_way for run in runs),
    )
