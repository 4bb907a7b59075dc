"""What a workload asks for before anything is chosen: traffic, and bytes by number format."""

from __future__ import annotations

from planner.schema.base import Noun


class WorkloadSizing(Noun):
    """The numbers with which sizing begins."""

    workload: str
    peak_rps: float
    mean_rps: float
    arrival_scv_ratio: float
    """Squared coefficient of variation of inter-arrival times; 1 = Poisson."""
    input_tokens: dict[str, float]
    """``{"mean": …, "p95": …, "p99": …}`` of a prompt."""
    output_tokens: dict[str, float]
    """The same of an answer."""
    sequence_tokens: int
    """What a running request holds on average: its prompt, and its answer so far."""
    cached_fraction: float
    """Share of prompt tokens found in the prefix cache."""
    checkpoint: str
    """Format of the published weights."""
    weights_bytes: dict[str, float]
    """One copy of the model by format of its weights: the checkpoint's first, then those of the plan."""
    sequence_bytes: dict[str, float]
    """KV and state of one sequence of `sequence_tokens` by format of the KV cache: 16 bit first."""
    token_bytes: dict[str, float] = {}
    """KV that one more token of a long sequence takes, in the same formats."""
