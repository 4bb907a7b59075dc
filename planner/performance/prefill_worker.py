"""A worker that computes prompts and hands their KV over: the queue in front of it and its first tokens.

Equations: an attention rank or stage takes whole steps; a step holds up to its token budget of prompts,
first come, first served. A prompt alone takes its own steps, E[A]; while others wait it takes its share of
full ones, E[F]. With r arrivals a second the share 1 - r E[A] of prompts finds the server idle:
E[S] = E[F] + (1 - r E[A]) (E[A] - E[F]), and higher moments alike. The wait is that of the pool with these
services (`routing.pool_wait`), or where many prompts share a step the rest of it and what it has gathered,
for those who find every worker that the router may choose in a step (`routing.busy_fraction`). Prompts that
arrive later fill the last step of one, 1 - exp(-u) of its rest, and make it longer.

Assumes: stationary arrivals; first come, first served; chunked prompts; nothing decodes here.
Breaks down when: prompts are routed by more than their arrival (prefix-aware routing evens out or piles up).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from planner.performance.kv_transfer import KvTransfer
from planner.performance.load import PERCENTILE, FloatArray, IntArray, LoadPolicy, Replicas
from planner.performance.prompt_queue import ALMOST_ALL, MEAN_TAIL, ChosenWorkers, PromptTimes
from planner.physics import parallelism
from planner.queueing import lengths
from planner.schema.routing import Routing
from planner.schema.traffic import Traffic


def prompt_atoms(traffic: Traffic, tail: float) -> tuple[FloatArray, FloatArray]:
    """Weights and tokens of a few prompts that stand for all around a tail."""
    return lengths.atoms_around(traffic.input_weight, traffic.input_tokens, tail)


def prompt_tokens(traffic: Traffic, statistic: str) -> float:
    """The prompt whose KV transfer stands for a statistic."""
    if statistic not in PERCENTILE:
        return traffic.input_mean_tokens
    return lengths.atom_quantile(traffic.input_weight, traffic.input_tokens, PERCENTILE[statistic])


def computed_tokens(traffic: Traffic, prompt_tokens: float) -> float:
    """Tokens of a prompt of this length that are computed; between atoms interpolated."""
    order = np.argsort(traffic.input_tokens, kind="stable")
    tokens, computed = traffic.input_tokens[order], traffic.computed_tokens[order]
    return max(float(np.interp(prompt_tokens, tokens, computed)), 1e-9)


@dataclass(frozen=True, eq=False)
class PrefillWorkers:
    """Configurations as prefill workers; what does not depend on the rate is computed once."""

    replicas: Replicas
    traffic: Traffic
    policy: LoadPolicy
    kv_transfer: KvTransfer
    known: dict[float, PromptTimes] = field(default_factory=dict)

    def __len__(self) -> int:
        """Number of configurations."""
        return int(self.replicas.batched_tokens.shape[0])

    def in_pool(self, router: Routing) -> PrefillWorkers:
        """The same workers behind a router of a pool."""
        return replace(self, traffic=replace(self.traffic, routing=router))

    def times(self, tail: float) -> PromptTimes:
        """Prompts around a tail on every configuration."""
        if tail not in self.known:
            weight, tokens = prompt_atoms(self.traffic, tail)
            self.known[tail] = self._times(weight, tokens)
        return self.known[tail]

    def most_rps(self, rows: IntArray) -> FloatArray:
        """The rate of a worker whose every step is full, or whose links are."""
        times = self.times(MEAN_TAIL)
        full = ALMOST_ALL * self.replicas.prompt_servers[rows] / (times.weight @ times.shared_s[:, rows])
        return np.minimum(full, ALMOST_ALL * self.kv_transfer.most_rps(rows))

    def taken(self, rows: IntArray, pools: IntArray | None = None) -> ChosenWorkers:
        """Some of them, for many rates; ``pools``: see `ChosenWorkers`, default: those of the traffic."""
        replicas = self.replicas
        pools = np.full(rows.shape, self.traffic.routing.replicas) if pools is None else pools
        ratio = self.policy.ttft_factor_ratio / self.policy.step_factor_ratio
        return ChosenWorkers(
            traffic=self.traffic,
            policy=self.policy,
            links=self.kv_transfer.taken(rows),
            servers=replicas.prompt_servers[rows],
            budget_tokens=replicas.batched_tokens[rows],
            extra_ratio=ratio * replicas.first_token_ratio(rows),
            overhead_s=replicas.first_token_overhead_s[rows] + replicas.before_prompt_s[rows],
            times_of=lambda tail: self.times(tail).taken(rows),
            rows=rows,
            pools=pools,
            percentiles=replicas.percentiles,
        )

    def _times(self, weight: FloatArray, tokens: FloatArray) -> PromptTimes:
        rows = np.arange(len(self), dtype=np.int64)
        budget = self.replicas.batched_tokens
        columns = [self._one_length(rows, budget, prompt) for prompt in tokens]
        return PromptTimes(weight, tokens, *(np.stack(column) for column in zip(*columns, strict=True)))

    def _one_length(self, rows: IntArray, budget: FloatArray, prompt_tokens: float) -> tuple[FloatArray, ...]:
        """The columns of `PromptTimes` from ``chunks`` on."""
        computed = computed_tokens(self.traffic, prompt_tokens)
        context = np.full(rows.shape, prompt_tokens - computed / 2.0)
        nothing = np.zeros(rows.shape)
        chunks = np.ceil(computed / budget)
        mean = max(self.traffic.prefill_mean_tokens, 1.0)

        def step_s(tokens: FloatArray, finishing: FloatArray) -> FloatArray:
            factor = self.policy.step_factor_ratio
            return factor * self.replicas.mixed_s(rows, nothing, nothing, tokens, context, finishing)

        lone_s = step_s(computed / chunks, 1.0 / chunks)
        stages = np.ones(rows.shape) if self.replicas.stages is None else self.replicas.stages
        own_s = parallelism.pipeline_prompt_s(lone_s / stages, chunks, stages)
        alone_s = chunks * lone_s
        full_s = chunks * step_s(budget, np.maximum(budget / mean, 1.0 / chunks))
        shared_s = np.minimum(full_s / chunks * computed / budget, alone_s)
        return chunks, chunks * budget - computed, np.asarray(own_s), alone_s, full_s, shared_s
