"""The numbers of a workload before anything is chosen: traffic, and bytes by number format."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from planner.physics.memory import sequence_kv_bytes
from planner.schema.catalog import NumberFormat
from planner.schema.facts import ModelFacts
from planner.schema.sizing import WorkloadSizing
from planner.schema.traffic import Traffic
from planner.steptime.memory import sequence_bytes
from planner.steptime.specs import StepSpecs
from planner.steptime.weights import attention_format, kv_bytes_per_token, weight_bytes

WIDEST_KV = "bf16"
"""What a cache is kept in when nobody asks for less."""


def workload_sizing(
    workload: str,
    facts: ModelFacts,
    traffic: Traffic,
    peak_rps: float,
    mean_rps: float,
    weights: Iterable[str],
    kv: Iterable[str],
    formats: Mapping[str, NumberFormat],
) -> WorkloadSizing:
    """Traffic and memory of one workload.

    Args:
        workload: its name.
        facts: the model.
        traffic: lengths and arrivals.
        peak_rps: requests per second that the fleet must carry.
        mean_rps: requests per second on average.
        weights: formats of weights to state beside the checkpoint's own.
        kv: formats of the KV cache to state beside 16 bit.
        formats: all number formats, by id.
    """
    running = math.ceil(traffic.decode_context_tokens / traffic.kept_fraction)
    stated = dict.fromkeys([facts.native_format, *weights])
    return WorkloadSizing(
        workload=workload,
        peak_rps=peak_rps,
        mean_rps=mean_rps,
        arrival_scv_ratio=traffic.arrival_scv_ratio,
        input_tokens={
            "mean": traffic.input_mean_tokens,
            "p95": traffic.input_p95_tokens,
            "p99": traffic.input_p99_tokens,
        },
        output_tokens={
            "mean": traffic.output_mean_tokens,
            "p95": traffic.output_p95_tokens,
            "p99": traffic.output_p99_tokens,
        },
        sequence_tokens=running,
        cached_fraction=traffic.cached_fraction,
        checkpoint=facts.native_format,
        weights_bytes={
            name: weight_bytes(facts, formats[name], attention_format(facts, formats[name], formats))
            for name in stated
        },
        sequence_bytes={
            name: _sequence_bytes(facts, running, formats[name]) for name in dict.fromkeys([WIDEST_KV, *kv])
        },
        token_bytes={
            name: kv_bytes_per_token(facts, formats[name].cache_bits).growth_past_window_bytes
            for name in dict.fromkeys([WIDEST_KV, *kv])
        },
    )


def _sequence_bytes(facts: ModelFacts, tokens: int, kv: NumberFormat) -> float:
    """Cache of one sequence over all GPUs of a replica, to the token: an engine rounds up to whole blocks."""
    one = kv_bytes_per_token(facts, kv.cache_bits)
    sliding_bytes = one.all_layers_bytes - one.growth_past_window_bytes
    return float(
        sequence_kv_bytes(
            float(tokens),
            1.0,
            one.growth_past_window_bytes,
            sliding_bytes,
            float(facts.window_tokens),
            float(facts.state_bytes_per_sequence),
        )
    )


def kv_usage_fraction(
    specs: StepSpecs,
    index: int,
    decoding: float,
    context_tokens: float,
    kv_cache_bytes: float,
    copy_bytes: float = 0.0,
    spared_bytes: float = 0.0,
) -> float | None:
    """Share of the KV cache that the decoding sequences of one replica take on average.

    Equation: (decoding x bytes of one sequence of the mean context / attention ranks + what is held once) /
    cache of one GPU.

    Args:
        specs: columns of the step model.
        index: row of the configuration.
        decoding: sequences decoding on average.
        context_tokens: their mean context, prompt and what is answered so far.
        kv_cache_bytes: cache of one GPU; with none, the share is not known.
        copy_bytes: held once on one GPU.
        spared_bytes: what a sequence does not hold itself because of it.
    """
    if kv_cache_bytes <= 0.0:
        return None
    one = float(sequence_bytes(specs, np.array([index], dtype=np.int64), context_tokens)[0])
    own = decoding * max(one - spared_bytes, 0.0) / float(specs.attention_dp[index])
    return (own + copy_bytes) / kv_cache_bytes
