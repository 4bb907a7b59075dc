"""Configurations as replicas of the load model: step times, memory, overheads of the first token."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from planner.performance.open_load import Replicas
from planner.performance.user_factors import row_factors
from planner.physics.arrays import Floats
from planner.physics.coldstart import cold_start_s, load_s
from planner.physics.prefix_cache import overcommitted_sequences
from planner.schema.candidates import BoolArray, FloatArray, IntArray
from planner.schema.catalog import Storage
from planner.schema.configuration import Configuration
from planner.schema.evaluation import HeldOnce
from planner.schema.traffic import Traffic
from planner.steptime.build import build_specs
from planner.steptime.drafting import Drafts, drafts_of
from planner.steptime.memory import MemoryAccount, max_sequences, memory_account, sequence_bytes
from planner.steptime.rates import first_token_overhead_s
from planner.steptime.specs import StepSpecs
from planner.steptime.step import total_step_s

FLOPS_PER_PARAM = 2.0
"""Multiply and add."""


@dataclass(frozen=True, eq=False)
class MemoryFit:
    """Memory of the fullest GPU per configuration, and the sequences it holds."""

    account: MemoryAccount
    own_bytes: FloatArray
    """KV that one sequence of the planned length holds itself on one GPU."""
    copy_bytes: FloatArray
    """KV on one GPU that is held once and read by all of them."""
    spared_bytes: FloatArray
    """Of a sequence, what lies in that copy."""
    cache_share: FloatArray | float
    """Blocks for what may be reused, beyond those of running sequences; a copy takes its room there first."""
    max_sequences: IntArray
    """Sequences of the planned length in one replica; 0 = does not fit. Capped by the engine."""

    def kv_bytes(self, sequences: Floats) -> FloatArray:
        """Cache that so many sequences of one attention rank need on one GPU."""
        running = sequences * self.own_bytes
        return np.maximum(running * (1.0 + self.cache_share), running + self.copy_bytes)


def memory_fit(
    specs: StepSpecs,
    traffic: Traffic,
    headroom_fraction: float,
    prefix_cache_share: float | FloatArray,
    pauses: BoolArray | None = None,
    once: HeldOnce | None = None,
) -> MemoryFit:
    """Memory account and sequences that fit, for all configurations.

    A prefix cache takes ``prefix_cache_share`` of blocks beyond those of active requests. What is held once
    takes its room there, or as much as it needs: sequences then hold only what follows it. Where tokens are
    dropped from the KV of running requests, one prompt is whole until it is computed.

    Equation: ``floor((pool - copy) / (sequence - spared))`` a rank; where all begin alike, no less than
    ``floor(pool / sequence)``.

    Args:
        specs: columns of the configurations.
        traffic: lengths.
        headroom_fraction: memory kept free.
        prefix_cache_share: one number, read only where something is cached, or one a configuration.
        pauses: where running requests that do not fit are set aside, so that KV is sized for what they need
            on average.
        once: what is held once.
    """
    rows = np.arange(len(specs), dtype=np.int64)
    account = memory_account(
        specs,
        rows,
        headroom_fraction,
        max(1.0, traffic.images_per_request),
    )
    single = not isinstance(prefix_cache_share, np.ndarray)
    share = 0.0 if single and traffic.cached_fraction <= 0.0 else prefix_cache_share
    active = account.kv_cache_bytes / (1.0 + share)
    tokens = math.ceil(traffic.kept_fraction * traffic.kv_tokens)
    if traffic.kept_fraction < 1.0:
        active = np.maximum(active - _whole_prompt_bytes(specs, rows, traffic), 0.0)
    holds = max_sequences(specs, rows, active, float(tokens))
    one = sequence_bytes(specs, rows, float(tokens))
    copy = spared = np.zeros_like(one)
    if once is not None and traffic.kept_fraction == 1.0:
        own = one - np.where(once.spared_bytes < one, once.spared_bytes, 0.0)
        room = np.maximum(np.minimum(active, account.kv_cache_bytes - once.copy_bytes), 0.0)
        sharing = specs.attention_dp * np.floor(room / own)
        wins = (once.copy_bytes > 0.0) & ((sharing > holds) if once.by_all else True)
        copy, spared = np.where(wins, once.copy_bytes, 0.0), np.where(wins, one - own, 0.0)
        active, holds, one = np.where(wins, room, active), np.where(wins, sharing, holds), one - spared
    if pauses is not None and pauses.any():
        mean = sequence_bytes(specs, rows, traffic.decode_context_tokens)
        spread = mean * (traffic.running_spread_tokens / traffic.decode_context_tokens)
        mean = mean - np.where(spared < mean, spared, 0.0)
        running = specs.attention_dp * np.floor(overcommitted_sequences(active, mean, spread))
        wins = pauses & (running > holds)
        holds, one = np.where(wins, running, holds), np.where(wins, mean, one)
    engine_cap = specs.max_running * specs.attention_dp
    held = np.where(account.fits, np.minimum(holds, engine_cap), 0.0)
    return MemoryFit(
        account=account,
        own_bytes=one,
        copy_bytes=copy,
        spared_bytes=spared,
        cache_share=share,
        max_sequences=np.asarray(held, dtype=np.int64),
    )


def _whole_prompt_bytes(specs: StepSpecs, rows: IntArray, traffic: Traffic) -> FloatArray:
    """What one prompt at P95 takes beyond what is kept of it, until it is computed."""
    whole = sequence_bytes(specs, rows, traffic.input_p95_tokens)
    return whole - sequence_bytes(specs, rows, traffic.kept_fraction * traffic.input_p95_tokens)


def replicas(
    configurations: Sequence[Configuration], specs: StepSpecs, traffic: Traffic, margin_z_score: float = 0.0
) -> Replicas:
    """What the load model needs of every configuration.

    ``margin_z_score``: see `LoadPolicy`; the margin follows what is known of each configuration.
    """
    own = row_factors(configurations, margin_z_score)
    drafts = drafts_of(configurations)
    return Replicas(
        step_s=partial(_step_s, specs, own.step, drafts),
        first_token_factor=own.first_token,
        batched_tokens=np.array([float(item.batched_tokens) for item in configurations]),
        first_token_overhead_s=np.array(
            [first_token_overhead_s(item.calibration, item.engine.id) for item in configurations]
        ),
        image_encoder_s=np.array([image_encoder_s(item, traffic) for item in configurations]),
        prompt_servers=specs.attention_dp * specs.pp,
        drafts=drafts,
        stages=specs.pp,
    )


def _step_s(
    specs: StepSpecs,
    factor: FloatArray,
    drafts: Drafts | None,
    rows: IntArray,
    decode_sequences: FloatArray,
    context_tokens: FloatArray,
    prefill_tokens: FloatArray,
    prefill_context_tokens: FloatArray,
    finishing_prompts: FloatArray,
) -> FloatArray:
    """Step times with the factors of each configuration, drafts included."""
    loads = (decode_sequences, context_tokens, prefill_tokens, prefill_context_tokens, finishing_prompts)
    step_s = total_step_s(specs, rows, *loads)
    if drafts is not None:
        step_s = step_s + drafts.time_s(rows, *loads)
    return factor[rows] * step_s


def specifications(configurations: Sequence[Configuration]) -> StepSpecs:
    """Columns of the step and memory models, one entry a configuration."""
    return build_specs(configurations)


def image_encoder_s(item: Configuration, traffic: Traffic) -> float:
    """Time to encode the images of one request on one GPU.

    Equation: 2 x vision parameters x patches / (16-bit peak x efficiency of large products).
    Assumes: the encoder is replicated, 16 bit, and bound by compute.
    """
    model = item.model
    if not traffic.images_per_request or not model.vision_params:
        return 0.0
    patches = traffic.images_per_request * model.tokens_per_image * model.patches_per_token
    shares = item.calibration.compute_efficiency[item.accelerator.architecture]
    efficiency = (shares.get("bf16") or shares["default"]).value
    flops_per_s = float(item.accelerator.compute.bf16) * efficiency
    return FLOPS_PER_PARAM * model.vision_params * patches / flops_per_s


def cold_start_seconds(item: Configuration, account: MemoryAccount, index: int, storage: Storage) -> float:
    """From an empty server to the first token, by storage path."""
    host_link = item.accelerator.host.pcie_one_way
    weights = float(account.weights_bytes[index])
    link = float(host_link) if host_link is not None else float(storage.read)
    loading = load_s(weights * min(item.gpus, item.node_gpus), float(storage.read), weights, link)
    startup = item.engine.startup
    return float(cold_start_s(float(startup.container), loading, float(startup.compile)))
