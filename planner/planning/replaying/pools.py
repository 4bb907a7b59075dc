"""The pools of a plan as workers of a replay: step times and caches of their configurations.

Step times are those that planning composes of the physics, at the plan's confidence; the room for KV caches,
the batch and the token budget are the plan's own numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from planner.candidates.space import network
from planner.errors import input_error
from planner.performance.evaluate import load_policy
from planner.performance.kv_transfer import KvTransfer
from planner.performance.load import FloatArray
from planner.performance.replica import replicas as replicas_of
from planner.performance.replica import specifications, start_seconds
from planner.planning.replaying.configurations import configuration_of
from planner.planning.workload.case import Case
from planner.planning.workload.prefill_decode import split_traffic
from planner.replay.pool import PoolPlan, Turn
from planner.replay.prefix_blocks import Eviction
from planner.replay.run_plan import ServicePlan
from planner.replay.step_times import StepTimes, step_times
from planner.replay.worker import KvRoom, Worker
from planner.schema.catalog import Storage
from planner.schema.catalog_index import Catalog
from planner.schema.pool import Pool
from planner.schema.problem import Problem
from planner.schema.replay import Preemption, Router, Scheduler
from planner.steptime.memory import sequence_bytes
from planner.steptime.specs import StepSpecs

LEGACY_PREFILL_ONLY_STEPS = "vllm-legacy"
"""The scheduler that ran prompts in steps of their own."""
_START_S = 600.0
"""Of a replica of which the plan does not say how long it takes to start."""


@dataclass(frozen=True)
class EngineAsked:
    """How engines schedule, preempt and evict; None: as the plan's engine does."""

    scheduler: Scheduler | None = None
    preemption: Preemption = "recompute"
    eviction: Eviction = "lru"
    fills: bool = False
    """Batch work fills what requests leave."""


@dataclass(frozen=True)
class Given:
    """What the pools of one workload are made from."""

    case: Case
    problem: Problem
    catalog: Catalog
    where: str
    """The document, for messages."""
    confidence: float
    """With this probability real steps are no slower."""
    router: Router | None = None
    """In place of the plan's; None: the plan's."""
    engine: EngineAsked = field(default_factory=EngineAsked)
    storage: Storage | None = None
    """Where starting replicas load from; None: as planned."""


@dataclass(frozen=True)
class Share:
    """Replicas of a pool, and what comes to it."""

    replicas: int
    by_class: Mapping[str, float]
    """Share of the requests of each class of its workload."""


HOUR_S = 3600.0


def service_plan(pools: Sequence[Pool], hours: Sequence[Mapping[str, Share]], given: Given) -> ServicePlan:
    """The pools of one workload that have replicas in any of these hours, with what changes by the hour.

    Times of turns are since the start of the first hour.

    Raises:
        InputError: as for `configuration_of`.
    """
    made = {
        pool.id: _Made(pool, [hour[pool.id] for hour in hours], given)
        for pool in pools
        if any(hour[pool.id].replicas for hour in hours)
    }
    roles = {role: [made[p.id] for p in pools if p.role == role and p.id in made] for role in ROLES}
    supports = given.case.engine.supports
    kv_transfer = given.case.engine.kv_transfer
    return ServicePlan(
        serve=tuple(one.plan() for one in roles["serve"]),
        prefill=tuple(one.plan() for one in roles["prefill"]),
        decode=tuple(one.plan() for one in roles["decode"]),
        starts_answers=bool(roles["decode"]) and supports.first_token_from == "decode",
        hidden_fraction=float(kv_transfer.hidden) if kv_transfer is not None else 0.0,
    )


ROLES = ("serve", "prefill", "decode")


