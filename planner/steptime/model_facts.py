"""A model's tensors, counted one by one: what it weighs, what a token uses, what a token caches.

Counts are exact integers. Norms, biases, routers and attention sinks count; buffers and tensors of
multi-token prediction do not. Source of the shapes: each model's published configuration.
"""

from __future__ import annotations

from planner.schema.catalog import Attention, MlaShape, Mlp, Model, ModelShape, Moe
from planner.schema.facts import ModelFacts
from planner.steptime.remembered import Remembered

_SCALE_BYTES, _SCALED_VALUES = 4, 128
"""The scale of 8-bit index keys, and the values that share it (``quant_block_size`` of engines)."""

_KNOWN: Remembered[ModelFacts] = Remembered(64)


def model_facts(model: Model) -> ModelFacts:
    """Count the tensors of a model.

    ``params_active`` are the decoder weights that one token uses: all but the vision tower and the
    experts it is not routed to. The input embedding counts as active, unless the publisher leaves it out
    (``active_excludes_embedding``); ``params_active_excl_input_embedding`` never counts it, except where
    it doubles as the head.
    """
    return _KNOWN.of((model,), lambda: _counted(model))


def _counted(model: Model) -> ModelFacts:
    shape, attention, moe = model.shape, model.shape.attention, model.shape.moe
    embedding = shape.vocab_size * shape.hidden_size
    head = 0 if shape.tie_word_embeddings else embedding
    linear_layers = attention.linear.layers if attention.linear else 0
    linear_params = attention.linear.params_per_layer if attention.linear else 0
    attention_params = attention_params_per_layer(attention, shape.hidden_size)
    sliding = _sliding_attention(attention)
    sliding_params = attention_params_per_layer(sliding, shape.hidden_size)
    dense_mlp = mlp_params(shape.mlp, shape.hidden_size) if shape.mlp else 0
    norms = norm_params(shape)
    expert, shared, router = _moe_params(moe, shape.hidden_size) if moe else (0, 0, 0)
    moe_layers, experts, chosen = (moe.layers, moe.experts, moe.experts_per_token) if moe else (0, 0, 0)
    vision = model.vision

    always = attention.full_layers * attention_params + attention.sliding_layers * sliding_params
    always += linear_layers * linear_params + shape.dense_layers * dense_mlp
    always += moe_layers * (shared + router) + norms + shape.other_params
    total = embedding + head + always + moe_layers * experts * expert + (vision.params if vision else 0)
    worked = (head or embedding) + always + moe_layers * chosen * expert
    looked_up = embedding if head and not model.active_excludes_embedding else 0
    decode_flops, prefill_flops = _attention_flops(attention)
    index_layers, index_bytes, index_flops = _index(attention)
    return ModelFacts(
        id=model.id,
        hidden_size=shape.hidden_size,
        layers=shape.layers,
        vocab_size=shape.vocab_size,
        is_mla=attention.mla is not None,
        query_heads=attention.query_heads,
        kv_heads=1 if attention.mla else attention.kv_heads,
        head_dim=_query_head_dim(attention),
        full_layers=attention.full_layers,
        sliding_layers=attention.sliding_layers,
        window_tokens=attention.window_tokens or 0,
        sparse_top_k_tokens=attention.sparse_top_k_tokens or 0,
        linear_layers=linear_layers,
        attention_params_per_layer=attention_params,
        linear_params_per_layer=linear_params,
        dense_layers=shape.dense_layers,
        dense_mlp_params_per_layer=dense_mlp,
        moe_layers=moe_layers,
        experts=experts,
        experts_per_token=chosen,
        expert_params=expert,
        expert_hidden_size=(moe.latent_size or shape.hidden_size) if moe else 0,
        expert_intermediate_size=moe.expert_intermediate_size if moe else 0,
        shared_params_per_moe_layer=shared,
        router_params_per_moe_layer=router,
        norm_params=norms,
        other_params=shape.other_params,
        embedding_params=embedding,
        lm_head_params=head,
        vision_params=vision.params if vision else 0,
        tokens_per_image=vision.tokens_per_image if vision else 0,
        patches_per_token=vision.patches_per_token if vision else 0,
        vision_hidden_size=(vision.hidden_size or 0) if vision else 0,
        kv_elements_per_token_layer=_kv_elements(attention),
        decode_attention_flops_per_context_token=decode_flops,
        prefill_attention_flops_per_context_token=prefill_flops,
        state_bytes_per_sequence=attention.linear.state_bytes_per_sequence if attention.linear else 0,
        params_total=total,
        params_active=worked + looked_up,
        params_active_excl_input_embedding=worked,
        max_context_tokens=model.max_context_tokens,
        native_format=model.native_format,
        own_format=model.quantized_from or model.native_format,
        family=model.family,
        query_key_norm=attention.qk_norm != "none",
        sliding_params_per_layer=sliding_params if sliding_params != attention_params else 0,
        sliding_kv_heads=attention.sliding_heads.kv_heads if attention.sliding_heads else 0,
        sliding_kv_elements_per_token_layer=0 if sliding is attention else _kv_elements(sliding),
        sparse_layers=attention.sparse_layers or 0,
        index_layers=index_layers,
        index_bytes_per_token=index_bytes,
        index_flops_per_context_token=index_flops,
        index_eight_bit=attention.indexer is not None and attention.indexer.key_format == "fp8",
        fp8_block_scales=model.fp8_scales == "block",
    )


