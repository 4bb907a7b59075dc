"""A worker that receives KV caches and writes the answers: the load model without prompts in its steps.

The steps are those of `steady_state` for prompts of no tokens, so nothing but the batch moves the gap between
two tokens. What a request waits for between its last byte and its first own token is the step in progress and
one of its own.

Assumes: over the time of an answer as many requests leave the prefill workers as reach them, so arrivals
are as bursty here as there; that single ones leave more evenly is not counted on (the safe side).
Breaks down when: prefill workers are overloaded; then they set the pace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from planner.performance.deep_steps import deep_steps
from planner.performance.first_token import arrival_latency, end_to_end
from planner.performance.kv_transfer import KvTransfer
from planner.performance.load import PERCENTILE, FloatArray, IntArray, Load, LoadPolicy, Replicas
from planner.performance.open_load import NO_LIMITS, measure
from planner.performance.prefill_worker import prompt_tokens
from planner.performance.steady_state import steady_state
from planner.queueing import lengths
from planner.schema.candidates import BoolArray, Capacities
from planner.schema.traffic import Traffic

_ROUNDING = 1.0 + 1e-9
_A_LITTLE_MORE = 1.05
_NO_PROMPT_TOKENS = 1e-9
"""Stands for prompts that need no work here."""


def answer_traffic(traffic: Traffic, local_tokens: int = 0) -> Traffic:
    """The traffic as a decode worker sees it: the same answers and contexts, prompts that are done.

    Prompts of up to ``local_tokens`` are computed here.
    """
    here = traffic.input_tokens <= local_tokens
    computed = np.where(here, traffic.computed_tokens, _NO_PROMPT_TOKENS)
    tokens = np.where(here, traffic.input_tokens, _NO_PROMPT_TOKENS)
    mean, stated = float(traffic.input_weight @ tokens), traffic.answer_input_tokens
    return replace(
        traffic,
        input_tokens=tokens,
        input_mean_tokens=mean,
        cached_fraction=1.0 - float(traffic.input_weight @ computed) / mean,
        answer_input_tokens=traffic.input_mean_tokens if stated is None else stated,
        images_per_request=0.0,
        prefill_tokens=computed,
        reloaded_tokens=None,
        reuse=None,
    )


def parted(traffic: Traffic, local_tokens: int) -> tuple[Traffic, Traffic | None, float]:
    """Requests whose prompts are sent, those whose prompts are computed at decode, and the share sent."""
    if not local_tokens:
        return traffic, None, 1.0
    here = traffic.input_tokens <= local_tokens
    return _only(traffic, ~here), _only(traffic, here), float(traffic.input_weight[~here].sum())


def _only(traffic: Traffic, keep: BoolArray) -> Traffic:
    """The requests with some of the prompts."""
    weight = traffic.input_weight[keep] / traffic.input_weight[keep].sum()
    tokens, computed = traffic.input_tokens[keep], traffic.computed_tokens[keep]
    mean = float(weight @ tokens)
    return replace(
        traffic,
        input_weight=weight,
        input_tokens=tokens,
        input_mean_tokens=mean,
        input_p95_tokens=lengths.atom_quantile(weight, tokens, 0.95),
        input_p99_tokens=lengths.atom_quantile(weight, tokens, 0.99),
        cached_fraction=1.0 - float(weight @ computed) / mean,
        prefill_tokens=computed,
        reloaded_tokens=None,
        reuse=None,
    )


@dataclass(frozen=True, eq=False)
class DecodeWorkers:
    """The load model of decode workers; `measure` has the form of `open_load.measure`.

    ``ttft`` names the time from the last byte to the first token of this side, ``e2e`` the answer alone.
    """

    kv_transfer: KvTransfer
    traffic: Traffic
    """Requests whose prompts prefill workers compute."""
    sent_fraction: float = 1.0
    """Their share."""
    local: Traffic | None = None
    """The others, whose prompts are computed here."""
    sender_s: float | None = None
    """None where the first token comes from here. Otherwise the prefill side has sent it, the KV transfer is
    the first gap, and this is its time at most on the links of the prefill workers in use."""
    limits_s: Mapping[str, float] = field(default_factory=dict)
    """Limits on the KV transfer on the links of this side, by statistic."""
    local_limits_s: Mapping[str, float] = field(default_factory=dict)
    """Limits on the first token of prompts that are computed here, by statistic."""

    def measure(
        self,
        replicas: Replicas,
        rows: IntArray,
        concurrency: FloatArray,
        batch_sequences: FloatArray,
        traffic: Traffic,
        policy: LoadPolicy,
        wanted: tuple[str, ...],
        limits_s: Mapping[str, float] = NO_LIMITS,
    ) -> Load:
        """The steady state at a mean number decoding; ``traffic`` is that of `answer_traffic`.

        All latencies are looked at, whatever the limits: those beside gaps between tokens take no search.
        """
        per_token = tuple(name for name in wanted if name.startswith(("itl", "tpot")))
        asked = concurrency, batch_sequences, traffic, policy, per_token, limits_s
        load = measure(replicas, rows, *asked)
        links = np.maximum(load.link_utilization, self._links(rows, load.rate_rps))
        if self.local is not None and self.local_limits_s:
            # A state in which they are late is none, as one in which the links fall behind.
            links = np.where(self._late(replicas, rows, load, traffic, policy), np.maximum(links, 1.0), links)
        latency = dict(load.latency_s)
        if self.sender_s is not None:
            for name in per_token:
                latency[name] = self._with_first_gap(replicas, rows, load, policy, name)
        for name in wanted:
            metric, statistic = name.split("_")
            if metric == "ttft":
                latency[name] = self.start_s(replicas, rows, load, policy, statistic)
            if metric == "e2e":
                answer_s = self._answer_s(replicas, rows, load, traffic, policy, statistic)
                latency[name] = replicas.percentile_ratio(name, rows) * answer_s
        return replace(load, latency_s=latency, link_utilization=links)

    def in_time(self, found: Capacities, rows: IntArray) -> Capacities:
        """Capacities without those whose smallest load is too much for the links, which stop some others."""
        able = self._links(rows, found.rate_rps) < 1.0
        stopped = self._links(rows, found.rate_rps * _A_LITTLE_MORE) >= 1.0
        return replace(
            found,
            max_batch=np.where(able, found.max_batch, 0),
            rate_rps=np.where(able, found.rate_rps, 0.0),
            limited_by=tuple(
                "kv-transfer" if full and word else word
                for full, word in zip(stopped, found.limited_by, strict=True)
            ),
        )

    def _links(self, rows: IntArray, rate_rps: FloatArray) -> FloatArray:
        """Load of the links; 1 where a KV transfer takes longer than it may."""
        sent_rps = self.sent_fraction * rate_rps
        busy = self.kv_transfer.load_ratio(rows, sent_rps)
        for statistic, limit in self.limits_s.items():
            handed = self.kv_transfer.time_s(rows, prompt_tokens(self.traffic, statistic), sent_rps)
            busy = np.where(handed > limit * _ROUNDING, np.maximum(busy, 1.0), busy)
        return busy

    def local_s(
        self,
        replicas: Replicas,
        rows: IntArray,
        load: Load,
        traffic: Traffic,
        policy: LoadPolicy,
        statistics: Sequence[str],
    ) -> dict[str, FloatArray]:
        """TTFT of prompts that are computed here, by statistic."""
        assert self.local is not None, "only asked where prompts are computed here"
        state = steady_state(replicas, rows, load.concurrency, traffic, policy)
        alone = replace(state, rate=(1.0 - self.sent_fraction) * state.rate)
        wanted = tuple(f"ttft_{statistic}" for statistic in statistics)
        deep = deep_steps(replicas, alone, self.local, policy)
        found, _ = arrival_latency(replicas, alone, self.local, policy, deep, wanted)
        return {name.split("_")[1]: value for name, value in replicas.planned(found, rows).items()}

    def _late(
        self, replicas: Replicas, rows: IntArray, load: Load, traffic: Traffic, policy: LoadPolicy
    ) -> BoolArray:
        """Where the first token of a prompt that is computed here takes longer than it may."""
        found = self.local_s(replicas, rows, load, traffic, policy, tuple(self.local_limits_s))
        late = np.zeros(rows.shape, dtype=bool)
        for statistic, limit in self.local_limits_s.items():
            late |= found[statistic] > limit * _ROUNDING
        return late

    def start_s(
        self, replicas: Replicas, rows: IntArray, load: Load, policy: LoadPolicy, statistic: str
    ) -> FloatArray:
        """From the last byte to the first token of this side: front end, rest of a step, own step."""
        extra = policy.ttft_factor_ratio / policy.step_factor_ratio * replicas.first_token_ratio(rows)
        steps = 1.0 + PERCENTILE.get(statistic, 0.5)
        return np.asarray(extra * replicas.first_token_overhead_s[rows] + steps * load.mean_step_s)

    def _first_gap_s(
        self, replicas: Replicas, rows: IntArray, load: Load, policy: LoadPolicy, statistic: str
    ) -> FloatArray:
        """KV transfer on the slower side and start."""
        handed = self.kv_transfer.time_s(
            rows, prompt_tokens(self.traffic, statistic), self.sent_fraction * load.rate_rps
        )
        slower = np.maximum(handed, self.sender_s or 0.0)
        return np.asarray(slower + self.start_s(replicas, rows, load, policy, statistic))

    def _answer_s(
        self,
        replicas: Replicas,
        rows: IntArray,
        load: Load,
        traffic: Traffic,
        policy: LoadPolicy,
        statistic: str,
    ) -> FloatArray:
        """From the first token to the last."""
        if statistic in PERCENTILE:
            state = steady_state(replicas, rows, load.concurrency, traffic, policy)
            nothing = np.zeros_like(state.step_s)
            answer = end_to_end(state, traffic, PERCENTILE[statistic], nothing, nothing)
        else:
            gaps = max(traffic.output_mean_tokens - 1.0, 0.0)
            answer = gaps / load.tokens_per_step * load.mean_step_s
        if self.sender_s is not None:
            answer = answer + self._first_gap_s(replicas, rows, load, policy, statistic)
        return np.asarray(answer)

    def _with_first_gap(
        self, replicas: Replicas, rows: IntArray, load: Load, policy: LoadPolicy, name: str
    ) -> FloatArray:
        """ITL or TPOT where the first gap of every answer is the KV transfer.

        ITL: it is in a quantile when more than 1 - p of the gaps are first ones. TPOT: spread over the gaps
        of a short answer, added to the quantile without it (an upper bound).
        """
        metric, statistic = name.split("_")
        ordinary_s = load.latency_s[name]
        first_s = self._first_gap_s(replicas, rows, load, policy, statistic)
        longer_s = np.maximum(first_s - load.mean_step_s, 0.0)
        first_gaps = 1.0 / max(self.traffic.output_mean_tokens - 1.0, 1.0)
        if metric == "itl" and statistic not in PERCENTILE:
            return np.asarray(ordinary_s + first_gaps * longer_s)
        if metric == "itl":
            rare = (1.0 - PERCENTILE[statistic]) / (1.0 + policy.rare_step_margin_fraction)
            return np.maximum(ordinary_s, first_s) if first_gaps > rare else ordinary_s
        shortest = self.traffic.output_mean_tokens
        if statistic in PERCENTILE:
            atoms = (self.traffic.output_weight, self.traffic.output_tokens)
            shortest = lengths.atom_quantile(*atoms, 1.0 - PERCENTILE[statistic])
        return np.asarray(ordinary_s + longer_s / max(shortest - 1.0, 1.0))
