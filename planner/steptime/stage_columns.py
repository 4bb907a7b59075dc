"""Columns of layers and weights: what one pipeline stage and its fullest GPU hold."""

from __future__ import annotations

import numpy as np

from planner.physics import attention as attention_of
from planner.physics import memory, parallelism
from planner.physics.weights import BITS_PER_BYTE, kv_bytes_per_token, kv_share_per_rank
from planner.schema.catalog import NumberFormat
from planner.schema.facts import ModelFacts
from planner.steptime.interning import Numbers, by_distinct
from planner.steptime.table import Columns, ConfigurationTable
from planner.steptime.weights import head_bits, weight_parts

NO_WINDOW_TOKENS = 1.0
"""Stands where no layer has a window; the share of such layers is 0."""


def shape_columns(table: ConfigurationTable) -> Columns:
    """Sizes of the model and layers of the largest stage."""
    return {
        "hidden_size": table.fact("hidden_size"),
        "vocabulary_size": table.fact("vocab_size"),
        "stage_layers": table.staged(table.fact("layers")),
        "stage_attention_layers": table.staged(table.fact("attention_layers")),
        "stage_moe_layers": table.staged(table.fact("moe_layers")),
        "experts": table.fact("experts"),
        "experts_per_token": table.fact("experts_per_token"),
        "expert_params": table.fact("expert_params"),
    }


def weight_columns(table: ConfigurationTable) -> Columns:
    """Parameters and bytes that a stage reads in a step, and the weights that the fullest GPU stores.

    ``(attention + dense + shared + ends) / t + f routed / m + norms + routers``: attention-data-parallel
    ranks replicate all but the routed experts; norms and routers are replicated on every GPU. Of the
    experts a GPU holds the share f of its expert-parallel rank (whole ones, so the fullest rank has
    ``ceil(E / ep)``), one of ``m = t g / ep`` shards of each. ``ends`` is the embedding and the head, the
    larger of the two with several stages.
    """
    (attention, dense, routed, shared, router, norms, other, embedding, head, vision) = by_distinct(
        [table.model, table.weights, table.attention_weights, Numbers(table.expert_shards)], _part_bytes
    )
    mixer = table.stage_fraction(table.fact("attention_layers") + table.fact("linear_layers"))
    dense_share = table.stage_fraction(table.fact("dense_layers"))
    moe_share = table.stage_fraction(table.fact("moe_layers"))
    mlp_bytes = dense_share * dense + moe_share * shared + other / table.pp
    first, last = embedding + vision, np.where(head > 0, head, embedding)
    ends = np.where(table.pp > 1, np.maximum(first, last), first + head)
    experts = np.maximum(table.fact("experts"), 1.0)
    held = np.asarray(parallelism.experts_per_gpu(experts, table.ep) / experts)
    return {
        "attention_params": mixer * table.model.column(lambda m: m.mixer_params),
        "attention_bytes": mixer * attention,
        "mlp_params": (
            dense_share * table.model.column(lambda m: m.dense_layers * m.dense_mlp_params_per_layer)
            + moe_share * table.model.column(_shared_params)
            + table.fact("other_params") / table.pp
        ),
        "mlp_bytes": mlp_bytes + moe_share * router,
        "head_value_bytes": table.weights.column(lambda form: head_bits(form) / BITS_PER_BYTE),
        "layer_experts_bytes": routed / np.maximum(table.fact("moe_layers"), 1.0),
        "weight_bytes": (mixer * attention + mlp_bytes + ends) / table.tp
        + moe_share * held * routed / table.expert_shards
        + norms / table.pp
        + moe_share * router,
    }


def _shared_params(model: ModelFacts) -> int:
    return model.moe_layers * (model.shared_params_per_moe_layer + model.router_params_per_moe_layer)


def _part_bytes(
    model: ModelFacts, weights: NumberFormat, attention: NumberFormat, expert_shards: int
) -> tuple[float, ...]:
    parts = weight_parts(model, weights, attention, expert_shards)
    return (
        parts.attention_bytes,
        parts.dense_mlp_bytes,
        parts.routed_bytes,
        parts.shared_bytes,
        parts.router_bytes,
        parts.norm_bytes,
        parts.other_bytes,
        parts.embedding_bytes,
        parts.lm_head_bytes,
        parts.vision_bytes,
    )


