"""What a running request holds of the KV cache at any moment, as weighted atoms of tokens."""

from __future__ import annotations

import numpy as np

from planner.queueing import lengths as formulas
from planner.schema.traffic import FloatArray, Running, Traffic

_AGES = (np.arange(8) + 0.5) / 8.0
"""Where in its answer a running request is met."""
_LEVELS = (*np.arange(0.05, 0.9, 0.05).tolist(), 0.9, 0.92, 0.94, 0.96, 0.97, 0.98, 0.985,
           0.99, 0.9925, 0.995, 0.9975, 0.999, 1.0)  # fmt: skip
"""Bins of the distribution: fine in the tail, which decides how few requests fit."""


def held_tokens(traffic: Traffic) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weights, and tokens that a running request holds: as its answer grows, and with all of it reserved.

    A request of n prompt tokens and an answer of o is met running with weight o, anywhere in its course: it
    holds ``n + u o`` tokens, u uniform in [0, 1]; ``n + o`` where the engine reserves the whole answer. Of
    both, what is kept.

    Source: length-biased sampling, Cox, Renewal Theory (1962), section 5.4.
    """
    running = traffic.running or _of_sides(traffic)
    weight = np.repeat(running.weight / _AGES.size, _AGES.size)
    growing, reserved = (
        (running.input_tokens[:, None] + running.output_tokens[:, None] * ages).ravel()
        for ages in (_AGES, np.ones_like(_AGES))
    )
    if weight.size > len(_LEVELS):
        _, growing = formulas.coarse_atoms(weight, growing, _LEVELS)
        weight, reserved = formulas.coarse_atoms(weight, reserved, _LEVELS)
    return weight / weight.sum(), traffic.kept_fraction * growing, traffic.kept_fraction * reserved


def _of_sides(traffic: Traffic) -> Running:
    """Running requests whose prompts and answers do not depend on each other."""
    by_length = traffic.output_weight * traffic.output_tokens
    weight = traffic.input_weight[:, None] * (by_length / by_length.sum())[None, :]
    prompts, answers = np.meshgrid(traffic.input_tokens, traffic.output_tokens, indexing="ij")
    return Running(weight.ravel(), prompts.ravel(), answers.ravel())


def running_of_pairs(weight: FloatArray, input_tokens: FloatArray, output_tokens: FloatArray) -> Running:
    """Running requests where the two sides are known together; many requests in bins of equal weight."""
    by_length = weight * output_tokens
    by_length = by_length / by_length.sum()
    if weight.size <= len(_LEVELS):
        return Running(by_length, input_tokens, output_tokens)
    columns = (input_tokens, output_tokens)
    share, merged = formulas.coarse_columns(by_length, input_tokens + output_tokens / 2.0, columns, _LEVELS)
    return Running(share, *merged)


def prompts_alone(traffic: Traffic) -> Running:
    """Requests at a prefill worker: their prompts, met with the time they take, so with their length."""
    by_length = traffic.input_weight * traffic.input_tokens
    return Running(by_length / by_length.sum(), traffic.input_tokens, np.zeros_like(traffic.input_tokens))


def all_of(tokens: int) -> Running:
    """Requests that all hold so many tokens at any time."""
    return Running(np.ones(1), np.array([float(tokens)]), np.zeros(1))
