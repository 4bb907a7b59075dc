"""Mixture-of-experts decoders with grouped-query attention.

Mixtral, Qwen2 and Qwen3 MoE, GLM-4 MoE, MiniMax-M2, gpt-oss, Llama 4. One reader per architecture.
"""

from __future__ import annotations

from planner.loaders.hf_config.common import (
    Reading,
    Sizes,
    Windows,
    attention,
    mixed_shape,
    read_chosen,
    read_heads,
    read_layer_types,
    read_sizes,
    read_windows,
)
from planner.loaders.hf_config.dense import qwen_windows
from planner.loaders.hf_config.fields import Fields
from planner.schema.catalog import Mlp, Moe


def mixtral(fields: Fields) -> Reading:
    """Mixtral: every layer routes; a window only if written."""
    sizes = read_sizes(fields, context=131072, vocab=32000)
    windows = read_windows(fields, sizes, window=fields.optional_count("sliding_window"))
    heads = attention(read_heads(fields, sizes.hidden, kv=8), windows)
    experts = fields.count("num_local_experts", 8)
    moe = Moe(
        layers=sizes.layers,
        experts=experts,
        experts_per_token=read_chosen(fields, experts, 2),
        expert_intermediate_size=fields.count("intermediate_size"),
    )
    return Reading(mixed_shape(sizes, heads, moe, None), sizes.context)


def qwen2_moe(fields: Fields) -> Reading:
    """Qwen1.5 and Qwen2 MoE: biased projections, a gated shared expert."""
    sizes = read_sizes(fields, context=32768, vocab=151936)
    heads = attention(read_heads(fields, sizes.hidden), qwen_windows(fields, sizes), qkv_bias=True)
    shared = fields.count("shared_expert_intermediate_size", 5632, least=0)
    moe = qwen_moe(fields, sizes, shared=shared, experts=60, chosen=4, inner=1408)
    gates = moe.layers * sizes.hidden if moe and shared else 0
    return Reading(
        mixed_shape(sizes, heads, moe, dense_part(fields, sizes, moe), other_params=gates), sizes.context
    )


def qwen3_moe(fields: Fields) -> Reading:
    """Qwen3 MoE: query-key norms, no shared expert."""
    sizes = read_sizes(fields, context=32768, vocab=151936)
    bias = fields.flag("attention_bias", False)
    heads = attention(
        read_heads(fields, sizes.hidden, kv=4),
        qwen_windows(fields, sizes),
        qkv_bias=bias,
        output_bias=bias,
        qk_norm="per-head-dim",
    )
    moe = qwen_moe(fields, sizes, shared=0, experts=128, chosen=8, inner=768)
    return Reading(mixed_shape(sizes, heads, moe, dense_part(fields, sizes, moe)), sizes.context)


def qwen_moe(
    fields: Fields, sizes: Sizes, *, shared: int, experts: int, chosen: int, inner: int
) -> Moe | None:
    """Routed layers by ``decoder_sparse_step`` and ``mlp_only_layers``; the numbers are defaults."""
    step = fields.count("decoder_sparse_step", 1)
    plain = set(fields.counts("mlp_only_layers") or ())
    layers = sum(1 for i in range(sizes.layers) if i not in plain and (i + 1) % step == 0)
    routed = fields.count("num_experts", experts)
    per_token = read_chosen(fields, routed, chosen)
    width = fields.count("moe_intermediate_size", inner)
    if layers == 0:
        return None
    return Moe(
        layers=layers,
        experts=routed,
        experts_per_token=per_token,
        expert_intermediate_size=width,
        shared_intermediate_size=shared,
    )


def dense_part(fields: Fields, sizes: Sizes, moe: Moe | None) -> Mlp | None:
    """The feed-forward part of the layers that do not route."""
    if moe is not None and moe.layers == sizes.layers:
        return None
    return Mlp(intermediate_size=fields.count("intermediate_size"))


def glm4_moe(fields: Fields) -> Reading:
    """GLM-4.5 and 4.6: a few dense layers first, a shared expert, a correction bias in the router."""
    sizes = read_sizes(fields, context=131072, vocab=151552)
    heads = attention(
        read_heads(fields, sizes.hidden),
        Windows(sizes.layers),
        qkv_bias=fields.flag("attention_bias", False),
        qk_norm="per-head-dim" if fields.flag("use_qk_norm", False) else "none",
    )
    experts = fields.count("n_routed_experts")
    width = fields.count("moe_intermediate_size")
    moe = Moe(
        layers=sizes.layers - read_first_dense(fields, sizes, 1),
        experts=experts,
        experts_per_token=read_chosen(fields, experts),
        expert_intermediate_size=width,
        shared_intermediate_size=width * fields.count("n_shared_experts", 1, least=0),
        router_bias=True,
    )
    return Reading(mixed_shape(sizes, heads, moe, dense_part(fields, sizes, moe)), sizes.context)


