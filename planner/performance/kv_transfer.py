"""The KV transfer of KV caches between prefill and decode workers, for all configurations at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from planner.performance.load import FloatArray, IntArray
from planner.physics import kv_transfer as formulas
from planner.queueing import lengths
from planner.schema.configuration import Configuration
from planner.schema.traffic import Traffic
from planner.steptime.memory import sequence_bytes
from planner.steptime.specs import StepSpecs

_OF_THE_MEAN = 1.0
"""Tail that stands for the mean in `lengths.atoms_around`."""


@dataclass(frozen=True, eq=False)
class KvTransfer:
    """One side of a KV transfer: what each GPU of a worker sends or receives.

    A rank of one side talks to the rank of the other that keeps the same heads, so the bytes are those that
    a rank of this side keeps, and of a pair the slower side holds.
    """

    specs: StepSpecs
    link_bytes_per_s: FloatArray
    """Of one GPU, by configuration."""
    latency_s: float
    hidden_fraction: FloatArray
    mean_bytes: FloatArray
    """Of one prompt on one GPU, by configuration."""
    sizes_bytes: dict[float, FloatArray] = field(default_factory=dict)
    """Prompts that were asked for already, by tokens."""

    @classmethod
    def of(
        cls,
        items: tuple[Configuration, ...],
        specs: StepSpecs,
        traffic: Traffic,
        network_bytes_per_s: float,
        network_latency_s: float,
    ) -> KvTransfer:
        """Columns of the configurations; the network's rate is that of one GPU, one way."""
        pcie = [item.accelerator.host.pcie_one_way for item in items]
        ports = np.array([np.inf if rate is None else float(rate) for rate in pcie])
        engines = [item.engine.kv_transfer for item in items]
        weight, tokens = lengths.atoms_around(traffic.input_weight, traffic.input_tokens, _OF_THE_MEAN)
        rows = np.arange(len(items), dtype=np.int64)
        sizes = [sequence_bytes(specs, rows, one) for one in tokens]
        return cls(
            specs=specs,
            link_bytes_per_s=np.asarray(formulas.link_bytes_per_s(network_bytes_per_s, ports)),
            latency_s=network_latency_s,
            hidden_fraction=np.array([float(engine.hidden) if engine else 0.0 for engine in engines]),
            mean_bytes=np.asarray(weight @ np.stack(sizes)),
        )

    def taken(self, rows: IntArray) -> Links:
        """The links of some configurations, for many rates."""
        return Links(
            ranks=self.specs.attention_dp[rows],
            link_bytes_per_s=self.link_bytes_per_s[rows],
            latency_s=self.latency_s,
            hidden_fraction=self.hidden_fraction[rows],
            mean_bytes=self.mean_bytes[rows],
            size_bytes=lambda tokens: self._size_bytes(tokens)[rows],
        )

    def load_ratio(self, rows: IntArray, rate_rps: FloatArray) -> FloatArray:
        """Share of the link of one GPU that the KV transfers of a worker take at a rate."""
        return self.taken(rows).load_ratio(rate_rps)

    def most_rps(self, rows: IntArray) -> FloatArray:
        """The rate of one worker that fills its links."""
        return self.specs.attention_dp[rows] * self.link_bytes_per_s[rows] / self.mean_bytes[rows]

    def time_s(self, rows: IntArray, prompt_tokens: float, rate_rps: FloatArray | float) -> FloatArray:
        """From the end of prefill to the last byte of a prompt, at a rate of the worker."""
        return self.taken(rows).time_s(prompt_tokens, rate_rps)

    def _size_bytes(self, prompt_tokens: float) -> FloatArray:
        """Of a prompt on one GPU, by configuration."""
        if prompt_tokens not in self.sizes_bytes:
            everyone = np.arange(len(self.specs), dtype=np.int64)
            self.sizes_bytes[prompt_tokens] = sequence_bytes(self.specs, everyone, prompt_tokens)
        return self.sizes_bytes[prompt_tokens]


@dataclass(frozen=True, eq=False)
class Links:
    """`KvTransfer` of chosen configurations: their columns are taken once, rates vary."""

    ranks: FloatArray
    link_bytes_per_s: FloatArray
    latency_s: float
    hidden_fraction: FloatArray
    mean_bytes: FloatArray
    size_bytes: Callable[[float], FloatArray]
    """Of a prompt on one GPU."""
    known: dict[float, FloatArray] = field(default_factory=dict)

    def taken(self, places: IntArray) -> Links:
        """Some of them."""
        return Links(
            ranks=self.ranks[places],
            link_bytes_per_s=self.link_bytes_per_s[places],
            latency_s=self.latency_s,
            hidden_fraction=self.hidden_fraction[places],
            mean_bytes=self.mean_bytes[places],
            size_bytes=lambda tokens: self._sent_bytes(tokens)[places],
        )

    def load_ratio(self, rate_rps: FloatArray | float) -> FloatArray:
        """Share of the link of one GPU that the KV transfers of a worker take at a rate."""
        load = formulas.link_load_ratio(rate_rps / self.ranks, self.mean_bytes, self.link_bytes_per_s)
        return np.asarray(load)

    def time_s(self, prompt_tokens: float, rate_rps: FloatArray | float) -> FloatArray:
        """From the end of prefill to the last byte of a prompt, at a rate of the worker."""
        return self._time_s(self._sent_bytes(prompt_tokens), rate_rps)

    def times_s(self, prompt_tokens: FloatArray, rate_rps: FloatArray) -> FloatArray:
        """The same of several prompts, shape (prompts, rows)."""
        return self._time_s(np.stack([self._sent_bytes(one) for one in prompt_tokens.tolist()]), rate_rps)

    def _sent_bytes(self, prompt_tokens: float) -> FloatArray:
        if prompt_tokens not in self.known:
            self.known[prompt_tokens] = self.size_bytes(prompt_tokens)
        return self.known[prompt_tokens]

    def _time_s(self, sent_bytes: FloatArray, rate_rps: FloatArray | float) -> FloatArray:
        given = (self.link_bytes_per_s, self.latency_s, self.hidden_fraction, self.load_ratio(rate_rps))
        return np.asarray(formulas.kv_transfer_s(sent_bytes, *given))
