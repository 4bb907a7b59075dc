"""Language models: the tensors of a decoder, in the words of its published configuration."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from planner.schema.base import Noun
from planner.schema.catalog_entry import CatalogEntry, Count, Positive, Source


class MlaShape(Noun):
    """Multi-head latent attention: sizes of the compressed query and key-value paths."""

    q_lora_rank: Positive | None = None
    """Rank of the query path; absent when queries are projected directly."""
    kv_lora_rank: Positive
    qk_nope_head_dim: Positive
    qk_rope_head_dim: Positive
    v_head_dim: Positive


class LinearAttention(Noun):
    """Layers that keep a constant state per sequence instead of KV (Mamba, gated delta nets)."""

    layers: Positive
    state_bytes_per_sequence: Positive
    """All linear layers together."""
    params_per_layer: Positive
    """Weights of one linear layer's token mixer."""


class Indexer(Noun):
    """A small attention over the whole context that picks the tokens which sparse attention reads."""

    layers: Positive
    """Layers that have one; others read what the indexer of a layer before them picked."""
    heads: Positive
    head_dim: Positive
    key_format: Literal["fp8", "bf16"]
    """How engines keep the one key of a token, whatever the format of the cache: 8 bits with a 32-bit scale
    for 128 values, or 16 bits. Every tensor-parallel rank keeps all keys."""
    source: Source


class SlidingHeads(Noun):
    """KV heads of the layers that keep a window, where they are not those of the full layers (Gemma 4)."""

    kv_heads: Positive
    head_dim: Positive


class Attention(Noun):
    """Attention of the decoder layers; heads are those of the layers that keep every token."""

    kind: Literal["mha", "gqa", "mqa", "mla"]
    query_heads: Positive
    kv_heads: Positive
    head_dim: Positive
    v_head_dim: Positive | None = None
    """Size of one head of the values, where it is not that of queries and keys (MiMo-V2)."""
    shared_kv: Literal["none", "projection", "cache"] = "none"
    """Full layers project keys and values together (Gemma 4); or all layers also cache them as one vector."""
    tokens_per_entry: Positive = 1
    """Tokens that full layers merge into one entry of the cache."""
    params_per_layer: Positive | None = None
    """Weights of one layer, where the fields here do not give them."""
    qkv_bias: bool = False
    output_bias: bool = False
    qk_norm: Literal["none", "per-head-dim", "per-head"] = "none"
    """Weights of a query-key norm: none, one vector of head_dim each, or one per head (heads x head_dim)."""
    output_gate: bool = False
    """A gate on the attention output, projected beside the queries and as wide as they are."""
    sinks: bool = False
    """One learned attention sink per query head."""
    sliding_sinks: bool = False
    """The same on layers that keep a window only."""
    full_layers: Count
    """Layers that keep every token."""
    sliding_layers: Count = 0
    """Layers that keep a window of tokens."""
    sliding_heads: SlidingHeads | None = None
    window_tokens: Positive | None = None
    sparse_top_k_tokens: Positive | None = None
    """Sparse attention: tokens read per decode step (all are kept)."""
    sparse_layers: Positive | None = None
    """Full layers that read so few; absent: all of them."""
    indexer: Indexer | None = None
    mla: MlaShape | None = None
    linear: LinearAttention | None = None

    @model_validator(mode="after")
    def _windows_have_a_size(self) -> Attention:
        if self.sliding_layers and self.window_tokens is None:
            found = {"found": "sliding_layers without window_tokens", "expected": "both", "maybe": ""}
            raise PydanticCustomError("window", "no size of the window", found)
        return self


class Mlp(Noun):
    """Feed-forward part of the dense layers."""

    intermediate_size: Count
    gated: bool = True
    """Three matrices (gate, up, down) instead of two."""
    bias: bool = False


class Moe(Noun):
    """Mixture-of-experts layers."""

    layers: Positive
    experts: Positive
    experts_per_token: Positive
    expert_intermediate_size: Positive
    latent_size: Positive | None = None
    """Experts work on a projection of the hidden state of this size, one for all of a layer (Nemotron 3)."""
    shared_intermediate_size: Count = 0
    """All shared experts together."""
    gated: bool = True
    bias: bool = False
    router_bias: bool = False


class Vision(Noun):
    """The image encoder in front of a decoder."""

    params: Positive
    tokens_per_image: Positive
    """Prompt tokens that one image of the default size becomes."""
    hidden_size: Positive | None = None
    layers: Positive | None = None
    patches_per_token: Positive = 1
    """Encoder patches merged into one prompt token."""
    source: Source


class ModelShape(Noun):
    """The tensors of a decoder, in the words of its published configuration."""

    hidden_size: Positive
    layers: Positive
    vocab_size: Positive
    tie_word_embeddings: bool = False
    norms_per_layer: Count = 2
    """Norm vectors of hidden size in one layer (Gemma 2 and 3 have four)."""
    norm_bias: bool = False
    attention: Attention
    mlp: Mlp | None = None
    """Dense layers; absent when every layer is a mixture of experts."""
    dense_layers: Count = 0
    """Layers with a dense feed-forward part."""
    moe: Moe | None = None
    other_params: Count = 0
    """Weights that the fields above do not describe (per-block variants), all used for each token."""
    source: Source


class PublishedCounts(Noun):
    """Parameter counts as the publisher states them."""

    total: Positive
    active: Positive | None = None
    source: Source


class Checkpoint(Noun):
    """Published checkpoints of one architecture in one format."""

    format: str
    scales: Literal["row", "block"] | None = None
    """Scales of FP8, where they are not those of the model's own FP8 checkpoint."""
    ids: tuple[str, ...]
    source: Source = "ids"


class Model(CatalogEntry):
    """A language model."""

    kind: Literal["model"] = "model"
    family: str
    native_format: str
    """Format of the published checkpoint."""
    quantized_from: str | None = None
    """Format of the model itself, where this is a checkpoint that somebody made narrower."""
    checkpoints: tuple[Checkpoint, ...] = ()
    """Checkpoints in other formats: their names mean this model in that format."""
    fp8_scales: Literal["row", "block"] = "row"
    """Scales of the FP8 checkpoint: one a tensor or row, or one a block of weights (128 x 128)."""
    max_context_tokens: Positive
    trained_context_tokens: Positive | None = None
    """Positions of the checkpoint's configuration where it has fewer: beyond them YaRN is switched on."""
    published: PublishedCounts | None = None
    active_excludes_embedding: bool = False
    """The publisher's count of active parameters leaves out the input embedding (gpt-oss)."""
    shape: ModelShape
    vision: Vision | None = None

    @property
    def other_names(self) -> tuple[str, ...]:
        """Aliases and the names of all checkpoints."""
        return (*self.aliases, *(name for item in self.checkpoints for name in item.ids))

    def stored_as(self, form: str, scales: Literal["row", "block"] | None = None) -> Model:
        """The same model as a checkpoint in a format."""
        if form == self.native_format and scales in (None, self.fp8_scales):
            return self
        own = None if form == self.native_format else self.quantized_from or self.native_format
        return self.model_copy(
            update={"native_format": form, "fp8_scales": scales or self.fp8_scales, "quantized_from": own}
        )
