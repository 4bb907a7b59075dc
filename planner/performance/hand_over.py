"""The hand-over of KV caches between prefill and decode workers, for all configurations at once."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from planner.performance.load import FloatArray, IntArray
from planner.physics import hand_over as formulas
from planner.queueing import lengths
from planner.schema.configuration import Configuration
from planner.schema.traffic import Traffic
from planner.steptime.memory import sequence_bytes
from planner.steptime.specs import StepSpecs

_OF_THE_MEAN = 1.0
"""Tail that stands for the mean in `lengths.atoms_around`."""


@dataclass(frozen=True, eq=False)
class HandOver:
    """One side of a hand-over: what each GPU of a worker sends or receives.

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
    ) -> HandOver:
        """Columns of the configurations; the network's rate is that of one GPU, one way."""
        pcie = [item.accelerator.host.pcie_one_way for item in items]
        ports = np.array([np.inf if rate is None else float(rate) for rate in pcie])
        engines = [item.engine.hand_over for item in items]
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

    def load_ratio(self, rows: IntArray, rate_rps: FloatArray) -> FloatArray:
        """Share of the link of one GPU that the hand-overs of a worker take at a rate."""
        ranks = self.specs.attention_dp[rows]
        load = formulas.link_load_ratio(rate_rps / ranks, self.mean_bytes[rows], self.link_bytes_per_s[rows])
        return np.asarray(load)

    def most_rps(self, rows: IntArray) -> FloatArray:
        """The rate of one worker that fills its links."""
        return self.specs.attention_dp[rows] * self.link_bytes_per_s[rows] / self.mean_bytes[rows]

    def time_s(self, rows: IntArray, prompt_tokens: float, rate_rps: FloatArray | float) -> FloatArray:
        """From the end of prefill to the last byte of a prompt, at a rate of the worker."""
        load = self.load_ratio(rows, np.broadcast_to(np.asarray(rate_rps, dtype=np.float64), rows.shape))
        if prompt_tokens not in self.sizes_bytes:
            everyone = np.arange(len(self.specs), dtype=np.int64)
            self.sizes_bytes[prompt_tokens] = sequence_bytes(self.specs, everyone, prompt_tokens)
        sent = self.sizes_bytes[prompt_tokens][rows]
        return np.asarray(
            formulas.hand_over_s(
                sent, self.link_bytes_per_s[rows], self.latency_s, self.hidden_fraction[rows], load
            )
        )
