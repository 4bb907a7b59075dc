"""Bytes of a model's weights and cache in given number formats: facts and formats meet the arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal

from planner.physics import weights as bytes_of
from planner.schema.catalog import NumberFormat
from planner.schema.facts import ModelFacts
from planner.schema.number_format import Part

KEPT_BITS = 16.0
"""Embeddings, head, norms, routers, biases of experts and vision stay 16 bit in published checkpoints."""


@dataclass(frozen=True)
class WeightParts:
    """Bytes of the whole model (not of one rank), by the part that shares one way of splitting."""

    attention_bytes: float
    """Attention layers; also the mixers of linear-attention layers."""
    dense_mlp_bytes: float
    routed_bytes: float
    """All routed experts, padding included."""
    shared_bytes: float
    """Shared experts."""
    router_bytes: float
    norm_bytes: float
    other_bytes: float
    embedding_bytes: float
    lm_head_bytes: float
    vision_bytes: float

    @property
    def total_bytes(self) -> float:
        """All weights."""
        return float(sum(getattr(self, field.name) for field in fields(self)))


@dataclass(frozen=True)
class KvBytesPerToken:
    """What one more token costs on one rank."""

    all_layers_bytes: float
    """While every layer still keeps it."""
    growth_past_window_bytes: float
    """Once the windows are full: only layers that keep every token grow."""


def attention_format(
    facts: ModelFacts, weights: NumberFormat, formats: Mapping[str, NumberFormat]
) -> NumberFormat:
    """The format of the attention weights: often one of their own in mixtures of experts."""
    own = weights.part("attention")
    if own is not None:
        return own
    if facts.moe_layers == 0 or weights.moe_attention_format is None:
        return weights
    return formats[weights.moe_attention_format]


def weight_parts(
    facts: ModelFacts, weights: NumberFormat, attention: NumberFormat | None = None, expert_shards: int = 1
) -> WeightParts:
    """Bytes of the weights by part; ``attention`` is the format of attention where it differs.

    Each expert is cut over ``expert_shards`` GPUs, and padded on every one of them.
    """
    bits, attention_bits = float(weights.bits), float((attention or weights).bits)
    dense = weights.part("dense")
    dense_bits = bits if dense is None else float(dense.bits)
    return WeightParts(
        attention_bytes=_stored(facts.mixer_params, attention_bits),
        dense_mlp_bytes=_stored(facts.dense_layers * facts.dense_mlp_params_per_layer, dense_bits),
        routed_bytes=facts.moe_layers * facts.experts * expert_bytes(facts, weights, expert_shards),
        shared_bytes=_stored(facts.moe_layers * facts.shared_params_per_moe_layer, dense_bits),
        router_bytes=_stored(facts.moe_layers * facts.router_params_per_moe_layer, KEPT_BITS),
        norm_bytes=_stored(facts.norm_params, KEPT_BITS),
        other_bytes=_stored(facts.other_params, bits),
        embedding_bytes=_stored(facts.embedding_params, _kept_bits(weights, "embedding")),
        lm_head_bytes=_stored(facts.lm_head_params, head_bits(weights)),
        vision_bytes=_stored(facts.vision_params, KEPT_BITS),
    )


def weight_bytes(facts: ModelFacts, weights: NumberFormat, attention: NumberFormat | None = None) -> float:
    """Bytes of all weights of the model in a format, scales and padding included."""
    return weight_parts(facts, weights, attention).total_bytes


def expert_bytes(facts: ModelFacts, weights: NumberFormat, shards: int = 1) -> float:
    """Bytes of one routed expert: matrices in the format, padded in each shard, and biases in 16 bit."""
    matrix = facts.expert_hidden_size * facts.expert_intermediate_size
    if matrix == 0:
        return 0.0
    matrices, biases = divmod(facts.expert_params, matrix)
    values = bytes_of.expert_matrix_values(
        facts.expert_hidden_size, facts.expert_intermediate_size, matrices, weights.expert_multiple, shards
    )
    return float(bytes_of.stored_bytes(values, float(weights.bits))) + _stored(biases, KEPT_BITS)


def kv_bytes_per_token(facts: ModelFacts, bits: Decimal | float, tp: int = 1) -> KvBytesPerToken:
    """Bytes that one token keeps on one of ``tp`` tensor-parallel ranks.

    KV heads are replicated where ``tp`` exceeds them; the latent of MLA and the keys of indexers are kept
    whole on every rank.
    """
    share = bytes_of.kv_share_per_rank(facts.kv_heads, tp)
    share_sliding = bytes_of.kv_share_per_rank(facts.sliding_kv_heads or facts.kv_heads, tp)
    full = bytes_of.kv_bytes_per_token(
        facts.full_layers, facts.kv_elements_per_token_layer, float(bits), share
    )
    full = full + facts.index_bytes_per_token
    sliding = bytes_of.kv_bytes_per_token(
        facts.sliding_layers, facts.sliding_elements, float(bits), share_sliding
    )
    return KvBytesPerToken(float(full + sliding), float(full))


def _stored(values: int, bits: float) -> float:
    return float(bytes_of.stored_bytes(values, bits))


def head_bits(weights: NumberFormat) -> float:
    """Bits of one value of the output head: 16 unless the checkpoint keeps it in another format."""
    return _kept_bits(weights, "head")


def _kept_bits(weights: NumberFormat, part: Part) -> float:
    own = weights.part(part)
    return KEPT_BITS if own is None else float(own.bits)
