"""Prefill and decode workers in use at given loads: what requests experience from pair to pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.performance.at_load import EVERY_LATENCY, at_load
from planner.performance.kv_transfer import KvTransfer
from planner.performance.load import FloatArray, IntArray, Load
from planner.performance.pair import Pair
from planner.performance.pool_sizes import routed
from planner.performance.prefill_worker import prompt_atoms, prompt_tokens
from planner.performance.prompt_queue import Room, tail_of
from planner.schema.routing import Routing
from planner.schema.slo import SHOWN_STATISTICS


@dataclass(frozen=True)
class Worker:
    """A candidate of one side at a load."""

    row: int
    rate_rps: float
    max_batch: int


@dataclass(frozen=True, eq=False)
class DisaggregatedLoad:
    """Latencies by name of `Slo`; seconds. Those of a pair are with the slowest worker of the other side."""

    ttft_s: tuple[dict[str, float], ...]
    """Of each prefill worker, by statistic."""
    local_ttft_s: tuple[dict[str, float], ...]
    """Of each decode worker, for the prompts that it computes; empty where there are none."""
    kv_transfer_s: dict[str, float]
    """From the end of prefill to the first token of the decode side, by statistic; the slowest pair."""
    link_load: float
    """Share that KV transfers take of the busiest link."""
    answers: Load
    """Of the decode workers, one row each; ``ttft`` is the start, ``e2e`` the answer alone."""

    def first_token_s(self, place: int, statistic: str) -> float:
        """TTFT of a decode worker: with the slowest prefill worker, or of the prompts that it computes."""
        own = self.local_ttft_s[place].get(statistic, 0.0)
        return max(own, *(one[statistic] for one in self.ttft_s))

    def end_to_end_s(self, place: int, statistic: str) -> float:
        """E2E of a decode worker: for percentiles an upper bound, the sum of both parts."""
        return self.first_token_s(place, statistic) + float(self.answers.latency_s[f"e2e_{statistic}"][place])


def disaggregated_load(
    pair: Pair, prefill: Sequence[Worker], decode: Sequence[Worker], replicas: tuple[int, int] = (1, 1)
) -> DisaggregatedLoad:
    """The state of the workers in use; ``replicas`` of prefill and decode among which routers choose."""
    given = pair.given
    prompts = pair.prompts.in_pool(Routing(given.prefill_routing, replicas[0]))
    decoded = routed(pair.decoded, given.routing, replicas[1])
    sent_rows, sent_rps = _columns(prefill)
    rows, rates = _columns(decode)
    sent_rps = pair.sent_fraction * sent_rps
    batch = np.array([float(one.max_batch) for one in decode])
    at_decode = pair.given.first_token_from == "decode"
    sender_s = _slowest_s(pair, pair.prompts.kv_transfer, sent_rows, sent_rps)
    model, policy = pair.workers(None if at_decode else sender_s["p99"]), pair.given.load
    answers = at_load(pair.answers, rows, rates, batch, decoded, policy, EVERY_LATENCY, model.measure)
    start_s = {name: float(answers.latency_s[f"ttft_{name}"].max()) for name in SHOWN_STATISTICS}
    received_rps = pair.sent_fraction * rates
    received_s = _slowest_s(pair, pair.receiver, rows, received_rps)
    room = Room(_at_atoms(pair, rows, received_rps), start_s) if at_decode else None
    workers = prompts.taken(sent_rows)
    queue = workers.queue(sent_rps)
    columns = {name: workers.first_token_s(sent_rps, queue, name, room) for name in SHOWN_STATISTICS}
    local: dict[str, FloatArray] = {}
    if pair.local is not None:
        local = model.local_s(pair.answers, rows, answers, pair.decoded, policy, SHOWN_STATISTICS)
    return DisaggregatedLoad(
        ttft_s=_by_worker(columns, len(prefill)),
        local_ttft_s=_by_worker(local, len(decode)),
        kv_transfer_s={
            name: max(sender_s[name], received_s[name]) + start_s[name] for name in SHOWN_STATISTICS
        },
        link_load=float(
            max(
                pair.prompts.kv_transfer.load_ratio(sent_rows, sent_rps).max(),
                pair.receiver.load_ratio(rows, received_rps).max(),
            )
        ),
        answers=answers,
    )


def _by_worker(columns: dict[str, FloatArray], count: int) -> tuple[dict[str, float], ...]:
    return tuple({name: float(column[place]) for name, column in columns.items()} for place in range(count))


def _columns(workers: Sequence[Worker]) -> tuple[IntArray, FloatArray]:
    rows = np.array([one.row for one in workers], dtype=np.int64)
    return rows, np.array([one.rate_rps for one in workers])


def _slowest_s(pair: Pair, side: KvTransfer, rows: IntArray, rate_rps: FloatArray) -> dict[str, float]:
    """The slowest KV transfer of workers in use on their own links, by statistic."""
    tokens = {name: prompt_tokens(pair.sent, name) for name in SHOWN_STATISTICS}
    return {name: float(side.time_s(rows, one, rate_rps).max()) for name, one in tokens.items()}


def _at_atoms(pair: Pair, rows: IntArray, rate_rps: FloatArray) -> dict[float, FloatArray]:
    """The slowest KV transfer on the links of the decode side at the prompts of each tail."""
    return {
        tail: np.array(
            [
                pair.receiver.time_s(rows, tokens, rate_rps).max()
                for tokens in prompt_atoms(pair.sent, tail)[1]
            ]
        )
        for tail in {tail_of(name) for name in SHOWN_STATISTICS}
    }
