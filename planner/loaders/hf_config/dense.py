"""Dense decoders: Llama, Mistral, Qwen2, Qwen3, Gemma 2 and 3, Phi-3, GLM-4, Falcon, Cohere, Nemotron.

One reader per architecture. Defaults are those of the published configuration classes.
"""

from __future__ import annotations

from planner.loaders.hf_config.common import (
    Heads,
    Reading,
    Sizes,
    Windows,
    attention,
    dense_shape,
    read_heads,
    read_sizes,
    read_windows,
)
from planner.loaders.hf_config.fields import Fields
from planner.schema.catalog import Mlp


def llama(fields: Fields) -> Reading:
    """Llama 2 and 3, and what copies them: one switch biases all four projections."""
    sizes = read_sizes(fields, context=2048)
    bias = fields.flag("attention_bias", False)
    heads = attention(
        read_heads(fields, sizes.hidden), Windows(sizes.layers), qkv_bias=bias, output_bias=bias
    )
    mlp = Mlp(intermediate_size=fields.count("intermediate_size"), bias=fields.flag("mlp_bias", False))
    return Reading(dense_shape(sizes, heads, mlp), sizes.context)


def mistral(fields: Fields) -> Reading:
    """Mistral: a window on every layer unless ``sliding_window`` says null; absent means 4,096.

    Ministral 3 has none unless one is written.
    """
    sizes = read_sizes(fields, context=131072, vocab=32000)
    default = None if fields.text("model_type") == "ministral3" else 4096
    window = fields.optional_count("sliding_window") if fields.written("sliding_window") else default
    heads = attention(read_heads(fields, sizes.hidden, kv=8), read_windows(fields, sizes, window=window))
    return Reading(dense_shape(sizes, heads, _gated(fields)), sizes.context)


def qwen2(fields: Fields) -> Reading:
    """Qwen2 and 2.5, text part of their vision models: biased query, key and value projections."""
    sizes = read_sizes(fields, context=32768, vocab=151936)
    heads = attention(read_heads(fields, sizes.hidden), qwen_windows(fields, sizes), qkv_bias=True)
    return Reading(dense_shape(sizes, heads, _gated(fields)), sizes.context)


def qwen3(fields: Fields) -> Reading:
    """Qwen3: query-key norms, head size of its own."""
    sizes = read_sizes(fields, context=32768, vocab=151936)
    bias = fields.flag("attention_bias", False)
    heads = attention(
        read_heads(fields, sizes.hidden, dim=128),
        qwen_windows(fields, sizes),
        qkv_bias=bias,
        output_bias=bias,
        qk_norm="per-head-dim",
    )
    return Reading(dense_shape(sizes, heads, _gated(fields)), sizes.context)


def qwen_windows(fields: Fields, sizes: Sizes) -> Windows:
    """Windows only where ``use_sliding_window`` is on, and only from ``max_window_layers`` upwards."""
    if not fields.flag("use_sliding_window", False):
        return Windows(sizes.layers)
    first = fields.count("max_window_layers", 28, least=0)
    window = fields.optional_count("sliding_window") if fields.written("sliding_window") else 4096
    return read_windows(fields, sizes, window=window, sliding=[i >= first for i in range(sizes.layers)])


def gemma2(fields: Fields) -> Reading:
    """Gemma 2: every other layer, beginning with the first, keeps a window; four norms; tied head."""
    sizes = read_sizes(fields, context=8192, tied=True, vocab=256000)
    window = fields.count("sliding_window", 4096)
    sliding = [index % 2 == 0 for index in range(sizes.layers)]
    bias = fields.flag("attention_bias", False)
    heads = attention(
        read_heads(fields, sizes.hidden, query=8, kv=4, dim=256),
        read_windows(fields, sizes, window=window, sliding=sliding),
        qkv_bias=bias,
        output_bias=bias,
    )
    return Reading(dense_shape(sizes, heads, _gated(fields), norms_per_layer=4), sizes.context)


def gemma3(fields: Fields) -> Reading:
    """Gemma 3: every sixth layer keeps everything; query-key norms; four norms; tied head."""
    sizes = read_sizes(fields, context=131072, tied=True, vocab=262208)
    window = fields.count("sliding_window", 4096)
    pattern = fields.count("sliding_window_pattern", 6, also=("_sliding_window_pattern",))
    bias = fields.flag("attention_bias", False)
    heads = attention(
        read_heads(fields, sizes.hidden, query=8, kv=4, dim=256),
        read_windows(fields, sizes, window=window, sliding=every_nth_full(sizes.layers, pattern)),
        qkv_bias=bias,
        output_bias=bias,
        qk_norm="per-head-dim",
    )
    return Reading(dense_shape(sizes, heads, _gated(fields), norms_per_layer=4), sizes.context)


