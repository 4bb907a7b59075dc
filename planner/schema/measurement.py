"""A published measurement of one configuration under one load, as its table states it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["first-token", "static-batch", "closed-loop", "burst", "offline", "open-loop", "server-slo"]
"""first-token: prefill of one batch, nothing else. static-batch: prefill a batch, then decode all of it.
closed-loop: so many requests always in flight. burst: so many requests at once, until the last one ends.
offline: as many as fit, always. open-loop: a given rate. server-slo: the largest rate within limits."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Workers of one side of disaggregated serving; 0 where the table does not say."""

    workers: int = 0
    tp: int = 0
    pp: int = 0
    ep: int = 0
    attention_dp: int = 0


@dataclass(frozen=True, slots=True)
class Measurement:
    """One row. 0 stands for a number, and an empty text for a name, that the table does not state."""

    id: str
    where: str
    """``file:line``."""
    kind: Kind
    model: str
    gpu: str
    engine: str
    engine_version: str
    weights: str
    kv: str
    gpus: int = 0
    tp: int = 0
    pp: int = 0
    ep: int = 0
    attention_dp: int = 0
    input_tokens: float = 0.0
    output_tokens: float = 0.0
    equal_lengths: bool = False
    """All prompts and all answers are equally long, so that what starts together ends together."""
    requests: float = 0.0
    """In flight, in the batch, or sent at once, over all GPUs."""
    run_requests: float = 0.0
    """Requests of the whole run of an open loop."""
    rate_rps: float = 0.0
    """Offered rate of an open loop."""
    ttft_limit_ms: float = 0.0
    tpot_limit_ms: float = 0.0
    batched_tokens: int = 0
    """Chunk that the note states."""
    max_running: int = 0
    """Sequences in one batch at most that the note states."""
    in_flight: float = 0.0
    """Requests in flight over all GPUs by Little's law, where layout or limits follow from it."""
    memory_fraction: float = 0.0
    """Share of memory that the note states."""
    speculation: Literal["none", "on", "unknown"] = "none"
    disaggregated: bool = False
    prefill: Pool = Pool()
    decode: Pool = Pool()
    layout_candidates: int = 0
    doubtful: bool = False
    whole_batch_prompt: bool = False
    """The time to first token is that of a whole batch, without a server in front of it."""
    published_format: bool = False
    """Where the table states no weight format, the checkpoint was served as it is published."""
    legacy: bool | None = None
    """The note or the day tells of an engine generation before the present one, or of that; None: the version
    does (`planner.calibration.generations`)."""
    output_tokens_per_s: float = 0.0
    ttft_ms: float = 0.0
    itl_ms: float = 0.0
    tpot_ms: float = 0.0
    source: str = ""
