"""Multi-head latent attention: DeepSeek-V2, V3, R1, V3.2, Kimi-K2, GLM-5."""

from __future__ import annotations

from planner.loaders.hf_config.common import (
    SOURCE,
    Heads,
    Reading,
    Sizes,
    mixed_shape,
    read_chosen,
    read_sizes,
)
from planner.loaders.hf_config.experts import dense_part, read_first_dense
from planner.loaders.hf_config.fields import Fields
from planner.schema.catalog import Attention, Indexer, MlaShape, Moe


def deepseek(fields: Fields) -> Reading:
    """DeepSeek-V2 and later; an indexer where sparse attention is configured (``index_topk``)."""
    sizes = read_sizes(fields, context=2048)
    heads = latent_attention(fields, sizes)
    moe = _moe(fields, sizes)
    indexer = _indexer(fields, sizes, heads)
    if indexer is not None:
        heads = heads.model_copy(update={"indexer": indexer})
    note = ""
    if fields.optional_count("num_nextn_predict_layers", least=0):
        note = "Layers of multi-token prediction are not counted."
    shape = mixed_shape(
        sizes,
        heads,
        moe,
        dense_part(fields, sizes, moe),
        other_params=_indexer_params(heads, sizes.hidden),
    )
    return Reading(shape, sizes.context, note=note)


def latent_attention(fields: Fields, sizes: Sizes) -> Attention:
    """Ranks and head sizes of the compressed paths; every layer keeps every token."""
    query = fields.count("num_attention_heads")
    mla = MlaShape(
        q_lora_rank=fields.optional_count("q_lora_rank"),
        kv_lora_rank=fields.count("kv_lora_rank"),
        qk_nope_head_dim=fields.count("qk_nope_head_dim"),
        qk_rope_head_dim=fields.count("qk_rope_head_dim"),
        v_head_dim=fields.count("v_head_dim"),
    )
    if not fields.written("q_lora_rank"):
        fields.fault("q_lora_rank", "nothing", "the rank of the query path, or null where it is direct")
    heads = Heads(
        query, fields.count("num_key_value_heads", query), mla.qk_nope_head_dim + mla.qk_rope_head_dim
    )
    bias = fields.flag("attention_bias", False)
    return Attention(
        kind="mla",
        query_heads=heads.query,
        kv_heads=heads.kv,
        head_dim=heads.dim,
        qkv_bias=bias,
        output_bias=bias,
        full_layers=sizes.layers,
        sparse_top_k_tokens=fields.optional_count("index_topk"),
        mla=mla,
    )


def _moe(fields: Fields, sizes: Sizes) -> Moe | None:
    if fields.optional_count("n_routed_experts", least=0) == 0:
        return None
    experts = fields.count("n_routed_experts")
    first = read_first_dense(fields, sizes, 0)
    every = fields.count("moe_layer_freq", 1)
    width = fields.count("moe_intermediate_size")
    chosen = read_chosen(fields, experts)
    shared = width * (fields.optional_count("n_shared_experts", least=0) or 0)
    layers = sum(1 for index in range(first, sizes.layers) if index % every == 0)
    if layers == 0:
        return None
    return Moe(
        layers=layers,
        experts=experts,
        experts_per_token=chosen,
        expert_intermediate_size=width,
        shared_intermediate_size=shared,
        router_bias=_has_correction_bias(fields),
    )


def _has_correction_bias(fields: Fields) -> bool:
    """The router of V3 and its successors carries one; V2 names another method."""
    default = "greedy" if fields.text("model_type") == "deepseek_v2" else "noaux_tc"
    return fields.text("topk_method", default) == "noaux_tc"


def _indexer(fields: Fields, sizes: Sizes, heads: Attention) -> Indexer | None:
    """The small attention that picks the tokens to read; layers may share that of a layer before them.

    Its keys are 8 bit in vLLM (``DeepseekV32IndexerCache``), SGLang (``index_k_with_scale_buffer``) and
    TensorRT-LLM (``indexer_k_cache``), whatever the format of the cache beside them.
    """
    if heads.sparse_top_k_tokens is None:
        return None
    picking = [kind == "full" for kind in fields.texts("indexer_types")] or [True] * sizes.layers
    return Indexer(
        layers=max(sum(picking), 1),
        heads=fields.count("index_n_heads"),
        head_dim=fields.count("index_head_dim"),
        key_format="fp8",
        source=SOURCE,
    )


def _indexer_params(heads: Attention, hidden_size: int) -> int:
    """Weights of all indexers: query, key with norm, head weights."""
    indexer, mla = heads.indexer, heads.mla
    if indexer is None or mla is None:
        return 0
    query = (mla.q_lora_rank or hidden_size) * indexer.heads * indexer.head_dim
    key = hidden_size * indexer.head_dim + 2 * indexer.head_dim
    return indexer.layers * (query + key + hidden_size * indexer.heads)
