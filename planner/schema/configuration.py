"""One way to run a model: what the step-time and memory models need to know about a replica."""

from __future__ import annotations

from dataclasses import dataclass

from planner.schema.catalog import Accelerator, Calibration, Engine, NumberFormat
from planner.schema.facts import ModelFacts
from planner.schema.speculation import DraftKind


@dataclass(frozen=True, slots=True)
class Drafting:
    """Drafts that the model verifies, so many a step."""

    kind: DraftKind
    tokens: int
    acceptance_fraction: float
    model: ModelFacts | None
    """What writes the drafts: a smaller model or a head; None for n-grams."""
    weights: NumberFormat | None
    """Format of its weights."""
    pass_overhead_s: float
    """Host time of one pass of it, beyond what the kernels take."""
    sequence_overhead_s: float
    """Host time to draft for one sequence without a model."""
    name: str = ""
    """The smaller model as the answer names it."""
    sigma_log: float = 0.0
    """What drafts add to the log-standard deviation of a prediction."""
    same_vocabulary: bool = True
    """Its drafts are tokens of the model that verifies them."""


@dataclass(frozen=True, slots=True)
class ExpertTraffic:
    """How tokens reach experts that are spread over GPUs."""

    imbalance_ratio: float | None = None
    """Tokens of the hottest rank over the mean; None: chance, and the calibration's skew."""
    capacity_ratio: float | None = None
    """Tokens that a rank has room for over the mean; None: as many as come."""
    dispatch_bytes: float = 1.0
    """Bytes of one hidden value on its way to an expert on another GPU."""
    combine_bytes: float = 2.0
    """And on its way back."""
    start_s: float = 2e-5
    """Until the first bytes of a dispatch or a combine arrive, where tokens go to their experts alone."""


AS_FITTED = ExpertTraffic()
"""Nothing stated: chance and the calibration's skew on the hottest rank, and no cap."""


@dataclass(frozen=True, slots=True)
class AdapterSlots:
    """LoRA adapters that a replica keeps in device memory."""

    active: int
    """In use at once."""
    rank: int


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
    drafting: Drafting | None = None
    """Speculative decoding; None: one token a step."""
    experts: ExpertTraffic = AS_FITTED
    adapters: AdapterSlots | None = None
    memory_share: float | None = None
    """Share of device memory that the engine is given; None: its own default."""

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.tp * self.attention_dp * self.pp

    @property
    def memory_utilization(self) -> float:
        """Share of device memory, or of what loading leaves, that the engine takes."""
        return float(self.engine.memory.utilization) if self.memory_share is None else self.memory_share
