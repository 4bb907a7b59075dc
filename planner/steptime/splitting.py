"""Whether the heads of a model split over tensor-parallel ranks."""

from __future__ import annotations

from planner.schema.facts import ModelFacts


def heads_divide(model: ModelFacts, tp: int) -> bool:
    """Query heads split evenly, and KV heads split or are replicated evenly."""
    kv_even = model.is_mla or model.kv_heads % tp == 0 or tp % model.kv_heads == 0
    return model.query_heads % tp == 0 and kv_even
