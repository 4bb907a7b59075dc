"""Predictions for rows of measurement tables: all rows of one kind of load at once.

The conventions are those of benchmarks, not of planning: a closed loop of clients with nearly equal
lengths clumps, a batch may be static, and requests may all be sent at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

import numpy as np

from planner.performance.closed_loop import ClosedLoop, closed_loop, clumping_fraction
from planner.performance.row_constants import RowConstants
from planner.performance.row_loads import RowLoads
from planner.performance.two_stations import two_stations
from planner.physics import kv_transfer
from planner.physics.arrays import FloatArray, Floats, IntArray
from planner.schema.catalog import Calibration
from planner.schema.service_load import REQUESTS_PER_CLIENT
from planner.steptime.memory import max_sequences, memory_account, sequence_bytes
from planner.steptime.prompt_start import launched_s, prompt_start_s
from planner.steptime.specs import StepSpecs
from planner.steptime.step import total_step_s

NOT_PREDICTED = np.nan
DRAFTS_PER_STEP = 3.0
"""Draft tokens that one step with multi-token prediction verifies."""


@dataclass(frozen=True, eq=False)
class RowPredictions:
    """What a table would show, for all GPUs of a row; NaN where a kind of load has no such number."""

    output_tokens_per_s: FloatArray
    ttft_s: FloatArray
    tpot_s: FloatArray
    decoding: FloatArray
    """Requests of one replica that decode, on average."""
    prompt_s: FloatArray
    """One prompt alone."""
    fixed_s: FloatArray
    """Part of the TTFT in front of the engine."""
    full_s: FloatArray
    """Part of the TTFT that waits for a place in the cache or in the batch."""
    fitting: FloatArray
    """Sequences that one replica holds."""

    @classmethod
    def blank(cls, size: int) -> RowPredictions:
        """Nothing predicted yet."""
        return cls(*(np.full(size, NOT_PREDICTED) for _ in fields(cls)))


Numbers = Mapping[str, FloatArray]
"""By name of a field of `RowPredictions`."""
Rule = Callable[["_Group"], Numbers]


def predict_rows(specs: StepSpecs, loads: RowLoads, calibration: Calibration) -> RowPredictions:
    """Throughput, TTFT and TPOT of rows whose load needs no queueing (see `planner.performance.row_queues`).

    Entry ``i`` of ``loads`` belongs to entry ``i`` of ``specs``; further specifications are prefill workers.
    """
    result = RowPredictions.blank(len(loads))
    everyone = np.arange(len(loads))
    result.fitting[:] = fitting_sequences(specs, everyone, loads)
    constants = RowConstants.of(calibration, loads.engine)
    disaggregated = loads.prefill_row >= 0
    groups: tuple[tuple[Rule, np.ndarray[tuple[int], np.dtype[np.bool_]]], ...] = (
        (_first_token, loads.kind == "first-token"),
        (_static_batch, loads.kind == "static-batch"),
        (_closed_loop, (loads.kind == "closed-loop") & ~disaggregated),
        (_offline, loads.kind == "offline"),
        (_two_stations, (loads.kind == "closed-loop") & disaggregated),
    )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for rule, picked in groups:
            rows = everyone[picked]
            if rows.size:
                group = _Group(specs, rows, loads, constants, result.fitting[rows])
                for name, values in rule(group).items():
                    getattr(result, name)[rows] = values
                result.prompt_s[rows] = group.prefill_s(np.ones(rows.shape))
    return result


def fitting_sequences(specs: StepSpecs, rows: IntArray, loads: RowLoads) -> FloatArray:
    """Sequences that one replica holds at the lengths of the rows: memory, then the engine's own limit."""
    held = loads.input_tokens[rows] + loads.output_tokens[rows] * loads.held_answer_fraction[rows]
    told = loads.told_sequences[rows] / specs.attention_dp[rows]
    pool = memory_account(specs, rows, running=told).kv_cache_bytes
    fitting = max_sequences(specs, rows, pool, np.maximum(held, 1.0))
    fitting = np.minimum(fitting, specs.max_running[rows] * specs.attention_dp[rows])
    return np.minimum(fitting, loads.most_sequences[rows])


