"""Decoders that mix attention with layers of constant state: Qwen3-Next, Qwen3.5, Nemotron-H, Kimi-K3."""

from __future__ import annotations

from planner.loaders.hf_config.common import (
    SOURCE,
    Heads,
    Reading,
    Sizes,
    Windows,
    attention,
    dense_shape,
    mixed_shape,
    read_chosen,
    read_heads,
    read_layer_types,
    read_sizes,
)
from planner.loaders.hf_config.experts import dense_part, qwen_moe, read_first_dense
from planner.loaders.hf_config.fields import Fields
from planner.loaders.hf_config.latent import latent_attention
from planner.schema.catalog import Attention, LinearAttention, Mlp, ModelShape, Moe

STATE_BYTES = 4
"""The recurrent state is kept in 32 bit."""
TAIL_BYTES = 2
"""The last inputs of the convolution are kept in 16 bit."""


def qwen3_next(fields: Fields) -> Reading:
    """Qwen3-Next and Qwen3.5: every fourth layer gated attention, the others gated delta nets."""
    sizes = read_sizes(fields, context=32768, vocab=151936)
    windows = _linear_layers(fields, sizes)
    bias = fields.flag("attention_bias", False)
    heads = attention(
        read_heads(fields, sizes.hidden, kv=2, dim=256),
        windows,
        qkv_bias=bias,
        output_bias=bias,
        qk_norm="per-head-dim",
        output_gate=fields.flag("attn_output_gate", True),
    )
    heads = heads.model_copy(update={"linear": _delta_net(fields, sizes, windows.linear)})
    if not _has_experts(fields):
        return Reading(
            dense_shape(sizes, heads, Mlp(intermediate_size=fields.count("intermediate_size"))), sizes.context
        )
    shared = fields.count("shared_expert_intermediate_size", 512, least=0)
    moe = qwen_moe(fields, sizes, shared=shared, experts=512, chosen=10, inner=512)
    gates = moe.layers * sizes.hidden if moe and shared else 0
    shape = mixed_shape(sizes, heads, moe, dense_part(fields, sizes, moe), other_params=gates)
    return Reading(shape, sizes.context)


def _has_experts(fields: Fields) -> bool:
    """Dense variants of Qwen3.5 say so by their type, or name no experts."""
    return fields.text("model_type") not in ("qwen3_5", "qwen3_5_text") or fields.written("num_experts")


def _linear_layers(fields: Fields, sizes: Sizes) -> Windows:
    types = read_layer_types(fields, sizes.layers)
    if types:
        linear = types.count("linear_attention")
    else:
        linear = sizes.layers - sizes.layers // fields.count("full_attention_interval", 4)
    return Windows(sizes.layers - linear, linear=linear)


def _delta_net(fields: Fields, sizes: Sizes, layers: int) -> LinearAttention | None:
    """A gated delta net: four inputs and two gates, a short convolution, a state of key x value per head."""
    key_dim, value_dim = fields.count("linear_key_head_dim", 128), fields.count("linear_value_head_dim", 128)
    keys = fields.count("linear_num_key_heads", 16) * key_dim
    heads = fields.count("linear_num_value_heads", 32)
    kernel = fields.count("linear_conv_kernel_dim", 4)
    values = heads * value_dim
    if layers == 0:
        return None
    channels = 2 * keys + values
    params = sizes.hidden * (2 * keys + 2 * values + 2 * heads) + values * sizes.hidden
    params += channels * kernel + 2 * heads + value_dim
    state = heads * key_dim * value_dim * STATE_BYTES + channels * (kernel - 1) * TAIL_BYTES
    return LinearAttention(layers=layers, state_bytes_per_sequence=layers * state, params_per_layer=params)


def nemotron_h(fields: Fields) -> Reading:
    """Nemotron-H and Nemotron-3: each layer is one of Mamba-2 (M), attention (*), experts (E), dense (-)."""
    kinds = fields.texts("layers_block_type")
    if kinds:  # newer files list the kinds instead of counting and abbreviating them
        fields = Fields(fields.document, {"num_hidden_layers": len(kinds)} | fields.values, fields.path)
    sizes = read_sizes(fields, context=8192, vocab=131072)
    pattern = _pattern(fields, sizes.layers)
    heads = _nemotron_attention(fields, sizes, pattern)
    mlp_bias = fields.flag("mlp_bias", False)
    dense = None
    if "-" in pattern:
        dense = Mlp(intermediate_size=fields.count("intermediate_size"), gated=False, bias=mlp_bias)
    shape = ModelShape(
        hidden_size=sizes.hidden,
        layers=sizes.layers,
        vocab_size=sizes.vocab,
        tie_word_embeddings=sizes.tied,
        norms_per_layer=1,
        attention=heads,
        mlp=dense,
        dense_layers=pattern.count("-"),
        moe=_nemotron_experts(fields, pattern.count("E"), mlp_bias),
        source=SOURCE,
    )
    return Reading(shape, sizes.context)


_LETTERS = {"mamba": "M", "attention": "*", "moe": "E", "mlp": "-"}
"""Kind of a layer -> its letter in the pattern."""


