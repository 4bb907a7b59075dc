"""Prefill and decode candidates of one workload as two sides of a KV transfer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from planner.performance.capacity import capacities
from planner.performance.contenders import Rooms
from planner.performance.decode_worker import DecodeWorkers, answer_traffic, parted
from planner.performance.division import (
    ANSWER_PERCENT,
    KV_TRANSFER_PERCENT,
    SENDER_BOUNDS_MS,
    SLOW_LINK_BYTES_PER_S,
    SLOW_LINK_PERCENT,
    START_PERCENT,
    Division,
    first_limits_s,
    useful,
)
from planner.performance.evaluate import batch_ceiling, memory_need
from planner.performance.kv_transfer import KvTransfer
from planner.performance.load import FloatArray, IntArray, LoadPolicy, Replicas
from planner.performance.memory_fit import Fill, MemoryFit, memory_fit
from planner.performance.pool_sizes import FEW_SIZES, SIZES, Capacity, Carried, pool_sizes, size_by_size
from planner.performance.prefill_capacity import prefill_capacities
from planner.performance.prefill_worker import PrefillWorkers, prompt_atoms, prompt_tokens
from planner.performance.prompt_queue import Room, tail_of
from planner.performance.replica import replicas
from planner.performance.running import prompts_alone
from planner.schema.candidates import BoolArray, Candidates, Capacities
from planner.schema.evaluation import Evaluation, PoolSizes
from planner.schema.facts import ModelFacts
from planner.schema.policy import Policy
from planner.schema.routing import Routing, RoutingPolicy
from planner.schema.search import Search
from planner.schema.traffic import Traffic
from planner.schema.workload import Workload
from planner.steptime.specs import StepSpecs

Side = Literal["prefill", "decode"]
_LONG_PROMPT = "p99"
"""Of prompts, what `SENDER_BOUNDS_S` hold for."""
_MOST_LINK_LOAD = 0.9
"""At most this load of the links counts when the range of KV transfers is looked for."""


@dataclass(frozen=True, eq=False)
class RoleCandidates:
    """The candidates of one side, with their columns and what the planning rules say of them."""

    candidates: Candidates
    specs: StepSpecs
    refusals: Mapping[str, BoolArray]
    penalties: IntArray


@dataclass(frozen=True, eq=False)
class Conditions:
    """What both sides share."""

    workload: Workload
    model: ModelFacts
    traffic: Traffic
    policy: Policy
    load: LoadPolicy
    limits_s: Mapping[str, float]
    headroom_fraction: float
    search: Search
    network_bytes_per_s: float
    """Of one GPU between servers, one way."""
    network_latency_s: float
    first_token_from: Side
    routing: RoutingPolicy = "random"
    """In front of decode workers."""
    prefill_routing: RoutingPolicy = "random"
    need_rps: float = math.inf
    """What a pool must carry at the busiest hour."""


@dataclass(frozen=True, eq=False)
class SideEvaluation:
    """Candidates of one side at one division of the limits."""

    side: Side
    division: Division
    evaluation: Evaluation
    specs: StepSpecs

    def share_of(self, metric: str) -> float:
        """What this side may take of a limit on a metric; 1 where it is not divided.

        First tokens of the prefill side count with what the decode side may add.
        """
        percent = 100
        if metric == "ttft" and self.side == "decode":
            percent = self.division.start
        elif metric == "e2e":
            percent = self.division.answer
        return percent / 100.0 if percent else 1.0


class _Decoding(NamedTuple):
    """Decode workers at one division of the limits."""

    limits_s: Mapping[str, float]
    capacity: Callable[[Traffic, IntArray], Capacities]
    alone: Capacities


class Pair:
    """The two sides and the ways to divide limits between them.

    Rates of both sides are those of the workload, whatever part of its prompts the prefill side computes.
    """

    def __init__(
        self,
        given: Conditions,
        prefill: RoleCandidates,
        decode: RoleCandidates,
        local_tokens: int = 0,
        alike: Pair | None = None,
    ) -> None:
        """``local_tokens``: see `Division`; ``alike``: of the same sides, with other prompts at decode."""
        self.given, self.prefill, self.decode, self.local_tokens = given, prefill, decode, local_tokens
        self.sent, self.local, self.sent_fraction = parted(given.traffic, local_tokens)
        self.held = replace(
            self.sent,
            kv_tokens=math.ceil(given.traffic.input_p99_tokens),
            running=prompts_alone(self.sent),
        )
        overflow = given.policy.kv_overflow_fraction
        self.prefill_fit = self._fit(prefill, self.held, Fill(overflow))
        self.decode_fit = self._fit(decode, given.traffic, Fill.of(given.policy, given.load))
        self.receiver = self._kv_transfer(decode)
        prompts = self._replicas(prefill) if alike is None else alike.prompts.replicas
        self.prompts: PrefillWorkers = PrefillWorkers(
            prompts, self.sent, given.load, self._kv_transfer(prefill)
        )
        self.answers: Replicas = self._replicas(decode) if alike is None else alike.answers
        self.decoded = answer_traffic(given.traffic, local_tokens)
        self._alone: dict[Division, _Decoding] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Without what is known already: it can be found again, and other processes take no functions."""
        return {**self.__dict__, "_alone": {}}

    def divisions(self) -> Iterator[Division]:
        """Those that may be of use: some worker can keep its share, and no smaller one is enough for all."""
        for answer in self._answers():
            if self.given.first_token_from == "prefill":
                for bound_ms in self._sender_bounds_ms():
                    yield Division(answer=answer, sender_ms=bound_ms)
            elif not first_limits_s(self.given.limits_s, answer):
                yield Division(answer=answer, local_tokens=self.local_tokens)
            else:
                places = self._starts(answer)
                # Beside a way for short prompts one room, large enough for all, will do.
                for place in places[-1:] if self.local_tokens else places:
                    start, kv_transfer = START_PERCENT[place], KV_TRANSFER_PERCENT[place]
                    yield Division(start, kv_transfer, answer, local_tokens=self.local_tokens)
                if self.given.network_bytes_per_s < SLOW_LINK_BYTES_PER_S:
                    for start, kv_transfer in SLOW_LINK_PERCENT:
                        yield Division(
                            start, kv_transfer, answer, own_track=True, local_tokens=self.local_tokens
                        )

    def prefill_side(self, division: Division) -> SideEvaluation:
        """Prefill candidates that leave the decode side its shares."""
        first = first_limits_s(self.given.limits_s, division.answer)
        limits = {f"ttft_{statistic}": limit for statistic, limit in first.items()}
        handed = {statistic: division.kv_transfer / 100.0 * limit for statistic, limit in first.items()}
        if division.sender_ms is not None:
            handed = {_LONG_PROMPT: division.sender_ms / 1e3}
        held = self.prefill_fit.max_sequences

        room = None if division.sender_ms is not None else self._room(division, first, handed)

        def capacity(policy: RoutingPolicy, pools: IntArray, rows: IntArray) -> Carried:
            workers, asked = self.prompts.in_pool(Routing(policy)), (limits, handed, rows, room, pools)
            found = prefill_capacities(workers, held[rows], *asked, explained=False)
            return found.rate_rps / self.sent_fraction, found.max_batch

        found = prefill_capacities(self.prompts, held, limits, handed, room=room)
        found = replace(found, rate_rps=found.rate_rps / self.sent_fraction)
        sizes = self._sizes(capacity, self.sent, self.given.prefill_routing, found, self.prefill)
        evaluation = self._evaluation(self.prefill, self.prefill_fit, found, limits, self.held, sizes)
        return SideEvaluation("prefill", division, evaluation, self.prefill.specs)

    def _room(self, division: Division, first_s: Mapping[str, float], handed_s: Mapping[str, float]) -> Room:
        """What decode workers of a division may take after prefill.

        KV transfers take a time that rises with the prompt at most in proportion beyond the one that has the
        bound, and no longer than that one before.
        """
        handed: dict[float, FloatArray] = {}
        for statistic, bound_s in handed_s.items():
            tokens, long = prompt_atoms(self.sent, tail_of(statistic))[1], prompt_tokens(self.sent, statistic)
            handed[tail_of(statistic)] = bound_s * np.maximum(tokens / long, 1.0)
        return Room(handed, {name: division.start / 100.0 * limit for name, limit in first_s.items()})

    def decode_side(self, division: Division) -> SideEvaluation:
        """Decode candidates within their shares."""
        limits, capacity, found = self._decoding(division)
        # No prompts wait here: bursts that are spread are worth much, else only batches vary less in a pool.
        told = SIZES if self.decoded.arrival_scv_ratio > 1.0 else FEW_SIZES
        one_by_one = size_by_size(capacity, self.decoded)
        sizes = self._sizes(one_by_one, self.decoded, self.given.routing, found, self.decode, told)
        evaluation = self._evaluation(self.decode, self.decode_fit, found, limits, self.given.traffic, sizes)
        return SideEvaluation("decode", division, evaluation, self.decode.specs)

    def _decoding(self, division: Division, first_s: Mapping[str, float] | None = None) -> _Decoding:
        """What each decode worker alone carries, within these limits on the first token if they are given."""
        if first_s is None and division in self._alone:
            return self._alone[division]
        given = self.given
        limits = {name: limit for name, limit in given.limits_s.items() if name[:3] in ("itl", "tpo")}
        for name, limit in given.limits_s.items():
            if name.startswith("e2e"):
                limits[name] = division.answer / 100.0 * limit
        sender_s = None if division.sender_ms is None else division.sender_ms / 1e3
        first = first_limits_s(given.limits_s, division.answer) if first_s is None else first_s
        first = first if sender_s is None else {}
        limits |= {f"ttft_{statistic}": division.start / 100.0 * limit for statistic, limit in first.items()}
        handed = {statistic: division.kv_transfer / 100.0 * limit for statistic, limit in first.items()}
        model = self.workers(sender_s, handed, first)
        ceiling = batch_ceiling(self.decode_fit.max_sequences, given.search)

        def capacity(pooled: Traffic, rows: IntArray, explained: bool = False) -> Capacities:
            asked = (pooled, given.load, limits, model.measure, rows, explained)
            return model.in_time(capacities(self.answers, ceiling[rows], *asked), rows)

        every = np.arange(ceiling.size, dtype=np.int64)
        found = _Decoding(limits, capacity, capacity(self.decoded, every, explained=True))
        if first_s is None:
            self._alone[division] = found
        return found

    def workers(
        self,
        sender_s: float | None = None,
        handed_s: Mapping[str, float] | None = None,
        first_s: Mapping[str, float] | None = None,
    ) -> DecodeWorkers:
        """The load model of the decode side, with limits on KV transfers and on the prompts it computes."""
        return DecodeWorkers(
            self.receiver, self.sent, self.sent_fraction, self.local, sender_s, handed_s or {}, first_s or {}
        )

    # -- which divisions --------------------------------------------------------------------------------

    def _answers(self) -> list[int]:
        """Percent of a limit on E2E, up to what the slowest decode worker needs when nothing is left over."""
        whole = {name: limit for name, limit in self.given.limits_s.items() if name.startswith("e2e")}
        if not whole:
            return [0]
        sender_ms = 0 if self.given.first_token_from == "prefill" else None
        everything, first = Division(100, 100, 100, sender_ms), first_limits_s(self.given.limits_s, 0)
        found = self._decoding(everything, first).alone
        usable = found.max_batch > 0
        if not usable.any():
            return [len(START_PERCENT) - 1]
        needs = [
            float((100.0 * found.latency_s[name][usable] / limit).max()) for name, limit in whole.items()
        ]
        return [ANSWER_PERCENT[place] for place in useful(ANSWER_PERCENT, 0.0, max(needs))]

    def _starts(self, answer: int) -> list[int]:
        """Rooms from what the quickest start takes to what the slowest does at its capacity."""
        first = first_limits_s(self.given.limits_s, answer)
        loosest = Division(START_PERCENT[-1], KV_TRANSFER_PERCENT[-1], answer)
        found = self._decoding(loosest).alone
        usable = found.max_batch > 0
        if not usable.any():
            return [len(START_PERCENT) - 1]
        needs = [
            float((100.0 * found.latency_s[f"ttft_{statistic}"][usable] / limit).max())
            for statistic, limit in first.items()
        ]
        places = useful(START_PERCENT, 100.0 * self._alone_s() / min(first.values()), max(needs))
        # Quick starts go with a small share for the KV transfer, which long prompts may not keep.
        while places and places[-1] + 1 < len(START_PERCENT) and not self._kept(places[-1], answer):
            places.append(places[-1] + 1)
        return places

    def _kept(self, place: int, answer: int) -> bool:
        """Whether some decode candidate keeps the shares of a place."""
        division = Division(START_PERCENT[place], KV_TRANSFER_PERCENT[place], answer)
        return bool((self._decoding(division).alone.max_batch > 0).any())

    def _alone_s(self) -> float:
        """The quickest start of any decode candidate."""
        rows = np.arange(len(self.decode.candidates), dtype=np.int64)
        model, one, load_of = self.workers(), np.ones(rows.shape), self.given.load
        load = model.measure(self.answers, rows, 1e-6 * one, one, self.decoded, load_of, ("ttft_mean",))
        return float(load.latency_s["ttft_mean"].min())

    def _sender_bounds_ms(self) -> list[int]:
        """Bounds from the quickest KV transfer of an idle link to the slowest of a worker at full load."""
        rows = np.arange(len(self.prompts), dtype=np.int64)
        sender, tokens = self.prompts.kv_transfer, prompt_tokens(self.sent, _LONG_PROMPT)
        fastest = np.minimum(self.prompts.most_rps(rows), _MOST_LINK_LOAD * sender.most_rps(rows))
        least, most = sender.time_s(rows, tokens, 0.0).min(), sender.time_s(rows, tokens, fastest).max()
        places = useful(SENDER_BOUNDS_MS, 1e3 * float(least), 1e3 * float(most))
        return [SENDER_BOUNDS_MS[place] for place in places]

    # -- what both sides are made of --------------------------------------------------------------------

    def _fit(self, side: RoleCandidates, traffic: Traffic, fill: Fill) -> MemoryFit:
        share = self.given.policy.prefix_cache_share
        return memory_fit(side.specs, traffic, self.given.headroom_fraction, share, fill)

    def _kv_transfer(self, side: RoleCandidates) -> KvTransfer:
        given = self.given
        network = given.network_bytes_per_s, given.network_latency_s
        return KvTransfer.of(side.candidates.configurations, side.specs, self.sent, *network)

    def _replicas(self, side: RoleCandidates) -> Replicas:
        given = self.given
        items, z_score = side.candidates.configurations, given.load.margin_z_score
        return replicas(items, side.specs, given.traffic, z_score, disaggregated=True)

    def _evaluation(
        self,
        side: RoleCandidates,
        fit: MemoryFit,
        found: Capacities,
        limits_s: Mapping[str, float],
        traffic: Traffic,
        sizes: PoolSizes | None,
    ) -> Evaluation:
        needed, usable = memory_need(fit, side.specs, self.given.headroom_fraction)
        return Evaluation(
            workload=self.given.workload,
            model=self.given.model,
            traffic=traffic,
            candidates=side.candidates,
            limits_s=limits_s,
            needed_bytes=needed,
            usable_bytes=usable,
            load_peak_bytes=fit.account.load_peak_bytes,
            device_bytes=fit.account.capacity_bytes,
            max_sequences=fit.max_sequences,
            capacities=found,
            refusals=side.refusals,
            penalties=side.penalties,
            pool_sizes=sizes,
        )

    def _sizes(
        self,
        capacity: Capacity,
        traffic: Traffic,
        policy: RoutingPolicy,
        alone: Capacities,
        side: RoleCandidates,
        sizes: Sequence[int] = SIZES,
    ) -> PoolSizes | None:
        bits = [*side.refusals.values(), *side.candidates.structural.values(), alone.max_batch == 0]
        rooms, counts = Rooms.of(side.candidates), ~np.logical_or.reduce(bits)
        return pool_sizes(capacity, traffic, policy, alone, rooms, counts, self.given.need_rps, sizes)