class _Made:
    """One pool, looked up."""

    def __init__(self, pool: Pool, hours: Sequence[Share], given: Given) -> None:
        self.pool, self.share, self.hours, self.given = pool, hours[0], hours, given
        case = given.case
        self.item = configuration_of(pool, case, given.problem, given.catalog, given.where)
        self.specs = specifications([self.item])
        disaggregated = pool.role != "serve"
        self.traffic = split_traffic(case.traffic) if disaggregated else case.traffic
        self.policy = load_policy(
            case.policy, given.catalog.calibration, given.confidence, case.limits_s, case.engine
        )
        self.model = replicas_of(
            [self.item], self.specs, self.traffic, self.policy.margin_z_score, disaggregated=disaggregated
        )

    def plan(self) -> PoolPlan:
        """As the replay knows it."""
        pool, item = self.pool, self.item
        ratio = self.policy.ttft_factor_ratio / self.policy.step_factor_ratio
        ratio *= float(np.broadcast_to(self.model.first_token_ratio(np.zeros(1, dtype=np.int64)), 1)[0])
        overhead_s = float(self.model.first_token_overhead_s[0])
        if pool.role != "decode":
            overhead_s += float(self.model.before_prompt_s[0])
        link_s, per_token_s = (0.0, 0.0) if pool.role == "serve" else self._link()
        return PoolPlan(
            id=pool.id,
            worker=self.worker(),
            replicas=self.share.replicas,
            policy=self._router(),
            overhead_s=overhead_s,
            first_token_ratio=ratio,
            classes=tuple(self.share.by_class.items()),
            share=1.0 / max(self.share.replicas, 1),
            start_s=self._start_s(),
            link_s_per_token=per_token_s,
            local_prefill_tokens=pool.local_prefill_tokens or 0,
            link_s=link_s,
            links=item.attention_dp,
            turns=tuple(
                Turn(place * HOUR_S, hour.replicas, tuple(hour.by_class.items()))
                for place, hour in enumerate(self.hours)
                if place and hour != self.hours[place - 1]
            ),
        )

    def _start_s(self) -> float:
        storage, memory = self.given.storage, self.pool.memory_bytes
        if storage is not None and memory is not None:
            return start_seconds(self.item, memory.weights, storage)
        return self.pool.cold_start_s or _START_S

    def worker(self) -> Worker:
        """One replica."""
        pool, item = self.pool, self.item
        limits, drafts = item.engine.limits, self.model.drafts
        servers = item.attention_dp * item.pp
        running = max(pool.max_batch, 1) if pool.role != "prefill" else max(pool.max_batch, servers)
        budget = item.batched_tokens * servers
        asked, limits_s = self.given.engine, self.given.case.limits_s
        scheduler = asked.scheduler
        disaggregated = not limits.chunked_prefill or item.engine.id == LEGACY_PREFILL_ONLY_STEPS
        aware = scheduler == "slo-aware"
        slots, load_s = self._adapters()
        return Worker(
            times=self._times(running, budget),
            batched_tokens=budget,
            running=running,
            kv=self._room(),
            reserves_answer=bool(self.specs.reserves_answer[0] > 0),
            prefill_only_steps=disaggregated if scheduler is None else scheduler == "prefill-first",
            whole_batches=limits.batching == "static" if scheduler is None else scheduler == "decode-first",
            tokens_per_step=1.0 if drafts is None else float(drafts.tokens_per_step[0]),
            verified_tokens=1 if drafts is None else 1 + round(float(drafts.tokens[0])),
            swap_bytes_per_s=self._host_link() if asked.preemption == "swap" else 0.0,
            eviction=asked.eviction,
            ttft_limit_s=_tightest(limits_s, "ttft") if aware else math.inf,
            gap_limit_s=_tightest(limits_s, "itl", "tpot") if aware or asked.fills else math.inf,
            adapter_slots=slots,
            adapter_load_s=load_s,
        )

    def _host_link(self) -> float:
        """PCIe of a replica's GPUs side by side, in the bytes of `KvRoom`.

        Raises:
            InputError: the catalog does not know it.
        """
        rate = self.item.accelerator.host.pcie_one_way
        if rate is None:
            found = f"{self.pool.gpu}, whose PCIe rate the catalog does not have"
            raise input_error(self.given.where, f"pools.{self.pool.id}", found, "recompute, or that rate")
        return float(rate) * float(self.specs.attention_dp[0])

    def _adapters(self) -> tuple[int, float]:
        """Slots, and seconds to load one adapter from the host; (0, 0) where none are paged."""
        lora, memory = self.given.case.workload.lora, self.pool.memory_bytes
        if lora is None or memory is None or not memory.adapters:
            return 0, 0.0
        slots, rate = lora.active or lora.adapters, self.item.accelerator.host.pcie_one_way
        return slots, memory.adapters / slots / float(rate) if rate is not None else 0.0

    def _router(self) -> Router:
        given, case = self.given, self.given.case
        if given.router is not None:
            return given.router
        if self.pool.routing is not None:
            return self.pool.routing.policy
        return case.prefill_routing if self.pool.role == "prefill" else case.routing

    def _times(self, running: int, budget: int) -> StepTimes:
        model, factor = self.model, self.policy.step_factor_ratio

        def step_s(*loads: FloatArray) -> FloatArray:
            return factor * model.step_s(np.zeros(loads[0].size, dtype=np.int64), *loads)

        context = max(self.traffic.decode_context_tokens, 64.0)
        return step_times(step_s, running, budget, context)

    def _room(self) -> KvRoom:
        """The cache: linear in blocks about the mean request, so windows are an approximation."""
        memory, reuse, specs = self.pool.memory_bytes, self.pool.reuse, self.specs
        block = round(float(specs.kv_block_tokens[0]))
        mean = max(self.traffic.decode_context_tokens, 2.0 * block)
        sizes = [_bytes(specs, tokens) for tokens in (mean / 2.0, mean, 1.5 * mean)]
        per_token = max((sizes[2] - sizes[0]) / mean, 0.0)
        if memory is None or not memory.kv_cache or sizes[1] <= 0.0:
            return KvRoom(math.inf, block, 0.0)
        room = memory.kv_cache
        if reuse is not None:
            room = min(room / (1.0 + reuse.cache_share), room - reuse.held_once_bytes)
            per_token *= max(1.0 - reuse.read_there_tokens / mean, 0.0)
        elif self.traffic.cached_fraction > 0.0:
            room /= 1.0 + self.given.case.policy.prefix_cache_share
        ranks = float(specs.attention_dp[0])
        fixed = max(sizes[1] - per_token * math.ceil(mean / block) * block, 0.0) if reuse is None else 0.0
        return KvRoom(room * ranks, block, per_token * block, fixed)

    def _link(self) -> tuple[float, float]:
        """Seconds before the first byte of a KV transfer, and of a token, on the links of one replica."""
        given, tokens = self.given, self.traffic.input_mean_tokens
        one_way, latency = network(given.problem.fleet, given.catalog)
        side = KvTransfer.of((self.item,), self.specs, self.traffic, one_way, latency)
        return latency, _bytes(self.specs, tokens) / tokens / float(side.link_bytes_per_s[0])


def _tightest(limits_s: Mapping[str, float], *metrics: str) -> float:
    return min((limit for name, limit in limits_s.items() if name.startswith(metrics)), default=math.inf)


def _bytes(specs: StepSpecs, tokens: float) -> float:
    """Cache of one request on one GPU."""
    return float(sequence_bytes(specs, np.zeros(1, dtype=np.int64), tokens)[0])


def more(service: ServicePlan, extra: Mapping[str, int]) -> ServicePlan:
    """The same pools with more replicas in some of them."""
    return service.each(lambda pool: replace(pool, replicas=pool.replicas + extra.get(pool.id, 0)))


def later(service: ServicePlan, by_s: float) -> ServicePlan:
    """The same pools, all turns so much later."""
    return service.each(
        lambda pool: replace(pool, turns=tuple(replace(turn, at_s=turn.at_s + by_s) for turn in pool.turns))
    )
