"""Decoders that read a few of the tokens they keep, or merge them: MiniMax-M3, DeepSeek-V4."""

from __future__ import annotations

from planner.loaders.hf_config.common import (
    SOURCE,
    Heads,
    Reading,
    Sizes,
    Windows,
    attention,
    mixed_shape,
    read_chosen,
    read_heads,
    read_sizes,
)
from planner.loaders.hf_config.experts import read_first_dense
from planner.loaders.hf_config.fields import Fields
from planner.schema.catalog import Attention, Indexer, Mlp, Moe


def minimax_m3(fields: Fields) -> Reading:
    """MiniMax-M3: most layers read the best blocks of the cache, picked by a small attention of their own."""
    sizes = read_sizes(fields, context=1048576)
    heads = attention(
        read_heads(fields, sizes.hidden),
        Windows(sizes.layers),
        qk_norm="per-head-dim" if fields.flag("use_qk_norm", True) else "none",
    )
    picked, indexer = _blocks(fields, sizes)
    if indexer is not None:
        sparse = {"sparse_top_k_tokens": picked, "sparse_layers": indexer.layers, "indexer": indexer}
        heads = heads.model_copy(update=sparse)
    experts = fields.count("num_local_experts")
    width = fields.count("moe_intermediate_size", also=("intermediate_size",))
    moe = Moe(
        layers=sizes.layers - read_first_dense(fields, sizes, 0),
        experts=experts,
        experts_per_token=read_chosen(fields, experts),
        expert_intermediate_size=width,
        shared_intermediate_size=fields.count("shared_intermediate_size", width)
        * fields.count("n_shared_experts", 0, least=0),
        router_bias=fields.flag("use_routing_bias", True),
    )
    inner = Mlp(intermediate_size=fields.count("dense_intermediate_size", also=("intermediate_size",)))
    indexers = 0
    if indexer is not None:
        indexers = indexer.layers * sizes.hidden * (indexer.heads + 1) * indexer.head_dim
    shape = mixed_shape(sizes, heads, moe, inner, other_params=indexers)
    note = "Layers of multi-token prediction are not counted." if fields.written("num_mtp_modules") else ""
    return Reading(shape, sizes.context, note=note)


def _blocks(fields: Fields, sizes: Sizes) -> tuple[int, Indexer | None]:
    """Tokens that a sparse layer reads, and the indexers of those layers.

    Their keys are 16 bit unless told otherwise (``indexer_kv_dtype`` of TensorRT-LLM); values of their own
    are switched off in published checkpoints.
    """
    section = fields.section("sparse_attention_config")
    if section is None or not section.flag("use_sparse_attention", True):
        return 0, None
    listed = section.counts("sparse_attention_freq") or (1,) * sizes.layers
    layers = min(sum(1 for kind in listed if kind), sizes.layers)
    tokens = section.count("sparse_topk_blocks") * section.count("sparse_block_size")
    heads, dim = section.count("sparse_num_index_heads"), section.count("sparse_index_dim")
    if layers == 0:
        return 0, None
    return tokens, Indexer(layers=layers, heads=heads, head_dim=dim, key_format="bf16", source=SOURCE)


_NOTE = (
    "Layers that merge 4 tokens count as full ones whose step reads the top entries; of those that merge "
    "more, and of those that merge none, only the window is counted. Weights of compressors, indexers and "
    "hyper-connections, and layers of multi-token prediction, are not counted."
)
_FINE = 4
"""Tokens an entry of the layers that pick entries by an indexer."""


def deepseek_v4(fields: Fields) -> Reading:
    """DeepSeek-V4: one vector is key and value of all heads; layers merge 4 or 128 tokens, and keep a window.

    The closest that one size of entry and one window can say; the note names what is left out.
    """
    sizes = read_sizes(fields, context=1048576, vocab=129280)
    experts, width = fields.count("n_routed_experts"), fields.count("moe_intermediate_size")
    moe = Moe(
        layers=sizes.layers,
        experts=experts,
        experts_per_token=read_chosen(fields, experts),
        expert_intermediate_size=width,
        shared_intermediate_size=width * fields.count("n_shared_experts", 1, least=0),
        router_bias=True,
    )
    return Reading(mixed_shape(sizes, _compressed(fields, sizes), moe, None), sizes.context, note=_NOTE)


def _compressed(fields: Fields, sizes: Sizes) -> Attention:
    # One ratio more than layers: the last is that of the prediction layer.
    ratios = (fields.counts("compress_ratios") or (_FINE,) * sizes.layers)[: sizes.layers]
    if len(ratios) < sizes.layers:
        fields.fault("compress_ratios", f"{len(ratios)} entries", f"at least {sizes.layers}, one per layer")
    fine = sum(1 for ratio in ratios if ratio == _FINE)
    own = Heads(fields.count("num_attention_heads"), 1, fields.count("head_dim"))
    rank, groups = fields.count("q_lora_rank"), fields.count("o_groups")
    inner, width = own.query * own.dim, fields.count("o_lora_rank")
    params = sizes.hidden * (rank + own.dim) + rank * inner + inner * width
    params += groups * width * sizes.hidden
    windows = Windows(fine, sizes.layers - fine, fields.count("sliding_window", 128))
    top = fields.optional_count("index_topk")
    indexer = None
    if top and fine:
        indexer = Indexer(
            layers=fine,
            heads=fields.count("index_n_heads"),
            head_dim=fields.count("index_head_dim"),
            key_format="fp8",
            source=SOURCE,
        )
    return attention(own, windows).model_copy(
        update={
            "shared_kv": "cache",
            "tokens_per_entry": _FINE,
            "params_per_layer": params,
            "sparse_top_k_tokens": top and top * _FINE,
            "indexer": indexer,
        }
    )
