"""Image encoders in front of a decoder, counted from ``vision_config``.

Each reader counts patch and position embedding, encoder blocks, norms, and the projector into the decoder.
"""

from __future__ import annotations

from planner.loaders.hf_config.common import SOURCE
from planner.loaders.hf_config.fields import Fields
from planner.schema.catalog import Vision

IMAGE_SIDE_PIXELS = 1024
"""Side of the image for which encoders of any resolution state their tokens."""


def siglip(fields: Fields, wrapper: Fields, hidden: int) -> Vision:
    """Gemma 3: a SigLIP tower, pooled to a fixed number of tokens."""
    width, layers = fields.count("hidden_size", 1152), fields.count("num_hidden_layers", 27)
    inner, patch = fields.count("intermediate_size", 4304), fields.count("patch_size", 14)
    positions = (fields.count("image_size", 896) // patch) ** 2
    tokens = wrapper.count("mm_tokens_per_image", 256)
    params = 3 * patch**2 * width + width + positions * width
    params += layers * _block(width, inner) + 2 * width
    params += width * hidden + width
    return _vision(params, tokens, width, layers, max(1, positions // tokens))


def gemma4(fields: Fields, wrapper: Fields, hidden: int) -> Vision:
    """Gemma 4: gated blocks with query-key norms, one table of positions a direction, pooled tokens."""
    width, layers = fields.count("hidden_size", 1152), fields.count("num_hidden_layers", 27)
    inner, patch = fields.count("intermediate_size", 4304), fields.count("patch_size", 16)
    tokens = wrapper.count("vision_soft_tokens_per_image", 280)
    params = 3 * patch**2 * width + 2 * fields.count("position_embedding_size", 10240) * width
    params += layers * (4 * width**2 + 3 * width * inner + 4 * width + 2 * fields.count("head_dim", 72))
    return _vision(
        params + width * hidden, tokens, width, layers, fields.count("pooling_kernel_size", 3) ** 2
    )


def llama4(fields: Fields, wrapper: Fields, hidden: int) -> Vision:  # noqa: ARG001 - one signature for all
    """Llama 4: class token, adapter that shuffles patches together; tokens of one tile."""
    width, layers = fields.count("hidden_size", 1408), fields.count("num_hidden_layers", 34)
    inner, patch = fields.count("intermediate_size", 5632), fields.count("patch_size", 14)
    middle = fields.count("projector_input_dim", 4096)
    out = fields.count("vision_output_dim", fields.count("projector_output_dim", 4096))
    patches = (fields.count("image_size", 336) // patch) ** 2
    params = 3 * patch**2 * width + width + (patches + 1) * width + 4 * width
    params += layers * _block(width, inner)
    params += inner * middle + middle * out + out * hidden
    return _vision(params, max(1, patches // 4), width, layers, 4)


def qwen2_vl(fields: Fields, wrapper: Fields, hidden: int) -> Vision:  # noqa: ARG001
    """Qwen2.5-VL: gated blocks behind RMS norms; Qwen2-VL: plain blocks behind layer norms."""
    older = fields.written("embed_dim")
    width = fields.count("embed_dim" if older else "hidden_size", 1280)
    layers, patch = fields.count("depth", 32), fields.count("patch_size", 14, also=("spatial_patch_size",))
    merge, frames = fields.count("spatial_merge_size", 2), fields.count("temporal_patch_size", 2)
    params = 3 * frames * patch**2 * width
    if older:
        params += layers * _block(width, 4 * width) + 2 * width
    else:
        inner = fields.count("intermediate_size", 3420)
        block = 4 * width**2 + 4 * width + 3 * width * inner + 2 * inner + width + 2 * width
        params += layers * block + width
    params += _merger(width * merge**2, hidden)
    return _vision(params, _tokens(patch, merge), width, layers, merge**2)


def qwen3_vl(fields: Fields, wrapper: Fields, hidden: int) -> Vision:  # noqa: ARG001
    """Qwen3-VL and Qwen3.5: learned positions, plain blocks; further mergers for chosen layers."""
    width, layers = fields.count("hidden_size", 1152), fields.count("depth", 27)
    inner, patch = fields.count("intermediate_size", 4304), fields.count("patch_size", 16)
    merge, frames = fields.count("spatial_merge_size", 2), fields.count("temporal_patch_size", 2)
    merged = width * merge**2
    params = 3 * frames * patch**2 * width + width + fields.count("num_position_embeddings", 2304) * width
    params += layers * _block(width, inner)
    params += 2 * width + _merger(merged, hidden)
    params += len(fields.counts("deepstack_visual_indexes") or ()) * (2 * merged + _merger(merged, hidden))
    return _vision(params, _tokens(patch, merge), width, layers, merge**2)


def moonvit(fields: Fields, wrapper: Fields, hidden: int) -> Vision:  # noqa: ARG001
    """Kimi: MoonViT, whose published sizes (27 blocks of 1,152) hold where the keys are absent."""
    width = fields.count("vt_hidden_size", 1152, also=("hidden_size",))
    layers = fields.count("vt_num_hidden_layers", 27, also=("num_hidden_layers",))
    inner = fields.count("vt_intermediate_size", 4304, also=("intermediate_size",))
    patch, grid = fields.count("patch_size", 14), fields.count("init_pos_emb_height", 64)
    merged = 4 * width
    inside = fields.count("qkv_hidden_size", width) - width  # heads wider than the hidden state
    params = 3 * patch**2 * width + width + grid**2 * width + layers * _block(width, inner) + 2 * width
    params += layers * inside * (4 * width + 3) + 2 * width + _merger(merged, hidden)
    return _vision(params, _tokens(patch, 2), width, layers, 4)


def pixtral(fields: Fields, wrapper: Fields, hidden: int) -> Vision:
    """Mistral 3: Pixtral tower without biases, gated blocks, patch merger, two-layer projector."""
    width, layers = fields.count("hidden_size", 1024), fields.count("num_hidden_layers", 24)
    inner, patch = fields.count("intermediate_size", 4096), fields.count("patch_size", 14)
    merge = wrapper.count("spatial_merge_size", 2)
    params = 3 * patch**2 * width + width + layers * (4 * width**2 + 3 * width * inner + 2 * width)
    params += width + merge**2 * width**2 + width * hidden + hidden**2
    return _vision(params, _tokens(patch, merge), width, layers, merge**2)


def _block(width: int, inner: int) -> int:
    """One plain encoder block: four projections, two matrices, two layer norms, biases everywhere."""
    return 4 * (width**2 + width) + 2 * width * inner + inner + width + 4 * width


def _merger(merged: int, out: int) -> int:
    """Two layers with bias: merged patches to themselves, then to the decoder's hidden size."""
    return merged**2 + merged + merged * out + out


def _tokens(patch: int, merge: int) -> int:
    """Encoders of this kind scale the image to the nearest whole number of merged patches."""
    return max(1, round(IMAGE_SIDE_PIXELS / (patch * merge)) ** 2)


def _vision(params: int, tokens: int, width: int, layers: int, patches_per_token: int) -> Vision:
    return Vision(
        params=params,
        tokens_per_image=tokens,
        hidden_size=width,
        layers=layers,
        patches_per_token=patches_per_token,
        source=SOURCE,
    )
