"""One way to run a model: what the step-time and memory models need to know about a replica."""

from __future__ import annotations

from dataclasses import dataclass

from planner.schema.catalog import Accelerator, Calibration, Engine, NumberFormat
from planner.schema.facts import ModelFacts


@dataclass(frozen=True, slots=True)
class Configuration:
    """A model on an accelerator in given formats, with an engine and a parallel layout.

    A replica has ``tp * attention_dp * pp`` GPUs; ``tp * attention_dp`` of them hold one pipeline stage.
    Share the objects of the catalog between configurations: tables are built once per object.
    """

    model: ModelFacts
    accelerator: Accelerator
    weights: NumberFormat
    attention_weights: NumberFormat
    """Format of the attention projections; equal to ``weights`` for most checkpoints."""
    kv: NumberFormat
    engine: Engine
    calibration: Calibration
    tp: int = 1
    """Tensor-parallel degree."""
    pp: int = 1
    """Pipeline stages."""
    ep: int = 1
    """Expert-parallel degree: GPUs of a stage over which whole experts are spread."""
    attention_dp: int = 1
    """Attention-data-parallel ranks, each of ``tp`` GPUs."""
    batched_tokens: int = 2048
    """Tokens in one step at most, per attention rank."""
    node_gpus: int = 8
    """GPUs of the server or instance."""
    fast_link: bool = True
    """The GPUs of a stage share the fast link; otherwise they talk over PCIe."""
    spans_servers: bool = False
    """The replica is larger than one server."""
    network_bytes_per_s: float = 0.0
    """Between servers, one way and per GPU; used only where the replica spans servers."""
    network_latency_s: float = 0.0

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.tp * self.attention_dp * self.pp
