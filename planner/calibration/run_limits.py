"""Limits on sequences that measured runs had, where they were not the engine's own."""

from __future__ import annotations

import math

from planner.schema.engine import Engine
from planner.schema.measurement import Measurement


def raised_limit(engine: Engine, row: Measurement) -> int:
    """The limit of a run that had more sequences in flight than the engine's own limit; else 0.

    Limits are set in powers of two: the next one. Those in flight themselves would be a limit that the run
    was always at.
    """
    modest = engine.limits.modest
    own = modest.max_running if modest else engine.limits.max_running
    replicas = max(row.gpus // max(row.tp * max(row.pp, 1), 1), 1)
    inside = math.ceil(row.in_flight / replicas)
    return int(2 ** math.ceil(math.log2(inside))) if inside > own else 0


def with_limit(engine: Engine, max_running: int) -> Engine:
    """The engine told to run so many sequences at once."""
    limits = engine.limits.model_copy(update={"max_running": max_running, "modest": None})
    return engine.model_copy(update={"limits": limits})
