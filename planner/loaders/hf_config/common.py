"""Parts that most architectures share: sizes, heads, windows, feed-forward parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from planner.errors import nearest
from planner.loaders.hf_config.fields import Fields
from planner.schema.catalog import Attention, Mlp, ModelShape, Moe

SOURCE = "config"
"""Key of the source that every block of a model read from a file refers to."""
SLIDING = ("sliding_attention", "chunked_attention")
LAYER_TYPES = ("full_attention", *SLIDING, "linear_attention")
QkNorm = Literal["none", "per-head-dim", "per-head"]


@dataclass(frozen=True)
class Reading:
    """What a reader of one architecture found."""

    shape: ModelShape
    max_context_tokens: int
    active_excludes_embedding: bool = False
    note: str = ""


@dataclass(frozen=True)
class Sizes:
    """Sizes of the whole decoder."""

    hidden: int
    layers: int
    vocab: int
    tied: bool
    context: int


@dataclass(frozen=True)
class Heads:
    """Query heads, KV heads, and the size of one head."""

    query: int
    kv: int
    dim: int


@dataclass(frozen=True)
class Windows:
    """Layers by the tokens they keep."""

    full: int
    sliding: int = 0
    window: int | None = None
    linear: int = 0


def read_sizes(fields: Fields, *, context: int, tied: bool = False, vocab: int | None = None) -> Sizes:
    """Hidden size, layers, vocabulary, context; the arguments are the architecture's defaults."""
    return Sizes(
        fields.count("hidden_size"),
        fields.count("num_hidden_layers", also=("n_layer",)),
        fields.count("vocab_size", vocab),
        fields.flag("tie_word_embeddings", tied),
        fields.count("max_position_embeddings", context),
    )


def read_heads(
    fields: Fields, hidden: int, *, query: int | None = None, kv: int | None = None, dim: int | None = None
) -> Heads:
    """Heads; ``kv`` and ``dim`` are defaults (as many KV heads as queries, hidden size over heads)."""
    heads = fields.count("num_attention_heads", query, also=("n_head",))
    kv_heads = fields.count("num_key_value_heads", kv or heads)
    written = fields.optional_count("head_dim")
    if written is None:
        written = dim or fields.quotient("head_dim", hidden, heads, "hidden_size / num_attention_heads")
    if heads % kv_heads:
        fields.fault("num_key_value_heads", str(kv_heads), f"a divisor of num_attention_heads ({heads})")
    return Heads(heads, kv_heads, written)


def read_windows(
    fields: Fields, sizes: Sizes, *, window: int | None = None, sliding: Sequence[bool] | None = None
) -> Windows:
    """Layers that keep everything and layers that keep a window.

    ``layer_types`` decides where it is written; else ``sliding`` says it per layer (default: all of
    them when there is a window). A window as long as the context is none.
    """
    types = read_layer_types(fields, sizes.layers)
    flags = [kind in SLIDING for kind in types] if types else list(sliding or [True] * sizes.layers)
    if types and any(flags) and window is None:
        fields.fault("sliding_window", "nothing", "the window of the sliding layers in layer_types")
    count = sum(flags) if window is not None and window < sizes.context else 0
    return Windows(sizes.layers - count, count, window if count else None)


def read_layer_types(fields: Fields, layers: int) -> tuple[str, ...]:
    """The kind of attention of each layer; empty where it is not written."""
    types = fields.texts("layer_types")
    unknown = sorted(set(types) - set(LAYER_TYPES))
    for word in unknown:
        fields.fault(
            "layer_types", f'"{word}"', f"one of {', '.join(LAYER_TYPES)}", nearest(word, LAYER_TYPES)
        )
    if types and len(types) != layers:
        fields.fault("layer_types", f"{len(types)} entries", f"{layers}, one per layer (num_hidden_layers)")
    return types if not unknown and len(types) == layers else ()


def attention(
    heads: Heads,
    windows: Windows,
    *,
    qkv_bias: bool = False,
    output_bias: bool = False,
    qk_norm: QkNorm = "none",
    sinks: bool = False,
    output_gate: bool = False,
) -> Attention:
    """Grouped-query attention, under its own name where the heads are all shared or not shared."""
    kind: Literal["mha", "gqa", "mqa"] = "gqa"
    if heads.kv == heads.query:
        kind = "mha"
    elif heads.kv == 1:
        kind = "mqa"
    return Attention(
        kind=kind,
        query_heads=heads.query,
        kv_heads=heads.kv,
        head_dim=heads.dim,
        qkv_bias=qkv_bias,
        output_bias=output_bias,
        qk_norm=qk_norm,
        sinks=sinks,
        output_gate=output_gate,
        full_layers=windows.full,
        sliding_layers=windows.sliding,
        window_tokens=windows.window,
    )


def dense_shape(
    sizes: Sizes, heads: Attention, mlp: Mlp, *, norms_per_layer: int = 2, norm_bias: bool = False
) -> ModelShape:
    """A decoder whose layers are all dense."""
    return ModelShape(
        hidden_size=sizes.hidden,
        layers=sizes.layers,
        vocab_size=sizes.vocab,
        tie_word_embeddings=sizes.tied,
        norms_per_layer=norms_per_layer,
        norm_bias=norm_bias,
        attention=heads,
        mlp=mlp,
        dense_layers=sizes.layers,
        source=SOURCE,
    )


def mixed_shape(
    sizes: Sizes, heads: Attention, moe: Moe | None, mlp: Mlp | None, *, other_params: int = 0
) -> ModelShape:
    """A decoder of expert layers; the layers that are not expert layers are dense."""
    dense = sizes.layers - (moe.layers if moe else 0)
    return ModelShape(
        hidden_size=sizes.hidden,
        layers=sizes.layers,
        vocab_size=sizes.vocab,
        tie_word_embeddings=sizes.tied,
        attention=heads,
        mlp=mlp if dense else None,
        dense_layers=dense,
        moe=moe,
        other_params=other_params,
        source=SOURCE,
    )


def read_chosen(fields: Fields, experts: int, default: int | None = None, also: tuple[str, ...] = ()) -> int:
    """Experts per token, at most the experts that exist."""
    chosen = fields.count("num_experts_per_tok", default, also=also)
    if chosen > experts:
        fields.fault("num_experts_per_tok", str(chosen), f"at most the number of experts ({experts})")
    return chosen