def _pattern(fields: Fields, layers: int) -> str:
    kinds = fields.texts("layers_block_type")
    pattern = "".join(_LETTERS.get(kind, "?") for kind in kinds) or fields.text("hybrid_override_pattern")
    if not pattern or set(pattern) - set("M*E-") or len(pattern) != layers:
        if kinds:
            expected = f"{layers} of {', '.join(_LETTERS)}, one per layer"
            fields.fault("layers_block_type", f"{len(kinds)} entries", expected)
            return "*" * layers
        found = f"{len(pattern)} letters" if pattern else "nothing"
        fields.fault("hybrid_override_pattern", found, f"{layers} letters of M, *, E, -, one per layer")
        return "*" * layers
    return pattern


def _nemotron_attention(fields: Fields, sizes: Sizes, pattern: str) -> Attention:
    bias = fields.flag("attention_bias", False)
    found: Heads = read_heads(
        fields, sizes.hidden, kv=8, dim=fields.optional_count("attention_head_dim") or 128
    )
    heads = attention(found, Windows(pattern.count("*")), qkv_bias=bias, output_bias=bias)
    return heads.model_copy(update={"linear": _mamba(fields, sizes, pattern.count("M"))})


def _mamba(fields: Fields, sizes: Sizes, layers: int) -> LinearAttention | None:
    """Mamba-2: one input projection, a short convolution, a state of head size x state size per head."""
    if layers == 0:
        return None
    heads, dim = fields.count("mamba_num_heads", 128), fields.count("mamba_head_dim", 64)
    groups, state_size = fields.count("n_groups", 8), fields.count("ssm_state_size", 128)
    kernel = fields.count("conv_kernel", 4)
    inner = heads * dim
    channels = inner + 2 * groups * state_size
    projected = inner + channels + heads
    params = sizes.hidden * projected + inner * sizes.hidden + channels * kernel + 3 * heads + inner
    params += channels if fields.flag("use_conv_bias", True) else 0
    params += projected + sizes.hidden if fields.flag("use_bias", False) else 0
    state = inner * state_size * STATE_BYTES + channels * (kernel - 1) * TAIL_BYTES
    return LinearAttention(layers=layers, state_bytes_per_sequence=layers * state, params_per_layer=params)


def _nemotron_experts(fields: Fields, layers: int, bias: bool) -> Moe | None:
    if layers == 0:
        return None
    experts = fields.count("n_routed_experts")
    width = fields.count("moe_intermediate_size")
    shared = fields.count("moe_shared_expert_intermediate_size", width, least=0)
    return Moe(
        layers=layers,
        experts=experts,
        experts_per_token=read_chosen(fields, experts),
        expert_intermediate_size=width,
        latent_size=fields.optional_count("moe_latent_size"),
        shared_intermediate_size=shared * fields.count("n_shared_experts", 1, least=0),
        gated=False,
        bias=bias,
        router_bias=True,
    )


_KIMI_NOTE = "Gates of the linear layers are counted as full matrices; what else a router needs is not known."


def kimi_linear(fields: Fields) -> Reading:
    """Kimi-K3: every fourth layer gated latent attention, the others gated delta nets.

    Each channel has a gate of its own; experts work on a projection of the hidden state.
    """
    sizes = read_sizes(fields, context=1048576)
    section = fields.section("linear_attn_config")
    linear, full = None, sizes.layers
    if section is not None:
        linear = _kimi_delta(section, sizes, len(section.counts("kda_layers") or ()))
        full = len(section.counts("full_attn_layers") or ())
        if full + (linear.layers if linear else 0) != sizes.layers:
            section.fault("kda_layers", "another number of layers", f"{sizes.layers} with full_attn_layers")
    heads = latent_attention(fields, sizes).model_copy(
        update={
            "full_layers": full,
            "linear": linear,
            "output_gate": fields.flag("mla_use_output_gate", False),
        }
    )
    experts, width = fields.count("num_experts"), fields.count("moe_intermediate_size")
    moe = Moe(
        layers=sizes.layers - read_first_dense(fields, sizes, 0),
        experts=experts,
        experts_per_token=read_chosen(fields, experts, also=("num_experts_per_token",)),
        expert_intermediate_size=width,
        latent_size=fields.optional_count("routed_expert_hidden_size"),
        shared_intermediate_size=width * fields.count("num_shared_experts", 0, least=0),
        router_bias=fields.text("topk_method") == "noaux_tc",
    )
    return Reading(
        mixed_shape(sizes, heads, moe, dense_part(fields, sizes, moe)), sizes.context, note=_KIMI_NOTE
    )


def _kimi_delta(section: Fields, sizes: Sizes, layers: int) -> LinearAttention | None:
    """Query, key, value, output, and a gate as wide; a short convolution; a 32-bit state of each head."""
    if layers == 0:
        return None
    heads, dim = section.count("num_heads"), section.count("head_dim")
    kernel = section.count("short_conv_kernel_size", 4)
    width = heads * dim
    gates = sizes.hidden * width if section.flag("use_full_rank_gate", False) else 0
    decay = sizes.hidden * dim + dim * width + sizes.hidden * heads
    params = 4 * sizes.hidden * width + gates + decay + 3 * width * kernel
    state = heads * dim * dim * STATE_BYTES + 3 * width * (kernel - 1) * TAIL_BYTES
    return LinearAttention(layers=layers, state_bytes_per_sequence=layers * state, params_per_layer=params)
