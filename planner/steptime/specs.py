"""Specifications of configurations as columns: one entry per distinct configuration, gathered by row."""

from __future__ import annotations

from dataclasses import dataclass, fields

from planner.physics.arrays import FloatArray, IntArray

_OF_ALL = ("shared_exponent", "has_launches", "has_adapters", "has_experts", "spreads_experts")
"""Fields that are no columns."""


@dataclass(frozen=True, eq=False, repr=False)
class StepSpecs:
    """What the formulas of one step and of memory need; every array has one entry per configuration.

    "Stage" is one pipeline stage (the largest), "rank" one tensor-parallel GPU of it.
    """

    tp: FloatArray
    pp: FloatArray
    ep: FloatArray
    attention_dp: FloatArray
    stage_gpus: FloatArray
    batched_tokens: FloatArray
    decode_tokens: FloatArray
    """Tokens that a sequence brings to a decode step: 1, and the drafts that are verified."""

    hidden_size: FloatArray
    vocabulary_size: FloatArray
    stage_layers: FloatArray
    stage_attention_layers: FloatArray
    stage_moe_layers: FloatArray
    attention_params: FloatArray
    """Attention and linear-attention projections of a stage, before the division by tp."""
    attention_bytes: FloatArray
    mlp_params: FloatArray
    """Dense and shared feed-forward parts and routers of a stage, before the division by tp."""
    mlp_bytes: FloatArray
    head_value_bytes: FloatArray
    """Of one weight of the output head."""
    experts: FloatArray
    experts_per_token: FloatArray
    expert_params: FloatArray
    layer_experts_bytes: FloatArray
    """All routed experts of one layer, padding included."""
    expert_held_fraction: FloatArray
    """Share of the experts that the fullest expert-parallel rank holds."""
    expert_shards: FloatArray
    """GPUs that share each expert."""
    expert_hot_ratio: FloatArray
    """Tokens of the hottest rank over the mean for skewed routing; 1 where experts are not spread."""
    expert_capacity_ratio: FloatArray
    """Tokens that can reach a rank, or that it accepts, over the mean."""
    expert_row_spread: FloatArray
    """What chance adds to the rows of the hottest rank, per square root of a token."""
    expert_hit_spread: FloatArray
    """What chance adds to the share of its experts that the fullest rank reads."""
    exchange_padding_ratio: FloatArray
    """Room of the exchange for one rank over its mean."""
    all_to_all_token_bytes: FloatArray
    """What one GPU sends for one token of the replica and layer, where tokens go to their experts alone."""
    windowed_fraction: FloatArray
    """Share of attention layers that read a window or the top k."""
    window_tokens: FloatArray
    decode_flops_per_context_token: FloatArray
    """Per layer and rank."""
    prefill_flops_per_context_token: FloatArray
    kv_bytes_per_token_layer: FloatArray
    """On one rank; KV heads beyond one per rank are replicated."""
    index_bytes_per_context_token: FloatArray
    """Keys by which sparse attention picks what it reads, of a stage; whole on every rank."""
    index_flops_per_context_token: FloatArray
    state_bytes_per_sequence: FloatArray
    """Linear-attention state of a stage on one rank."""

    attention_flops_per_s: FloatArray
    """Peak rate of the attention projections times the share that large products reach."""
    mlp_flops_per_s: FloatArray
    expert_flops_per_s: FloatArray
    head_flops_per_s: FloatArray
    sixteen_bit_flops_per_s: FloatArray
    """Dense 16-bit peak, without a share: attention scores are computed in 16 bit."""
    index_flops_per_s: FloatArray
    """Dense peak of the format of those keys."""
    memory_bytes_per_s: FloatArray
    tp_bytes_per_s: FloatArray
    """What one GPU sends in an all-reduce of its tensor-parallel group, efficiency included."""
    tp_direct_bytes_per_s: FloatArray
    """The same where each rank sends its message whole to all others."""
    tp_latency_s: FloatArray
    tp_second_s: FloatArray
    """What an all-reduce in two steps waits longer (`collectives.all_reduce_s`); 0 where not measured."""
    exchange_bytes_per_s: FloatArray
    exchange_latency_s: FloatArray
    stage_bytes_per_s: FloatArray
    stage_latency_s: FloatArray

    overlap_exponent: FloatArray
    memory_efficiency: FloatArray
    kv_efficiency: FloatArray
    attention_overlap_exponent: FloatArray
    attention_memory_efficiency: FloatArray
    mlp_overlap_exponent: FloatArray
    mlp_memory_efficiency: FloatArray
    head_overlap_exponent: FloatArray
    head_memory_efficiency: FloatArray
    """Of dense products by part; those without a part in their name are of experts and adapters."""
    decode_overlap_exponent: FloatArray
    decode_start_s: FloatArray
    """Launch of one layer's decode attention, where launches are counted by operator; else 0."""
    decode_doubling_s: FloatArray
    decode_sequence_s: FloatArray
    prefill_start_s: FloatArray
    prefill_half_tokens: FloatArray
    """Tokens that the mean context of a prompt counts more, for tiles (`attention.tiled_context`)."""
    prefill_memory_efficiency: FloatArray
    """Share of memory bandwidth that moving queries, keys and outputs reaches; infinite where it is free."""
    query_values: FloatArray
    """Queries of one token in a layer on one rank."""
    key_values: FloatArray
    """Keys and values of one token of a prompt in a layer on one rank."""
    gemm_half_tokens: FloatArray
    expert_half_tokens: FloatArray
    expert_routing_share: FloatArray
    """Tokens that would touch as many experts, if all were chosen evenly, as one token does."""
    expert_row_passes: FloatArray
    """Passes of a GPU over the hidden states of the rows of its experts."""
    decode_attention_efficiency: FloatArray
    prefill_attention_efficiency: FloatArray
    elementwise_passes: FloatArray
    scaling_token_bytes: FloatArray
    """What scaling the inputs of one layer's products moves for one token, all ranks together."""
    logit_passes: FloatArray
    exchange_element_bytes: FloatArray
    kernel_overhead_s: FloatArray
    """Fixed time of one kernel."""
    layer_overhead_s: FloatArray
    moe_layer_overhead_s: FloatArray
    layer_dispatch_s: FloatArray
    """Host time to launch one layer where nothing is captured in graphs: a step cannot be faster."""
    step_overhead_s: FloatArray
    sequence_overhead_s: FloatArray

    capacity_bytes: FloatArray
    """Device memory as the driver reports it."""
    weight_bytes: FloatArray
    """Weights on the fullest GPU."""
    engine_utilization: FloatArray
    takes_free_share: FloatArray
    """1 where the engine's utilization applies to what loading leaves, 0 where it applies to all memory."""
    reserves_answer: FloatArray
    """1 where the cache of a whole answer is reserved from its start."""
    contiguous: FloatArray
    """1 where every slot holds the longest request."""
    kv_block_tokens: FloatArray
    kv_full_bytes_per_token: FloatArray
    """Layers of a stage that keep every token, on one rank."""
    kv_sliding_bytes_per_token: FloatArray
    kv_window_tokens: FloatArray
    framework_bytes: FloatArray
    sampler_sequences: FloatArray
    sampler_bytes_per_logit: FloatArray
    workspace_copies: FloatArray
    widest_row_elements: FloatArray
    adapters: FloatArray
    """LoRA adapters in use at once; 0 without any."""
    adapter_params: FloatArray
    """Values of one adapter on one rank of a stage."""
    adapter_kernels: FloatArray
    """Kernels that adapters add to one step of a stage."""
    exchange_buffer_bytes: FloatArray
    """Padded buffers in which a rank receives the tokens of its experts."""
    kept_state_bytes: FloatArray
    """State that one sequence keeps, that of its draft model included."""
    image_elements: FloatArray
    """Values of one activation of the image encoder for one image; 0 without one."""
    load_copy: FloatArray
    host_copy: FloatArray
    max_running: FloatArray
    node_gpus: FloatArray

    coefficients: FloatArray
    """The fast path: one row per coefficient (see `coefficients`), one column per configuration."""
    shared_exponent: float | None
    """The overlap exponent where all configurations and parts share it."""
    has_launches: bool
    """Some configuration counts launches of attention by operator."""
    has_adapters: bool
    """Some configuration serves adapters."""
    has_experts: bool
    """Some configuration has a model with routed experts."""
    spreads_experts: bool
    """Some configuration has whole experts on its ranks."""

    def __len__(self) -> int:
        """Number of configurations."""
        return int(self.tp.shape[0])

    def take(self, rows: IntArray) -> StepSpecs:
        """The specifications of ``rows``, with the shape of ``rows``."""
        columns = {
            field.name: getattr(self, field.name)[..., rows]
            for field in fields(self)
            if field.name not in _OF_ALL
        }
        return StepSpecs(**columns, **{name: getattr(self, name) for name in _OF_ALL})