class _Group:
    """Rows of one kind, gathered."""

    def __init__(
        self,
        specs: StepSpecs,
        rows: IntArray,
        loads: RowLoads,
        constants: RowConstants,
        fitting: FloatArray,
    ) -> None:
        self.specs, self.rows, self.constants, self.loads = specs, rows, constants, loads
        self.fitting = np.maximum(fitting, 1.0)
        self.input_tokens = loads.input_tokens[rows]
        self.output_tokens = loads.output_tokens[rows]
        self.requests = loads.requests[rows]
        self.replicas = loads.replicas[rows]
        self.alone = loads.alone[rows] > 0
        self.ttft_factor = constants.ttft_factor[rows]
        self.overhead_s = constants.ttft_overhead_s[rows] + self.prompt_start_s(rows)
        # The fitted slope holds the start of runs of ten requests a client.
        start = (loads.burst_share[rows] - 1.0 / REQUESTS_PER_CLIENT) / 2.0
        self.clumping = np.maximum(constants.clumping[rows] + start, 0.0)
        self.together = np.where(loads.equal_lengths[rows] > 0, constants.together[rows], 1.0)
        self.rank_wait_steps = constants.rank_wait_steps[rows]
        speculative = loads.speculative[rows]
        self.tokens_per_step = 1.0 + speculative * (constants.tokens_per_step - 1.0)
        self.work_factor = 1.0 + speculative * DRAFTS_PER_STEP * constants.draft_work
        self.context_tokens = self.input_tokens + self.output_tokens / 2.0

    def prompt_start_s(self, workers: IntArray) -> FloatArray:
        """What the host takes for a prompt of each row, in the workers that compute it."""
        constants, launches_s = self.constants, launched_s(self.specs)[workers]
        ratio = constants.launch_ratio[self.rows]
        return prompt_start_s(ratio, launches_s, constants.token_overhead_s, self.input_tokens)

    def prefill_s(self, prompts: FloatArray) -> FloatArray:
        """So many prompts, one batch of them."""
        return total_step_s(
            self.specs, self.rows, 0.0, 0.0, prompts * self.input_tokens, self.input_tokens / 2.0, prompts
        )

    def decode_s(self, sequences: FloatArray) -> FloatArray:
        """One step of so many sequences, without prompts; time per emitted token."""
        step_s = total_step_s(self.specs, self.rows, sequences * self.work_factor, self.context_tokens)
        return step_s / self.tokens_per_step

    @property
    def fixed_s(self) -> FloatArray:
        """What the server in front takes, where there is one."""
        return np.where(self.alone, 0.0, self.overhead_s)

    def first_token_s(self, service_s: FloatArray) -> FloatArray:
        """A prompt alone, with the server in front of it where there is one."""
        served_s = self.overhead_s + self.ttft_factor * service_s
        return np.where(self.alone, service_s, served_s)


def _numbers(rate: FloatArray, ttft_s: FloatArray, tpot_s: FloatArray, **more: FloatArray) -> Numbers:
    """Output tokens per second, TTFT and TPOT, and what else a kind of load knows."""
    return {"output_tokens_per_s": rate, "ttft_s": ttft_s, "tpot_s": tpot_s, **more}


def _first_token(group: _Group) -> Numbers:
    batch = np.maximum(group.requests, 1.0)
    ttft_s = group.first_token_s(group.prefill_s(batch))
    nothing = np.full(ttft_s.shape, NOT_PREDICTED)
    return _numbers(group.replicas * batch / ttft_s, ttft_s, nothing, fixed_s=group.fixed_s)


def _static_batch(group: _Group) -> Numbers:
    """Prefill the whole batch, then decode all of it; more than fit go in waves."""
    inside = np.where(group.alone, group.requests, np.minimum(group.requests, group.fitting))
    waves = group.requests / inside
    prompt_s = group.prefill_s(inside)
    step_s = group.decode_s(inside)
    elapsed_s = waves * (prompt_s + np.maximum(group.output_tokens - 1.0, 0.0) * step_s)
    rate = group.replicas * group.requests * group.output_tokens / elapsed_s
    first_s = group.first_token_s(prompt_s)
    return _numbers(rate, first_s, step_s, decoding=inside, fixed_s=group.fixed_s)