def attention_columns(table: ConfigurationTable) -> Columns:
    """Windows, work per context token and cache bytes of one rank.

    A step reads from layers with a window what a full one would of ``w v_w / v`` tokens, v values a token.
    """
    window, sliding = table.fact("window_tokens"), table.fact("sliding_layers")
    read_layers, read_tokens = by_distinct([table.model], _windows_read)
    heads = attention_of.heads_per_rank_fraction(table.fact("query_heads"), table.tp)
    share = kv_share_per_rank(table.fact("kv_heads"), table.tp)
    share_sliding = kv_share_per_rank(
        table.model.column(lambda m: m.sliding_kv_heads or m.kv_heads), table.tp
    )
    bits = table.kv.column(lambda form: float(form.cache_bits))
    values = table.fact("kv_elements_per_token_layer")
    queries = heads * table.model.column(_query_values)
    index_share = table.stage_fraction(table.fact("full_layers"))
    index_bytes = index_share * table.fact("index_bytes_per_token")
    state = table.fact("state_bytes_per_sequence") * table.stage_fraction(table.fact("linear_layers"))
    return {
        "windowed_fraction": read_layers / np.maximum(table.fact("attention_layers"), 1.0),
        "window_tokens": read_tokens,
        "decode_flops_per_context_token": heads * table.fact("decode_attention_flops_per_context_token"),
        "prefill_flops_per_context_token": heads * table.fact("prefill_attention_flops_per_context_token"),
        "query_values": queries,
        # A latent cache is expanded to keys and values of every head before prompts attend.
        "key_values": np.where(table.fact("is_mla") > 0, 2.0 * queries, share * values),
        "kv_bytes_per_token_layer": kv_bytes_per_token(1.0, values, bits, share),
        "state_bytes_per_sequence": state / table.tp,
        "kv_full_bytes_per_token": kv_bytes_per_token(
            table.staged(table.fact("full_layers")), values, bits, share
        )
        + index_bytes,
        "index_bytes_per_context_token": index_bytes,
        "index_flops_per_context_token": index_share * table.fact("index_flops_per_context_token"),
        "kv_sliding_bytes_per_token": kv_bytes_per_token(
            table.staged(sliding), table.model.column(lambda m: m.sliding_elements), bits, share_sliding
        ),
        "kv_window_tokens": np.maximum(window, NO_WINDOW_TOKENS),
    }


def _query_values(model: ModelFacts) -> float:
    """Queries (or outputs, whichever attention work says) of one token: ``f_p / 4``, all heads."""
    return model.prefill_attention_flops_per_context_token / 4.0


def _windows_read(model: ModelFacts) -> tuple[float, float]:
    """Layers of which a step reads a part of the tokens, and how many, in entries of a full layer."""
    sparse = (model.sparse_layers or model.full_layers) if model.sparse_top_k_tokens else 0
    window = model.window_tokens * model.sliding_elements / max(model.kv_elements_per_token_layer, 1)
    layers = sparse + model.sliding_layers
    tokens = sparse * model.sparse_top_k_tokens + model.sliding_layers * window
    return float(layers), tokens / layers if tokens else NO_WINDOW_TOKENS


def memory_columns(table: ConfigurationTable) -> Columns:
    """Capacity, and what an engine keeps beside weights and cache."""
    engine = table.engine.column
    alone = table.stage_gpus * table.pp == 1
    single = engine(lambda e: float(e.memory.framework))
    parallel = engine(lambda e: float(e.memory.framework_parallel))
    running = by_distinct([table.engine, table.accelerator], lambda e, a: (e.limits.running_on(a),))[0]
    sampled = np.minimum(engine(lambda e: e.memory.sampler_sequences), running)
    sampled_vision = np.minimum(
        engine(lambda e: e.memory.sampler_sequences_vision or e.memory.sampler_sequences), running
    )
    return {
        "capacity_bytes": table.accelerator.column(lambda a: float(a.memory.reported)),
        "engine_utilization": table.memory_utilization,
        "takes_free_share": engine(lambda e: float(e.memory.basis == "free-after-load")),
        "reserves_answer": engine(lambda e: float(e.memory.reserves_answer)),
        "contiguous": engine(lambda e: float(e.memory.contiguous)),
        "kv_block_tokens": engine(lambda e: e.memory.kv_block_tokens),
        "framework_bytes": np.where(alone, single, parallel),
        "sampler_sequences": np.where(table.fact("vision_params") > 0, sampled_vision, sampled),
        "sampler_bytes_per_logit": engine(lambda e: e.memory.sampler_bytes_per_logit),
        "workspace_copies": engine(lambda e: float(e.memory.workspace_copies)),
        "load_copy": engine(lambda e: float(e.memory.load_copy)),
        "host_copy": engine(lambda e: float(e.memory.host_copy)),
        "max_running": running,
        "widest_row_elements": np.asarray(
            memory.widest_row_elements(
                table.fact("hidden_size"),
                table.model.column(_attention_row),
                table.model.column(_mlp_row),
                table.tp,
            )
        ),
        "image_elements": table.model.column(
            lambda m: m.tokens_per_image * m.patches_per_token * m.vision_hidden_size
        ),
    }


def _attention_row(model: ModelFacts) -> float:
    """Queries, keys and values of one token."""
    return model.query_heads * model.head_dim + model.kv_elements_per_token_layer


def _mlp_row(model: ModelFacts) -> float:
    """Gate and up projections of one token, two of three matrices: dense, or of all experts that it uses."""
    dense = model.dense_mlp_params_per_layer
    routed = model.shared_params_per_moe_layer + model.experts_per_token * model.expert_params
    return 2.0 / 3.0 * max(dense, routed) / model.hidden_size
