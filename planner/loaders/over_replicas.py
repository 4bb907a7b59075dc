"""One number of several replicas."""

from __future__ import annotations

import math
from collections.abc import Sequence

from planner.schema.exporter import Replicas


def over_replicas(replicas: Replicas, values: Sequence[float]) -> float | None:
    """The number that is asked for, of one value or more; None: so few tell nothing of it."""
    if replicas == "p75":
        # With fewer than four the largest one still stands out from the rest.
        return sorted(values)[len(values) * 3 // 4 - 1] if len(values) > 1 else None
    total = math.fsum(values)
    return {"sum": total, "max": max(values), "min": min(values), "mean": total / len(values)}[replicas]
