"""What the catalog says about one entry, as the JSON document of ``planner catalog show``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from planner.schema.catalog import Accelerator, AcceleratorLink, CatalogEntry, Model, NumberFormat
from planner.schema.facts import ModelFacts
from planner.steptime.model_facts import model_facts
from planner.steptime.weights import attention_format, kv_bytes_per_token, weight_bytes

TENSOR_PARALLEL_SHOWN = (1, 2, 4, 8, 16)
"""Degrees for which the cache per GPU is listed."""


def model_document(model: Model, formats: Mapping[str, NumberFormat]) -> dict[str, Any]:
    """Counts and bytes of a model: parameters, cache per token, weights per format, sources.

    Bytes are whole and rounded up. ``kv_bytes_per_token`` holds ``index_bytes_per_token``, the keys by which
    sparse attention picks what it reads. ``weight_bytes`` covers the whole model with scales and padding.

    Args:
        model: the catalog entry.
        formats: number formats by id; those for weights and those for the cache give one line each.
    """
    facts = model_facts(model)
    return {
        "id": model.id,
        "kind": "model",
        "name": model.name,
        "family": model.family,
        "native_format": model.native_format,
        "max_context_tokens": model.max_context_tokens,
        "params_total": facts.params_total,
        "params_active": facts.params_active,
        "params_active_excl_input_embedding": facts.params_active_excl_input_embedding,
        "params_vision": facts.vision_params,
        "kv_bytes_per_token": _kv_per_format(facts, formats),
        "kv_bytes_per_token_per_gpu_by_tp": _kv_per_tp(facts, formats),
        "index_bytes_per_token": facts.index_bytes_per_token,
        "state_bytes_per_sequence": facts.state_bytes_per_sequence,
        "weight_bytes": {
            name: _whole(weight_bytes(facts, form, attention_format(facts, form, formats)))
            for name, form in formats.items()
            if form.weights
        },
        "published": _published(model),
        "sources": _sources(model),
    }


def accelerator_document(accelerator: Accelerator) -> dict[str, Any]:
    """Memory, rates, link and power of an accelerator in SI units.

    The ridge point of a format is its dense rate over the memory bandwidth: a kernel with fewer FLOP per
    byte waits for memory, one with more waits for the matrix units.
    """
    bandwidth = float(accelerator.memory.bandwidth)
    compute = accelerator.compute
    rates = {"bf16": compute.bf16, "fp8": compute.fp8, "int8": compute.int8, "fp4": compute.fp4}
    dense = {name: float(rate) for name, rate in rates.items() if rate is not None}
    return {
        "id": accelerator.id,
        "kind": "accelerator",
        "name": accelerator.name,
        "vendor": accelerator.vendor,
        "architecture": accelerator.architecture,
        "memory_bytes": int(accelerator.memory.reported),
        "memory_bytes_marketing": int(accelerator.memory.marketing),
        "memory_bandwidth_bytes_per_s": bandwidth,
        "dense_flops_per_s": dense,
        "native": list(compute.native),
        "link": _link(accelerator.link),
        "gpus_per_server": accelerator.host.node_size,
        "pcie_bytes_per_s_one_way": _optional(accelerator.host.pcie_one_way),
        "ridge_flops_per_byte": {name: rate / bandwidth for name, rate in dense.items()},
        "power_w": float(accelerator.power.tdp) if accelerator.power else None,
        "sources": _sources(accelerator),
    }


def _kv_per_format(facts: ModelFacts, formats: Mapping[str, NumberFormat]) -> dict[str, dict[str, int]]:
    return {name: _kv(facts, form, 1) for name, form in formats.items() if form.kv}


def _kv_per_tp(
    facts: ModelFacts, formats: Mapping[str, NumberFormat]
) -> dict[str, dict[str, dict[str, int]]]:
    degrees = [tp for tp in TENSOR_PARALLEL_SHOWN if facts.query_heads % tp == 0]
    return {
        name: {str(tp): _kv(facts, form, tp) for tp in degrees} for name, form in formats.items() if form.kv
    }


def _kv(facts: ModelFacts, form: NumberFormat, tp: int) -> dict[str, int]:
    kept = kv_bytes_per_token(facts, form.bits, tp)
    return {
        "all_layers": _whole(kept.all_layers_bytes),
        "growth_past_window": _whole(kept.growth_past_window_bytes),
    }


def _published(model: Model) -> dict[str, int | None] | None:
    if model.published is None:
        return None
    return {"params_total": model.published.total, "params_active": model.published.active}


def _link(link: AcceleratorLink) -> dict[str, Any]:
    return {
        "kind": link.kind,
        "bytes_per_s_one_way": _optional(link.one_way),
        "pair_bytes_per_s_one_way": _optional(link.pair_one_way),
        "domain": link.domain,
        "optional": link.optional,
    }


def _sources(entry: CatalogEntry) -> dict[str, dict[str, str]]:
    return {key: source.model_dump(mode="json") for key, source in sorted(entry.sources.items())}


def _optional(value: Any) -> float | None:
    return None if value is None else float(value)


def _whole(value: float) -> int:
    return math.ceil(value)
