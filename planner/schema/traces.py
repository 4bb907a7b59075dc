"""Requests of a recorded trace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class TraceLengths:
    """Token counts of requests, by arrival where the trace has times."""

    arrival_s: NDArray[np.float64] | None
    """Seconds after the first request, never falling; None where the trace has no times."""
    input_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