def read_first_dense(fields: Fields, sizes: Sizes, default: int) -> int:
    """Dense layers in front of the routed ones, fewer than there are layers."""
    first = fields.count("first_k_dense_replace", default, least=0)
    if first >= sizes.layers:
        fields.fault("first_k_dense_replace", str(first), f"fewer than num_hidden_layers ({sizes.layers})")
        return 0
    return first


def minimax_m2(fields: Fields) -> Reading:
    """MiniMax-M2: every layer routes; ``intermediate_size`` is one expert; one norm weight per head."""
    sizes = read_sizes(fields, context=196608)
    heads = attention(
        read_heads(fields, sizes.hidden),
        Windows(sizes.layers),
        qk_norm="per-head" if fields.flag("use_qk_norm", True) else "none",
    )
    experts = fields.count("num_local_experts")
    moe = Moe(
        layers=sizes.layers,
        experts=experts,
        experts_per_token=read_chosen(fields, experts),
        expert_intermediate_size=fields.count("intermediate_size"),
        shared_intermediate_size=fields.count("shared_intermediate_size", 0, least=0),
        router_bias=fields.flag("use_routing_bias", True),
    )
    return Reading(mixed_shape(sizes, heads, moe, None), sizes.context)


def gpt_oss(fields: Fields) -> Reading:
    """gpt-oss: windows and full layers in turn, attention sinks, biases everywhere.

    Its model card counts active parameters without the input embedding.
    """
    sizes = read_sizes(fields, context=131072, vocab=201088)
    bias = fields.flag("attention_bias", True)
    windows = read_windows(
        fields,
        sizes,
        window=fields.count("sliding_window", 128),
        sliding=[index % 2 == 0 for index in range(sizes.layers)],
    )
    heads = attention(
        read_heads(fields, sizes.hidden, kv=8, dim=64), windows, qkv_bias=bias, output_bias=bias, sinks=True
    )
    experts = fields.count("num_local_experts", also=("num_experts",))
    moe = Moe(
        layers=sizes.layers,
        experts=experts,
        experts_per_token=read_chosen(fields, experts, 4, also=("experts_per_token",)),
        expert_intermediate_size=fields.count("intermediate_size"),
        bias=True,
        router_bias=True,
    )
    return Reading(mixed_shape(sizes, heads, moe, None), sizes.context, active_excludes_embedding=True)


def llama4(fields: Fields) -> Reading:
    """Llama 4: one shared expert beside each routed one, chunked attention on three of four layers."""
    sizes = read_sizes(fields, context=131072, vocab=202048)
    bias = fields.flag("attention_bias", False)
    chunk = fields.optional_count("attention_chunk_size") if fields.written("attention_chunk_size") else 8192
    windows = read_windows(fields, sizes, window=chunk, sliding=_chunked(fields, sizes))
    heads = attention(
        read_heads(fields, sizes.hidden, query=40, kv=8, dim=128), windows, qkv_bias=bias, output_bias=bias
    )
    experts = fields.count("num_local_experts", 16)
    width = fields.count("intermediate_size")
    chosen, layers = read_chosen(fields, experts, 1), _llama4_routed(fields, sizes)
    moe = None
    if layers:
        moe = Moe(
            layers=layers,
            experts=experts,
            experts_per_token=chosen,
            expert_intermediate_size=width,
            shared_intermediate_size=width,
        )
    mlp = (
        Mlp(intermediate_size=fields.count("intermediate_size_mlp", 16384)) if layers < sizes.layers else None
    )
    return Reading(mixed_shape(sizes, heads, moe, mlp), sizes.context)


def _chunked(fields: Fields, sizes: Sizes) -> list[bool]:
    """Layers with rotary positions are chunked; every ``no_rope_layer_interval``-th has none and is full."""
    if read_layer_types(fields, sizes.layers):
        return []
    listed = fields.counts("no_rope_layers")
    if listed:
        if len(listed) != sizes.layers:
            fields.fault("no_rope_layers", f"{len(listed)} entries", f"{sizes.layers}, one per layer")
            return [False] * sizes.layers
        return [value != 0 for value in listed]
    interval = fields.count("no_rope_layer_interval", 4)
    return [(index + 1) % interval != 0 for index in range(sizes.layers)]


def _llama4_routed(fields: Fields, sizes: Sizes) -> int:
    listed = fields.counts("moe_layers")
    if listed is not None:
        if any(index >= sizes.layers for index in listed):
            fields.fault("moe_layers", f"layer {max(listed)}", f"layers below {sizes.layers}")
        return sum(1 for index in set(listed) if index < sizes.layers)
    return sizes.layers // fields.count("interleave_moe_layer_step", 1)
