"""Time to write drafts: the passes of a smaller model, of a head, or a look at the text so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.physics import speculation
from planner.physics.arrays import FloatArray, IntArray
from planner.schema.configuration import Configuration
from planner.schema.facts import ModelFacts
from planner.steptime.build import PreparedSpecs
from planner.steptime.option_columns import draft_configuration
from planner.steptime.specs import StepSpecs
from planner.steptime.step import total_step_s

NO_DRAFT = -1


def eagle_head(target: ModelFacts) -> ModelFacts:
    """An EAGLE-style head: one layer of the model's width that reads its hidden states.

    Attention as in one layer of the model, a dense feed-forward part as large as what one token uses there,
    and ``3 h^2`` weights that join three hidden states into one. Embedding and output head are the model's.

    Source: EAGLE-3 (Li et al. 2025), as vLLM runs it: never a mixture of experts.
    Assumes: the whole vocabulary (published heads often have a smaller one of their own).
    """
    dense = target.dense_mlp_params_per_layer
    used = target.shared_params_per_moe_layer + target.experts_per_token * target.expert_params
    joined = 3 * target.hidden_size * target.hidden_size
    return replace(
        target,
        id=f"{target.id}-eagle",
        layers=1,
        full_layers=1,
        sliding_layers=0,
        window_tokens=0,
        sparse_top_k_tokens=0,
        index_layers=0,
        index_bytes_per_token=0,
        index_flops_per_context_token=0,
        linear_layers=0,
        dense_layers=1,
        dense_mlp_params_per_layer=dense or used,
        moe_layers=0,
        experts=0,
        experts_per_token=0,
        expert_params=0,
        shared_params_per_moe_layer=0,
        router_params_per_moe_layer=0,
        norm_params=2 * target.hidden_size,
        other_params=joined,
        embedding_params=0,
        lm_head_params=0,
        vision_params=0,
        state_bytes_per_sequence=0,
    )


@dataclass(frozen=True, eq=False)
class Drafts:
    """How replicas draft: one entry a configuration."""

    tokens: FloatArray
    """Drafts per step; 0 without."""
    tokens_per_step: FloatArray
    """Tokens that a step emits per sequence on average."""
    tokens_per_step_variance: FloatArray
    sequence_s: FloatArray
    """Host time of one sequence where no model drafts."""
    row: IntArray
    """Row of the models that draft; `NO_DRAFT` without one."""
    first: StepSpecs | None
    """The models that draft, reading all tokens of the step before."""
    next: StepSpecs | None
    """And their further passes, of one token each."""

    def time_s(
        self,
        rows: IntArray,
        decode_sequences: FloatArray,
        context_tokens: FloatArray,
        prefill_tokens: FloatArray,
        prefill_context_tokens: FloatArray,
        finishing_prompts: FloatArray,
    ) -> FloatArray:
        """Seconds of drafting in a step, for all its sequences; arguments as in `total_step_s`.

        A model that drafts reads the tokens of the step before, prompt tokens included, and writes the first
        draft in that pass; ``k - 1`` passes of one token follow.
        """
        total_s = self.sequence_s[rows] * np.asarray(decode_sequences)
        if self.first is None or self.next is None:
            return np.asarray(total_s)
        own = self.row[rows]
        which = np.maximum(own, 0)
        loads = (prefill_tokens, prefill_context_tokens, finishing_prompts)
        first_s = total_step_s(self.first, which, decode_sequences, context_tokens, *loads)
        next_s = total_step_s(self.next, which, decode_sequences, context_tokens)
        passes_s = first_s + np.maximum(self.tokens[rows] - 1.0, 0.0) * next_s
        return np.asarray(total_s + np.where(own == NO_DRAFT, 0.0, passes_s))


def drafts_of(configurations: Sequence[Configuration]) -> Drafts | None:
    """The drafts of a list of configurations; None where nobody drafts."""
    drafting = [item.drafting for item in configurations]
    if not any(drafting):
        return None
    tokens = np.array([float(draft.tokens) if draft else 0.0 for draft in drafting])
    accepted = np.array([draft.acceptance_fraction if draft else 0.0 for draft in drafting])
    models = [draft_configuration(item) for item in configurations]
    row = np.full(len(models), NO_DRAFT, dtype=np.intp)
    writing = [place for place, item in enumerate(models) if item is not None]
    row[writing] = np.arange(len(writing))
    first, following = _passes(configurations, [item for item in models if item is not None], writing)
    return Drafts(
        tokens=tokens,
        tokens_per_step=speculation.tokens_per_step(accepted, tokens),
        tokens_per_step_variance=speculation.tokens_per_step_variance(accepted, tokens),
        sequence_s=np.array([draft.sequence_overhead_s if draft else 0.0 for draft in drafting]),
        row=row,
        first=first,
        next=following,
    )


def _passes(
    configurations: Sequence[Configuration], models: Sequence[Configuration], places: Sequence[int]
) -> tuple[StepSpecs | None, StepSpecs | None]:
    """Columns of the first pass and of the others: the host launches passes, it does not schedule them."""
    if not models:
        return None, None
    drafting = [draft for place in places if (draft := configurations[place].drafting) is not None]
    overhead = np.array([draft.pass_overhead_s for draft in drafting])
    verified = np.array([1.0 + draft.tokens for draft in drafting])
    host = {"step_overhead_s": overhead, "sequence_overhead_s": np.zeros(len(models))}
    prepared = PreparedSpecs(models)
    return prepared.specs(overrides=host | {"decode_tokens": verified}), prepared.specs(overrides=host)
