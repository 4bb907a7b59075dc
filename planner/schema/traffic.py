"""The traffic of one workload as the physics sees it: weighted atoms of lengths, and arrivals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Traffic:
    """Lengths and arrivals of one workload.

    Prompt tokens include those of images. ``prefill`` tokens are what the prefix cache leaves.
    """

    input_weight: FloatArray
    """Weights of the prompt atoms, summing to 1."""
    input_tokens: FloatArray
    output_weight: FloatArray
    output_tokens: FloatArray
    input_mean_tokens: float
    output_mean_tokens: float
    input_p95_tokens: float
    output_p95_tokens: float
    input_p99_tokens: float
    output_p99_tokens: float
    kv_tokens: int
    """Tokens of KV that one sequence is sized for: the tail of prompt + answer."""
    cached_fraction: float
    """Share of prompt tokens found in the prefix cache."""
    arrival_scv_ratio: float
    """Squared coefficient of variation of inter-arrival times."""
    answer_input_tokens: float | None = None
    """Mean prompt weighted by answer tokens, where the two depend on each other."""
    images_per_request: float = 0.0
    active_adapters: int = 0
    adapter_rank: int = 0

    @property
    def prefill_mean_tokens(self) -> float:
        """Prompt tokens computed per request on average."""
        return self.input_mean_tokens * (1.0 - self.cached_fraction)

    @property
    def decode_context_tokens(self) -> float:
        """Mean context of a decode token: the whole prompt and half the answer, weighted by answer tokens."""
        second = float(self.output_weight @ (self.output_tokens * self.output_tokens))
        prompt = self.input_mean_tokens if self.answer_input_tokens is None else self.answer_input_tokens
        return prompt + second / (2.0 * self.output_mean_tokens)

    @property
    def prefill_scv_ratio(self) -> float:
        """Squared coefficient of variation of the prompt length."""
        second = float(self.input_weight @ (self.input_tokens * self.input_tokens))
        return max(0.0, second / self.input_mean_tokens**2 - 1.0)
