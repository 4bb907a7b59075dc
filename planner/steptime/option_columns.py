"""Columns of options that only some replicas have: spread experts, adapters, drafts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from planner.physics import adapters, collectives, kernels, moe
from planner.physics.arrays import FloatArray
from planner.schema.configuration import AdapterSlots, Configuration
from planner.schema.facts import ModelFacts
from planner.steptime.splitting import heads_divide
from planner.steptime.stage_columns import attention_columns, weight_columns
from planner.steptime.table import Columns, ConfigurationTable


def expert_columns(table: ConfigurationTable) -> Columns:
    """Load of the hottest rank and bytes of the exchange, where whole experts are spread over GPUs."""
    spread = table.ep > 1
    imbalance = table.experts.column(lambda e: e.imbalance_ratio or 1.0)
    capacity = table.experts.column(lambda e: e.capacity_ratio or np.inf)
    hottest = np.where(spread, moe.hottest_ratio(imbalance, capacity), 1.0)
    wide = table.spans_servers & (table.attention_dp > 1) & (table.stage_gpus > table.node_gpus)
    # Inside a server every rank gets all tokens, hot or not; over servers each gets those of its experts.
    padding = np.where(spread & np.isfinite(capacity), capacity, np.where(wide, hottest, 1.0))
    copies = collectives.spread_copies(table.fact("experts_per_token"), table.stage_gpus)
    elements = table.experts.column(lambda e: e.dispatch_bytes + e.combine_bytes)
    remote = np.where(wide, 1.0 - table.node_gpus / table.stage_gpus, 0.0)
    one = collectives.all_to_all_bytes(
        1.0, table.fact("hidden_size"), elements, copies, remote, table.stage_gpus
    )
    buffers = moe.buffer_bytes(
        table.batched_tokens * table.attention_dp,
        table.fact("experts_per_token"),
        padding,
        table.fact("hidden_size"),
        elements,
        table.stage_gpus,
    )
    buffered = (table.fact("experts") > 0) & spread & (wide | np.isfinite(capacity))
    return {
        "expert_hot_ratio": hottest,
        "exchange_padding_ratio": padding,
        "all_to_all_token_bytes": np.asarray(one),
        "exchange_buffer_bytes": np.where(buffered, buffers, 0.0),
    }


def adapter_columns(table: ConfigurationTable) -> Columns:
    """Adapters in use, the values of one on one rank, and the kernels they add to a stage."""
    dense_share = table.fact("dense_layers") / np.maximum(table.fact("layers"), 1.0)
    used = _slots(table, lambda slots: slots.active)
    stage_layers = table.staged(table.fact("layers"))
    added = kernels.adapter_kernels(stage_layers, stage_layers * dense_share)
    whole = table.model.column(_attention_whole) + dense_share * table.model.column(_feed_forward_whole)
    split = table.model.column(_attention_split) + dense_share * table.model.column(_feed_forward_split)
    ranks = _slots(table, lambda slots: slots.rank)
    return {
        "adapters": used,
        "adapter_params": np.asarray(adapters.adapter_params(ranks, stage_layers, whole, split, table.tp)),
        "adapter_kernels": np.where(used > 0.0, added, 0.0),
    }


def _slots(table: ConfigurationTable, value: Callable[[AdapterSlots], float]) -> FloatArray:
    """A number of the adapter slots; 0 without any."""
    return table.adapters.column(lambda slots: 0.0 if slots is None else value(slots))


def _attention_whole(model: ModelFacts) -> float:
    """First factors of query, key and value, second of the output: as wide as the hidden state."""
    return 4.0 * model.hidden_size


def _attention_split(model: ModelFacts) -> float:
    """Second factors of query, key and value, first of the output: split over the heads."""
    return 2.0 * model.query_heads * model.head_dim + model.kv_elements_per_token_layer


def _feed_forward_whole(model: ModelFacts) -> float:
    """First factors of gate and up, second of down."""
    return 3.0 * model.hidden_size


def _feed_forward_split(model: ModelFacts) -> float:
    """Second factors of gate and up, first of down."""
    return model.dense_mlp_params_per_layer / model.hidden_size


def draft_configuration(item: Configuration) -> Configuration | None:
    """What writes the drafts of a replica, on the same GPUs; None for n-grams and without drafts.

    It is split like the model where its heads divide, and kept whole on every rank otherwise. Each
    attention rank drafts for its own sequences.
    """
    drafting = item.drafting
    if drafting is None or drafting.model is None or drafting.weights is None:
        return None
    return replace(
        item,
        model=drafting.model,
        weights=drafting.weights,
        attention_weights=drafting.weights,
        tp=item.tp if heads_divide(drafting.model, item.tp) else 1,
        pp=1,
        ep=1,
        drafting=None,
        adapters=None,
    )


def draft_columns(configurations: Sequence[Configuration]) -> Columns:
    """Tokens that a sequence brings to a step, and the memory of what writes its drafts."""
    size = len(configurations)
    columns = {name: np.zeros(size) for name in ("draft_weight_bytes", "draft_kv_bytes", "draft_state_bytes")}
    drafting = [item.drafting for item in configurations]
    if not any(drafting):
        return columns | {"decode_tokens": np.ones(size)}
    verified = np.array([1.0 + (draft.tokens if draft else 0) for draft in drafting])
    drafts = [draft_configuration(item) for item in configurations]
    rows = [row for row, draft in enumerate(drafts) if draft is not None]
    if rows:
        table = ConfigurationTable([draft for draft in drafts if draft is not None])
        kept = attention_columns(table)
        columns["draft_weight_bytes"][rows] = weight_columns(table)["weight_bytes"]
        # Windows of a draft model are not used: its cache lies in the blocks of the large one.
        columns["draft_kv_bytes"][rows] = kept["kv_full_bytes_per_token"] + kept["kv_sliding_bytes_per_token"]
        columns["draft_state_bytes"][rows] = kept["state_bytes_per_sequence"]
    return columns | {"decode_tokens": verified}
