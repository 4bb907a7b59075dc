"""Runs whose first tokens come sooner than their prompts can be computed: a cache held them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planner.performance.row_loads import Service
from planner.physics.operators import gemm_work
from planner.schema.percentiles import PercentileRow
from planner.steptime.rates import peak_flops_per_s

HELD = "first tokens sooner than its GPUs at their peak compute its prompts: sent before, and held in a cache"


def with_held_prompts(
    rows: Sequence[PercentileRow], services: Sequence[Service]
) -> tuple[PercentileRow, ...]:
    """The rows, those in doubt whose client sent prompts that the server knew.

    Rule: equal prompts cannot be computed in less than ``2 P ISL / (n F)``, P the parameters that a token
    uses but those of embedding and head, F the peak of one of n GPUs. A run whose median time to first token
    is shorter found its prompts in a cache, and so may have all runs of its source with this model and
    length: one client sent them. Runs that state what their prompts share are not looked at.
    """
    seen = [row.input_kind == "fixed" and row.prompts is None for row in rows]
    held = {
        _client(row)
        for row, service, looked in zip(rows, services, seen, strict=True)
        if looked and 0.0 < row.observed_ms.get("ttft_p50", 0.0) / 1e3 < shortest_prompt_s(service)
    }
    return tuple(
        replace(row, doubt=row.doubt or HELD) if looked and _client(row) in held else row
        for row, looked in zip(rows, seen, strict=True)
    )


def shortest_prompt_s(service: Service) -> float:
    """Seconds in which a replica at the peak of its GPUs multiplies one prompt with the weights.

    Attention and everything that is no product are left out, so no run is quicker.
    """
    item = service.item
    model = item.model
    params = model.params_active_excl_input_embedding - model.vocab_size * model.hidden_size
    peak = max(peak_flops_per_s(item.accelerator, form) for form in (item.weights, item.attention_weights))
    work_flops, _ = gemm_work(service.input_tokens, float(max(params, 0)), 0.0)
    return float(work_flops / (item.gpus * peak))


def _client(row: PercentileRow) -> tuple[object, ...]:
    measured = row.measured
    return row.source.split("@")[0], measured.model, measured.engine, measured.input_tokens
