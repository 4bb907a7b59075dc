"""Columns of options that only some replicas have: spread experts, adapters, drafts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from planner.physics import adapters, collectives, kernels, moe, parallelism
from planner.physics.arrays import FloatArray
from planner.schema.candidates import BoolArray
from planner.schema.configuration import AdapterSlots, Configuration
from planner.schema.facts import ModelFacts
from planner.steptime.interning import Numbers
from planner.steptime.splitting import heads_divide
from planner.steptime.stage_columns import attention_columns, weight_columns
from planner.steptime.table import Columns, ConfigurationTable


def expert_columns(table: ConfigurationTable) -> Columns:
    """What the fullest rank holds and may be sent, and bytes of the exchange, where experts are spread."""
    experts = np.maximum(table.fact("experts"), 1.0)
    held = parallelism.experts_per_gpu(experts, table.ep) / experts
    most = moe.largest_ratio(experts, table.fact("experts_per_token"), held)
    return {
        "expert_held_fraction": np.asarray(held),
        "expert_shards": table.expert_shards,
        "expert_capacity_ratio": np.minimum(_accepted_ratio(table), most),
        **_exchange_columns(table),
    }


def _exchange_columns(table: ConfigurationTable) -> Columns:
    """Bytes of one token, and of the buffers of the largest step."""
    used, hidden = table.fact("experts_per_token"), table.fact("hidden_size")
    elements = table.experts.column(lambda e: e.dispatch_bytes + e.combine_bytes)
    copies = collectives.spread_copies(used, table.stage_gpus)
    elsewhere = 1.0 - np.where(table.leaves_server, table.node_gpus, 1.0) / table.stage_gpus
    one = collectives.all_to_all_bytes(1.0, hidden, elements, copies, elsewhere, table.stage_gpus)
    accepted = _accepted_ratio(table)
    room = np.where(np.isfinite(accepted), accepted, _stated_ratio(table))
    tokens = table.batched_tokens * table.attention_dp
    buffers = moe.buffer_bytes(tokens, used, room, hidden, elements, table.stage_gpus)
    buffered = (table.fact("experts") > 0) & (table.all_to_all | np.isfinite(accepted))
    return {
        "all_to_all_token_bytes": np.where(table.all_to_all, one, 0.0),
        "exchange_buffer_bytes": np.where(buffered, buffers, 0.0),
    }


def load_columns(table: ConfigurationTable, imbalance: FloatArray, chance: FloatArray) -> Columns:
    """How far skewed routing and chance take the hottest rank above the mean, and room of the exchange.

    Args:
        table: the configurations.
        imbalance: skew that the calibration adds where the problem does not state the load.
        chance: share of what even draws would add by chance that step times show.
    """
    experts, used = np.maximum(table.fact("experts"), 1.0), table.fact("experts_per_token")
    held = parallelism.experts_per_gpu(experts, table.ep) / experts
    # A stated load of the hottest rank was measured: chance is in it.
    deviations = np.where(_stated(table), 0.0, chance * Numbers(table.ep).column(moe.largest_deviation))
    accepted = _accepted_ratio(table)
    asked = np.where(_stated(table), _stated_ratio(table), 1.0 + imbalance)
    hottest = np.where(table.ep > 1, moe.hottest_ratio(asked, accepted), 1.0)
    # Where every rank gathers all tokens it does not matter which are hot.
    sent = np.where(table.all_to_all, hottest, 1.0)
    return {
        "expert_row_spread": np.asarray(moe.row_spread(experts, used, held, deviations)),
        "expert_hit_spread": np.asarray(moe.hit_spread(experts, held, deviations)),
        "expert_hot_ratio": hottest,
        "exchange_padding_ratio": np.where(np.isfinite(accepted), accepted, sent),
    }


def _stated(table: ConfigurationTable) -> BoolArray:
    """The problem states the load of the hottest rank."""
    return table.experts.column(lambda e: float(e.imbalance_ratio is not None)) > 0.0


def _stated_ratio(table: ConfigurationTable) -> FloatArray:
    return table.experts.column(lambda e: e.imbalance_ratio or 1.0)


def _accepted_ratio(table: ConfigurationTable) -> FloatArray:
    """Tokens that a rank accepts over the mean; infinite without a cap, and where experts are not spread."""
    return np.where(table.ep > 1, table.experts.column(lambda e: e.capacity_ratio or np.inf), np.inf)


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