def _closed_loop(group: _Group) -> Numbers:
    """Requests always in flight.

    Attention ranks step together, and engines let a prompt wait for prompts of the other ranks, since a rank
    without one idles: ``w_e (1 - 1/g) TPOT`` before the first token.
    """
    loop = _loop(group, group.requests)
    ranks = group.specs.attention_dp[group.rows]
    others_s = group.rank_wait_steps * loop.tpot_s * (1.0 - 1.0 / ranks)
    return _numbers(
        group.replicas * loop.output_tokens_per_s,
        loop.ttft_s + others_s,
        loop.tpot_s,
        decoding=loop.decode_sequences,
        fixed_s=group.overhead_s,
        full_s=loop.full_s,
    )


def _offline(group: _Group) -> Numbers:
    """As many as fit are in flight; of a run of N equal requests the last wave has what is left.

    ``T = (N - r) OSL / X(B) + r OSL / X(r)`` with B that fit and ``r = N mod B``: what starts together ends
    together, so the last r run alone and not with others that would still come.
    """
    loop = _loop(group, group.fitting)
    rate = loop.output_tokens_per_s
    count = group.loads.run_requests[group.rows]
    finite = np.isfinite(count)
    if finite.any():
        sent = np.where(finite, count, group.fitting)
        rest = np.mod(sent, group.fitting)
        last = _loop(group, np.maximum(rest, 1.0)).output_tokens_per_s
        rate = np.where(finite, sent / ((sent - rest) / rate + rest / last), rate)
    nothing = np.full(rate.shape, NOT_PREDICTED)
    return _numbers(group.replicas * rate, nothing, loop.tpot_s, decoding=loop.decode_sequences)


def _loop(group: _Group, requests: FloatArray) -> ClosedLoop:
    others = np.minimum(requests, group.fitting) / group.specs.attention_dp[group.rows] - 1.0
    return closed_loop(
        group.specs,
        group.rows,
        requests,
        group.fitting,
        group.input_tokens,
        group.output_tokens,
        group.overhead_s,
        group.ttft_factor,
        clumping_fraction(others, group.clumping, group.together),
        group.constants.absorbed_ratio,
        group.tokens_per_step,
        group.work_factor,
    )


def _two_stations(group: _Group) -> Numbers:
    loads, rows = group.loads, group.rows
    prefill = loads.prefill_row[rows]
    most = np.maximum(np.floor(loads.prefill_batched_tokens[rows] / group.input_tokens), 1.0)
    service_s, full_s = (_prefill_step_s(group, prefill, count) / count for count in (1.0, most))
    workers = loads.decode_workers[rows]
    first_wave = group.constants.first_wave * REQUESTS_PER_CLIENT * loads.burst_share[rows]

    def think_s(decoding: FloatArray) -> FloatArray:
        return group.output_tokens * group.decode_s(np.minimum(decoding / workers, group.fitting))

    held = group.constants.absorbed_ratio * group.fitting * workers
    loop = two_stations(
        group.requests,
        service_s * group.constants.split_prefill_factor,
        loads.prefill_workers[rows] * group.specs.attention_dp[prefill],
        think_s,
        np.minimum(first_wave, 1.0),
        most,
        full_s * group.constants.split_prefill_factor,
        held,
    )
    overhead_s = group.constants.split_overhead_s + group.prompt_start_s(prefill)
    ttft_s = overhead_s + loop.wait_s + _kv_transfer_s(group, prefill)
    rate, tpot_s = loop.rate_rps * group.output_tokens, loop.think_s / group.output_tokens
    decoding = loop.rate_rps * loop.think_s / workers
    return _numbers(rate, ttft_s, tpot_s, decoding=decoding, fixed_s=overhead_s)


def _kv_transfer_s(group: _Group, prefill: IntArray) -> FloatArray:
    """The cache of a prompt on its way to a decode worker; a rank sends one at a time."""
    sent = sequence_bytes(group.specs, prefill, group.input_tokens)
    rate = group.loads.kv_transfer_bytes_per_s[group.rows]
    latency_s = group.loads.kv_transfer_latency_s[group.rows]
    return np.asarray(kv_transfer.kv_transfer_s(sent, rate, latency_s, 0.0, 0.0))


def _prefill_step_s(group: _Group, prefill: IntArray, prompts: Floats) -> FloatArray:
    """A step with so many prompts in every attention rank of a prefill worker."""
    every = prompts * group.specs.attention_dp[prefill] * group.specs.pp[prefill]
    prompt = group.input_tokens
    return total_step_s(group.specs, prefill, 0.0, 0.0, every * prompt, prompt / 2.0, every)