def phi3(fields: Fields) -> Reading:
    """Phi-3 and Phi-4: query, key and value in one matrix, no biases; a window only if written."""
    sizes = read_sizes(fields, context=4096, vocab=32064)
    window = fields.optional_count("sliding_window")
    heads = attention(read_heads(fields, sizes.hidden), read_windows(fields, sizes, window=window))
    return Reading(dense_shape(sizes, heads, _gated(fields)), sizes.context)


def glm4(fields: Fields) -> Reading:
    """GLM-4 (two norms) and GLM-4-0414 (four norms)."""
    sizes = read_sizes(fields, context=131072, vocab=151552)
    heads = attention(
        read_heads(fields, sizes.hidden, kv=2, dim=128),
        Windows(sizes.layers),
        qkv_bias=fields.flag("attention_bias", fields.text("model_type") == "glm"),
    )
    norms = 2 if fields.text("model_type") == "glm" else 4
    return Reading(dense_shape(sizes, heads, _gated(fields), norms_per_layer=norms), sizes.context)


def falcon(fields: Fields) -> Reading:
    """Falcon: plain feed-forward part of four hidden sizes, layer norms with bias, parallel branches."""
    sizes = read_sizes(fields, context=2048, tied=True)
    newer = fields.flag("new_decoder_architecture", False)
    query = fields.count("num_attention_heads", also=("n_head",))
    if newer:
        kv = fields.count("num_kv_heads", query, also=("n_head_kv", "num_key_value_heads"))
    else:
        kv = 1 if fields.flag("multi_query", True) else query
    dim = fields.quotient("num_attention_heads", sizes.hidden, query, "hidden_size / num_attention_heads")
    if query % kv:
        fields.fault("num_kv_heads", str(kv), f"a divisor of num_attention_heads ({query})")
    bias = fields.flag("bias", False)
    heads = attention(Heads(query, kv, dim), Windows(sizes.layers), qkv_bias=bias, output_bias=bias)
    inner = fields.count("ffn_hidden_size", 4 * sizes.hidden)
    parallel = newer or fields.flag("parallel_attn", True)
    norms = fields.count("num_ln_in_parallel_attn", 2 if newer else 1) if parallel else 2
    mlp = Mlp(intermediate_size=inner, gated=False, bias=bias)
    return Reading(dense_shape(sizes, heads, mlp, norms_per_layer=norms, norm_bias=True), sizes.context)


def cohere(fields: Fields) -> Reading:
    """Command-R: parallel branches behind one norm, tied head, per-head query-key norms in the large one."""
    sizes = read_sizes(fields, context=8192, tied=True, vocab=256000)
    bias = fields.flag("attention_bias", False)
    heads = attention(
        read_heads(fields, sizes.hidden),
        Windows(sizes.layers),
        qkv_bias=bias,
        output_bias=bias,
        qk_norm="per-head" if fields.flag("use_qk_norm", False) else "none",
    )
    return Reading(dense_shape(sizes, heads, _gated(fields), norms_per_layer=1), sizes.context)


def cohere2(fields: Fields) -> Reading:
    """Command-R7B and Command A: every fourth layer keeps everything, the others a window."""
    sizes = read_sizes(fields, context=8192, tied=True, vocab=256000)
    window = fields.count("sliding_window", 4096)
    pattern = fields.count("sliding_window_pattern", 4, also=("_sliding_window_pattern",))
    bias = fields.flag("attention_bias", False)
    windows = read_windows(fields, sizes, window=window, sliding=every_nth_full(sizes.layers, pattern))
    heads = attention(read_heads(fields, sizes.hidden), windows, qkv_bias=bias, output_bias=bias)
    return Reading(dense_shape(sizes, heads, _gated(fields), norms_per_layer=1), sizes.context)


def nemotron(fields: Fields) -> Reading:
    """Nemotron-4 and Minitron: plain feed-forward part (squared ReLU), layer norms with bias."""
    sizes = read_sizes(fields, context=4096, vocab=256000)
    bias = fields.flag("attention_bias", False)
    heads = attention(
        read_heads(fields, sizes.hidden), Windows(sizes.layers), qkv_bias=bias, output_bias=bias
    )
    mlp = Mlp(
        intermediate_size=fields.count("intermediate_size"), gated=False, bias=fields.flag("mlp_bias", False)
    )
    return Reading(dense_shape(sizes, heads, mlp, norm_bias=True), sizes.context)


def every_nth_full(layers: int, pattern: int) -> list[bool]:
    """Which layers slide when each ``pattern``-th keeps everything."""
    return [(index + 1) % pattern != 0 for index in range(layers)]


def _gated(fields: Fields) -> Mlp:
    return Mlp(intermediate_size=fields.count("intermediate_size"))
