"""Numbers derived from catalog entries, as plain frozen records of SI floats and counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelFacts:
    """A model as the physics sees it: tensor sizes and counts, no names.

    Parameter counts are exact; "per layer" means one layer of that kind.
    """

    id: str
    hidden_size: int
    layers: int
    """All decoder layers."""
    vocab_size: int
    is_mla: bool
    query_heads: int
    kv_heads: int
    """1 for MLA: the latent is shared by all heads."""
    head_dim: int
    full_layers: int
    sliding_layers: int
    window_tokens: int
    """0 when there is no window."""
    sparse_top_k_tokens: int
    """0 when attention is dense."""
    linear_layers: int
    attention_params_per_layer: int
    """Projections of one attention layer, biases and query-key norms included."""
    linear_params_per_layer: int
    dense_layers: int
    dense_mlp_params_per_layer: int
    moe_layers: int
    experts: int
    experts_per_token: int
    expert_params: int
    """One routed expert."""
    expert_hidden_size: int
    expert_intermediate_size: int
    shared_params_per_moe_layer: int
    router_params_per_moe_layer: int
    norm_params: int
    """All norms of the model."""
    other_params: int
    embedding_params: int
    lm_head_params: int
    """0 when the head is tied to the input embedding."""
    vision_params: int
    tokens_per_image: int
    patches_per_token: int
    vision_hidden_size: int
    kv_elements_per_token_layer: int
    """Cached values of one token in one attention layer: 2 kv_heads head_dim, or the MLA latent with rope."""
    decode_attention_flops_per_context_token: int
    """Per new token, layer and context token: 4 n_q d; MLA 2 n_q (2 kv_lora + rope)."""
    prefill_attention_flops_per_context_token: int
    """Per prompt token, layer and (causal mean) context token: 4 n_q d; MLA 2 n_q (nope + rope + v)."""
    state_bytes_per_sequence: int
    """Constant state of linear-attention layers."""
    params_total: int
    params_active: int
    params_active_excl_input_embedding: int
    max_context_tokens: int
    native_format: str
    family: str = ""
    """Architecture family as the catalog names it; tells whether measured rows exist."""
    query_key_norm: bool = False
    """Queries and keys are normalised before the rotation."""
    sliding_params_per_layer: int = 0
    """One layer that keeps a window; 0 where it is like a full one."""
    sliding_kv_heads: int = 0
    sliding_kv_elements_per_token_layer: int = 0
    """Cached values of a layer that keeps a window; 0 where they are those of a full one."""
    sparse_layers: int = 0
    """Layers that read the top k of their tokens; 0: all, where there is a top k."""
    index_layers: int = 0
    """Layers that score the whole context to pick the tokens that sparse attention reads."""
    index_bytes_per_token: int = 0
    """Keys of one token for that, all layers together; every rank keeps them."""
    index_flops_per_context_token: int = 0
    """Per new token and context token, all layers together; every rank computes them."""
    index_eight_bit: bool = False
    """Those keys are 8 bit."""
    own_format: str = ""
    """Format in which the model itself is published, whatever checkpoint is meant."""
    fp8_block_scales: bool = False
    """FP8 weights have a scale a block: products rescale as they add up, and activations are scaled as
    they come."""

    @property
    def attention_layers(self) -> int:
        """Layers that keep KV."""
        return self.full_layers + self.sliding_layers

    @property
    def mixer_params(self) -> int:
        """Attention and linear attention of all layers."""
        sliding = self.sliding_params_per_layer or self.attention_params_per_layer
        attention = self.full_layers * self.attention_params_per_layer + self.sliding_layers * sliding
        return attention + self.linear_layers * self.linear_params_per_layer

    @property
    def sliding_elements(self) -> int:
        """Cached values of one token in one layer that keeps a window."""
        return self.sliding_kv_elements_per_token_layer or self.kv_elements_per_token_layer
