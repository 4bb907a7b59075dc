"""The traffic of one workload as the physics sees it: weighted atoms of lengths, and arrivals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.schema.routing import ALONE, Routing, RoutingPolicy

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reuse:
    """What of the prompts a cache may find again, and what it must hold for that.

    An entry is what is held once: a prefix, or a session between two turns.
    """

    weight: FloatArray
    """Weights of prompt atoms, summing to 1."""
    tokens: FloatArray
    found_tokens: FloatArray
    """Of each prompt, what is found while its entry is held."""
    always_tokens: FloatArray
    """Of each prompt, what is found even when it is not."""
    entries_per_rps: float
    """Entries in use, for each request per second."""
    entries: float
    """Entries in use at any rate; 0 of both: the default share of the cache holds them all."""
    entry_tokens: float
    scattered: bool
    """Requests go to any replica in turn; otherwise to the one that holds their entry."""
    reuse_requests: float = 0.0
    """See `planner.physics.prefix_cache.scattered_fraction`."""
    shares: tuple[float, ...] = ()
    """Blocks for entries beyond those of active requests, to choose from."""
    open_share: bool = True
    """The problem does not say how many."""
    set_bytes: float = 0.0
    """All entries together in 16 bits, where it is stated so; else 0."""
    shared_tokens: float = 0.0
    """Tokens at the start that all entries have in common."""
    prefix_tokens: float = 0.0
    """Length of every prefix, where it is stated; else 0."""
    match_tokens: int = 1
    """Prefixes are found in whole pieces of so many tokens."""


@dataclass(frozen=True, eq=False)
class Running:
    """Requests as they are met while they run: those with long answers more often."""

    weight: FloatArray
    """Summing to 1."""
    input_tokens: FloatArray
    output_tokens: FloatArray
    """Of the whole answer."""


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
    """Prompt and answer of the longest planned request: one alone fits the cache and the model's window."""
    cached_fraction: float
    """Share of prompt tokens found in the prefix cache."""
    arrival_scv_ratio: float
    """Squared coefficient of variation of inter-arrival times at the router."""
    answer_input_tokens: float | None = None
    """Mean prompt weighted by answer tokens, where the two depend on each other."""
    running: Running | None = None
    """Running requests, where prompt and answer depend on each other; None: they do not."""
    images_per_request: float = 0.0
    active_adapters: int = 0
    adapter_rank: int = 0
    prefill_tokens: FloatArray | None = None
    """Of each prompt atom, what is computed; None: all but the cached share."""
    reloaded_tokens: FloatArray | None = None
    """Of each prompt atom, what is fetched from host memory or drives; None: nothing."""
    kept_fraction: float = 1.0
    """Share of the tokens of a running request whose KV is kept."""
    recomputed_tokens: float = 0.0
    """Tokens per request that are computed again because the cache was full, on average."""
    reuse: Reuse | None = None
    """Where hits depend on the cache and on the number of replicas; the atoms then are those of full hits."""
    routing: Routing = ALONE
    """How arrivals are spread over replicas."""

    @property
    def router(self) -> tuple[RoutingPolicy, int]:
        """Policy and number of replicas."""
        return self.routing.policy, self.routing.replicas

    @property
    def computed_tokens(self) -> FloatArray:
        """Of each prompt atom, the tokens that are computed."""
        if self.prefill_tokens is None:
            return np.maximum(self.input_tokens * (1.0 - self.cached_fraction), 1e-9)
        return np.maximum(self.prefill_tokens, 1e-9)

    @property
    def prefill_mean_tokens(self) -> float:
        """Tokens computed per request on average before answers are written."""
        return self.input_mean_tokens * (1.0 - self.cached_fraction) + self.recomputed_tokens

    @property
    def reloaded_mean_tokens(self) -> float:
        """Prompt tokens fetched from host memory or drives per request on average."""
        return 0.0 if self.reloaded_tokens is None else float(self.input_weight @ self.reloaded_tokens)

    @property
    def decode_context_tokens(self) -> float:
        """Mean context of a decode token: the whole prompt and half the answer, weighted by answer tokens.

        Of both, what is kept.
        """
        second = float(self.output_weight @ (self.output_tokens * self.output_tokens))
        prompt = self.input_mean_tokens if self.answer_input_tokens is None else self.answer_input_tokens
        return self.kept_fraction * (prompt + second / (2.0 * self.output_mean_tokens))

    @property
    def output_scv_ratio(self) -> float:
        """Squared coefficient of variation of the tokens of an answer."""
        second = float(self.output_weight @ (self.output_tokens * self.output_tokens))
        return max(0.0, second / self.output_mean_tokens**2 - 1.0)

    @property
    def prefill_scv_ratio(self) -> float:
        """Squared coefficient of variation of the tokens that a prompt takes to compute."""
        tokens = self.input_tokens if self.prefill_tokens is None else self.computed_tokens
        mean = self.input_mean_tokens if self.prefill_tokens is None else float(self.input_weight @ tokens)
        second = float(self.input_weight @ (tokens * tokens))
        return max(0.0, second / mean**2 - 1.0)
