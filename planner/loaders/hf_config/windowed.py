"""Decoders whose windowed layers have heads of their own: Gemma 4, MiMo-V2-Flash, Step-3.7."""

from __future__ import annotations

from planner.loaders.hf_config.common import (
    Reading,
    Sizes,
    attention,
    mixed_shape,
    read_chosen,
    read_heads,
    read_sizes,
    read_windows,
)
from planner.loaders.hf_config.dense import every_nth_full
from planner.loaders.hf_config.experts import read_first_dense
from planner.loaders.hf_config.fields import Fields
from planner.schema.catalog import Mlp, Moe, SlidingHeads


def gemma4(fields: Fields) -> Reading:
    """Gemma 4: every sixth layer keeps everything, with fewer and wider heads than the others.

    Full layers project keys and values together. Beside its experts a layer has a dense part that every
    token takes: it counts as their shared expert.
    """
    sizes = read_sizes(fields, context=131072, tied=True, vocab=262144)
    windows = read_windows(
        fields, sizes, window=fields.count("sliding_window", 512), sliding=every_nth_full(sizes.layers, 6)
    )
    own = read_heads(fields, sizes.hidden, dim=256)
    heads = attention(own, windows, qkv_bias=fields.flag("attention_bias", False), qk_norm="per-head-dim")
    changed: dict[str, object] = {
        "kv_heads": fields.count("num_global_key_value_heads", own.kv),
        "head_dim": fields.count("global_head_dim", own.dim),
        "shared_kv": "projection" if fields.flag("attention_k_eq_v", False) else "none",
    }
    if windows.sliding:
        changed["sliding_heads"] = SlidingHeads(kv_heads=own.kv, head_dim=own.dim)
    heads = heads.model_copy(update=changed)
    inner, moe = fields.count("intermediate_size"), None
    if fields.flag("enable_moe_block", False):
        experts = fields.count("num_experts")
        moe = Moe(
            layers=sizes.layers,
            experts=experts,
            experts_per_token=read_chosen(fields, experts, also=("top_k_experts",)),
            expert_intermediate_size=fields.count(
                "moe_intermediate_size", also=("expert_intermediate_size",)
            ),
            shared_intermediate_size=inner,
        )
    _refuse_layers_of_their_own(fields)
    shape = mixed_shape(sizes, heads, moe, Mlp(intermediate_size=inner))
    return Reading(shape.model_copy(update={"norms_per_layer": 4}), sizes.context)


def _refuse_layers_of_their_own(fields: Fields) -> None:
    """The small models for devices have embeddings of each layer and layers that share a cache."""
    for key in ("hidden_size_per_layer_input", "num_kv_shared_layers"):
        if fields.optional_count(key, least=0):
            fields.fault(key, str(fields.values[key]), "0: a model for servers, not for devices (E2B, E4B)")


def mimo_v2_flash(fields: Fields) -> Reading:
    """MiMo-V2-Flash: windows and full layers by ``hybrid_layer_pattern``, values narrower than keys."""
    sizes = read_sizes(fields, context=262144)
    pattern = fields.counts("hybrid_layer_pattern") or (0,) * sizes.layers
    routed = fields.counts("moe_layer_freq") or (1,) * sizes.layers
    for key, listed in (("hybrid_layer_pattern", pattern), ("moe_layer_freq", routed)):
        if len(listed) != sizes.layers:
            fields.fault(key, f"{len(listed)} entries", f"{sizes.layers}, one per layer (num_hidden_layers)")
    window = fields.count("sliding_window", 128)
    windows = read_windows(
        fields, sizes, window=window, sliding=[kind == 1 for kind in pattern][: sizes.layers]
    )
    own = read_heads(fields, sizes.hidden)
    heads = attention(own, windows).model_copy(
        update={
            "v_head_dim": fields.count("v_head_dim", own.dim),
            "sliding_sinks": fields.flag("add_swa_attention_sink_bias", False),
            "sinks": fields.flag("add_full_attention_sink_bias", False),
            "sliding_heads": SlidingHeads(
                kv_heads=fields.count("swa_num_key_value_heads", own.kv),
                head_dim=fields.count("swa_head_dim", own.dim),
            ),
        }
    )
    moe = _experts(fields, sizes, sum(1 for kind in routed if kind), "n_routed_experts")
    return Reading(mixed_shape(sizes, heads, moe, _dense(fields)), sizes.context, note=_prediction(fields))


def step3p7(fields: Fields) -> Reading:
    """Step-3.7: a full layer after three with a window, a few dense layers first, one shared expert."""
    sizes = read_sizes(fields, context=65536)
    windows = read_windows(
        fields, sizes, window=fields.count("sliding_window", 512), sliding=[True] * sizes.layers
    )
    heads = attention(read_heads(fields, sizes.hidden), windows)
    moe = _experts(fields, sizes, sizes.layers - read_first_dense(fields, sizes, 0), "num_experts")
    return Reading(mixed_shape(sizes, heads, moe, _dense(fields)), sizes.context, note=_prediction(fields))


def _experts(fields: Fields, sizes: Sizes, layers: int, key: str) -> Moe | None:
    experts = fields.count(key)
    width = fields.count("moe_intermediate_size")
    if layers < 1:
        return None
    shared = fields.optional_count("n_shared_experts", least=0) or 0
    bias = fields.flag("use_moe_router_bias", False) or fields.text("topk_method") == "noaux_tc"
    return Moe(
        layers=min(layers, sizes.layers),
        experts=experts,
        experts_per_token=read_chosen(fields, experts),
        expert_intermediate_size=width,
        shared_intermediate_size=shared * fields.count("share_expert_dim", width),
        router_bias=bias,
    )


def _dense(fields: Fields) -> Mlp:
    return Mlp(intermediate_size=fields.count("intermediate_size"))


def _prediction(fields: Fields) -> str:
    drafts = fields.optional_count("num_nextn_predict_layers", least=0)
    return "Layers of multi-token prediction are not counted." if drafts else ""
