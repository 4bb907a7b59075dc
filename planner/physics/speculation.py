"""Speculative decoding: how many tokens one verified step emits when each draft is accepted by chance."""

from __future__ import annotations

import numpy as np

from planner.physics.arrays import FloatArray, Floats


def tokens_per_step(acceptance_fraction: Floats, draft_tokens: Floats) -> FloatArray:
    """Mean tokens of one step: ``1 + a + … + a^k = (1 - a^(k+1)) / (1 - a)``.

    A draft counts only where all before it were accepted; the step adds one token of the model itself.

    Source: Leviathan et al. 2023, "Fast inference from transformers via speculative decoding", equation 1.
    Assumes: drafts are accepted independently, each with the same probability ``a``.
    Breaks down when: acceptance falls along the draft, or differs much between requests.
    """
    return _power_sum(acceptance_fraction, draft_tokens, 0.0)


def tokens_per_step_variance(acceptance_fraction: Floats, draft_tokens: Floats) -> FloatArray:
    """Variance of the tokens ``X`` of one step: ``sum (2 j + 1) a^j - tau^2`` over j = 0 … k.

    ``X`` is above j with probability ``a^j``, so ``E[X^2] = sum (2 j + 1) P(X > j)``.
    """
    squared = _power_sum(acceptance_fraction, draft_tokens, 2.0)
    return np.asarray(np.maximum(squared - tokens_per_step(acceptance_fraction, draft_tokens) ** 2, 0.0))


def answer_steps_variance(
    answer_tokens: Floats, tokens_per_step: Floats, step_tokens_variance_ratio: Floats
) -> FloatArray:
    """Variance of the number of steps that an answer of ``n`` tokens takes: ``n Var(X) / tau^3``.

    Source: renewal theory (the number of renewals up to n).
    Breaks down when: the answer is only a few steps long.
    """
    return np.asarray(answer_tokens * step_tokens_variance_ratio / np.asarray(tokens_per_step) ** 3)


def _power_sum(acceptance_fraction: Floats, draft_tokens: Floats, slope_ratio: float) -> FloatArray:
    """``sum (1 + slope j) a^j`` over j = 0 … k: term by term, since k is small and a may be 1."""
    accepted, drafts = np.broadcast_arrays(np.asarray(acceptance_fraction, dtype=np.float64), draft_tokens)
    total = np.ones(accepted.shape)
    for position in range(1, int(np.max(drafts, initial=0)) + 1):
        term = (1.0 + slope_ratio * position) * accepted**position
        total = total + np.where(position <= drafts, term, 0.0)
    return total