def _sliding_attention(attention: Attention) -> Attention:
    """Attention of the layers that keep a window, as if all layers were such."""
    heads = attention.sliding_heads
    changed: dict[str, object] = {}
    if heads is not None:
        changed = {"kv_heads": heads.kv_heads, "head_dim": heads.head_dim}
    if attention.shared_kv == "projection":
        changed["shared_kv"] = "none"
    if attention.tokens_per_entry > 1:
        changed["tokens_per_entry"] = 1
    if attention.sliding_sinks:
        changed["sinks"] = True
    return attention.model_copy(update=changed) if changed else attention


def attention_params_per_layer(attention: Attention, hidden_size: int) -> int:
    """Weights of one attention layer: projections, biases, query-key norms, sinks.

    ``h (n_q d + n_kv (d + d_v)) + n_q d_v h`` plus the small vectors; an output gate is as wide
    as the queries.
    """
    if attention.params_per_layer is not None:
        return attention.params_per_layer
    if attention.mla is not None:
        return _mla_params(attention.mla, attention, hidden_size)
    heads_q, heads_kv, dim = attention.query_heads, attention.kv_heads, attention.head_dim
    v_dim = attention.v_head_dim or dim
    projected = (2 if attention.output_gate else 1) * heads_q * dim
    projected += heads_kv * (dim if attention.shared_kv != "none" else dim + v_dim)
    params = hidden_size * projected + heads_q * v_dim * hidden_size
    params += projected if attention.qkv_bias else 0
    params += hidden_size if attention.output_bias else 0
    params += {"none": 0, "per-head-dim": 2 * dim, "per-head": (heads_q + heads_kv) * dim}[attention.qk_norm]
    return params + (heads_q if attention.sinks else 0)


def _mla_params(mla: MlaShape, attention: Attention, hidden_size: int) -> int:
    """Query path with its rank and norm, KV down-projection with rope, KV norm, up-projection, output."""
    heads = attention.query_heads
    query = heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim)
    if mla.q_lora_rank is None:
        params = hidden_size * query
    else:
        params = hidden_size * mla.q_lora_rank + mla.q_lora_rank + mla.q_lora_rank * query
    down = mla.kv_lora_rank + mla.qk_rope_head_dim
    params += hidden_size * down + mla.kv_lora_rank
    params += mla.kv_lora_rank * heads * (mla.qk_nope_head_dim + mla.v_head_dim)
    params += heads * mla.v_head_dim * hidden_size
    if attention.output_gate:
        params += hidden_size * heads * mla.v_head_dim
    if attention.qkv_bias:  # the down-projections carry it
        params += (mla.q_lora_rank or 0) + down
    return params + (hidden_size if attention.output_bias else 0)


