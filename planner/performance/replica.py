"""Configurations as replicas of the load model: step times, overheads of the first token."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from planner.performance.distance import LoadPoint
from planner.performance.open_load import Replicas
from planner.performance.user_factors import RowFactors, row_factors
from planner.physics.coldstart import cold_start_s, load_s
from planner.schema.candidates import FloatArray, IntArray
from planner.schema.catalog import Storage
from planner.schema.configuration import Configuration
from planner.schema.traffic import Traffic
from planner.steptime.build import build_specs
from planner.steptime.drafting import Drafts, drafts_of
from planner.steptime.memory import MemoryAccount
from planner.steptime.prompt_start import prompt_starts_s
from planner.steptime.rates import first_token_overhead_s
from planner.steptime.specs import StepSpecs
from planner.steptime.step import total_step_s

FLOPS_PER_PARAM = 2.0
"""Multiply and add."""


def replicas(
    configurations: Sequence[Configuration],
    specs: StepSpecs,
    traffic: Traffic,
    margin_z_score: float = 0.0,
    disaggregated: bool = False,
) -> Replicas:
    """What the load model needs of every configuration.

    ``margin_z_score``: see `LoadPolicy`; the margin follows what is known of each configuration at these
    lengths, and ``disaggregated`` from workers of the other phase.
    """
    own = row_factors(configurations, margin_z_score, load_point(traffic, disaggregated=disaggregated))
    drafts = drafts_of(configurations)
    return Replicas(
        step_s=partial(_step_s, specs, own, drafts),
        first_token_factor=own.first_token,
        batched_tokens=np.array([float(item.batched_tokens) for item in configurations]),
        first_token_overhead_s=np.array(
            [first_token_overhead_s(item.calibration, item.engine.id) for item in configurations]
        ),
        before_prompt_s=prompt_starts_s(configurations, specs, traffic.input_mean_tokens)
        + np.array([image_encoder_s(item, traffic) for item in configurations]),
        prompt_servers=specs.attention_dp * specs.pp,
        drafts=drafts,
        stages=specs.pp,
        percentiles=own.percentiles,
    )


def _step_s(
    specs: StepSpecs,
    own: RowFactors,
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
    step_s = own.step[rows] * step_s
    return step_s if own.beyond is None else own.beyond.factor(rows, decode_sequences) * step_s


def load_point(traffic: Traffic, batch: float = 1.0, disaggregated: bool = False) -> LoadPoint:
    """A load on one replica as the spread of its predictions sees it: mean lengths."""
    return LoadPoint(batch, traffic.input_mean_tokens + traffic.output_mean_tokens, disaggregated)


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
    return start_seconds(item, float(account.weights_bytes[index]), storage)


def start_seconds(item: Configuration, weights: float, storage: Storage) -> float:
    """The same for weights of so many bytes on each GPU."""
    host_link = item.accelerator.host.pcie_one_way
    link = float(host_link) if host_link is not None else float(storage.read)
    loading = load_s(weights * min(item.gpus, item.node_gpus), float(storage.read), weights, link)
    startup = item.engine.startup
    return float(cold_start_s(float(startup.container), loading, float(startup.compile)))