def mlp_params(mlp: Mlp, hidden_size: int) -> int:
    """Weights of one dense feed-forward part: ``3 h i`` gated, ``2 h i`` plain, plus biases."""
    return _feed_forward(hidden_size, mlp.intermediate_size, mlp.gated, mlp.bias)


def norm_params(shape: ModelShape) -> int:
    """Norms of all layers and the final norm, each a vector of hidden size (two with a bias)."""
    vectors = shape.layers * shape.norms_per_layer + 1
    return vectors * shape.hidden_size * (2 if shape.norm_bias else 1)


def _feed_forward(hidden_size: int, intermediate_size: int, gated: bool, bias: bool) -> int:
    inward = 2 if gated else 1
    params = (inward + 1) * hidden_size * intermediate_size
    return params + (inward * intermediate_size + hidden_size if bias and intermediate_size else 0)


def _moe_params(moe: Moe, hidden_size: int) -> tuple[int, int, int]:
    """One routed expert, all shared experts of a layer with the projections to the latent, its router."""
    expert = _feed_forward(moe.latent_size or hidden_size, moe.expert_intermediate_size, moe.gated, moe.bias)
    shared = _feed_forward(hidden_size, moe.shared_intermediate_size, moe.gated, moe.bias)
    shared += 2 * hidden_size * moe.latent_size if moe.latent_size else 0
    return expert, shared, moe.experts * (hidden_size + (1 if moe.router_bias else 0))


def _query_head_dim(attention: Attention) -> int:
    """Size of one query head: with latent attention the part without and the part with rotation."""
    mla = attention.mla
    return mla.qk_nope_head_dim + mla.qk_rope_head_dim if mla else attention.head_dim


def _kv_elements(attention: Attention) -> int:
    if attention.mla is not None:
        return attention.mla.kv_lora_rank + attention.mla.qk_rope_head_dim
    each = attention.head_dim
    if attention.shared_kv != "cache":
        each += attention.v_head_dim or attention.head_dim
    return attention.kv_heads * each // attention.tokens_per_entry


def _index(attention: Attention) -> tuple[int, int, int]:
    """Layers with an indexer; bytes of their keys, and FLOP to score a context token, all layers together.

    One key of ``d`` values for each entry of the cache, ``d + 4 d / 128`` bytes in 8 bit, and ``2 H d`` FLOP.
    """
    indexer = attention.indexer
    if indexer is None:
        layers = (attention.sparse_layers or attention.full_layers) if attention.sparse_top_k_tokens else 0
        return layers, 0, 0
    key = 2 * indexer.head_dim
    if indexer.key_format == "fp8":
        key = indexer.head_dim + _SCALE_BYTES * (indexer.head_dim // _SCALED_VALUES)
    flops = 2 * indexer.layers * indexer.heads * indexer.head_dim
    return (
        indexer.layers,
        indexer.layers * key // attention.tokens_per_entry,
        flops // attention.tokens_per_entry,
    )


def _attention_flops(attention: Attention) -> tuple[int, int]:
    """FLOP per new token, layer and context token: decode (MLA reads the latent), prefill."""
    heads, mla = attention.query_heads, attention.mla
    if mla is None:
        flops = 2 * heads * (attention.head_dim + (attention.v_head_dim or attention.head_dim))
        return flops // attention.tokens_per_entry, flops // attention.tokens_per_entry
    decode = 2 * heads * (2 * mla.kv_lora_rank + mla.qk_rope_head_dim)
    prefill = 2 * heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim + mla.v_head_dim)
    return decode, prefill
