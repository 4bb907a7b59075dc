"""The load of a measured row, in the conventions of its benchmark."""

from __future__ import annotations

import math

from planner.schema.measurement import Measurement
from planner.schema.service_load import Burst, ClosedLoop, LargestRate, OpenArrivals, ServiceLoad, StaticBatch


def load_of(row: Measurement) -> ServiceLoad:
    """The load of a row, in the conventions of its benchmark."""
    requests = row.requests or math.inf
    if row.kind == "open-loop":
        return OpenArrivals(row.rate_rps, requests=int(row.run_requests))
    if row.kind == "server-slo":
        return largest_rate(row)
    if row.kind == "burst":
        return Burst(int(row.requests))
    if row.kind in ("closed-loop", "offline"):
        clients = requests if row.kind == "closed-loop" else math.inf
        return ClosedLoop(clients, int(row.run_requests), equal_lengths=row.equal_lengths)
    return StaticBatch(requests, row.whole_batch_prompt, row.kind == "first-token")


def largest_rate(row: Measurement) -> LargestRate:
    """The largest rate within the p99 limits of a row; without limits where it states none."""
    stated = {"ttft_p99": row.ttft_limit_ms, "tpot_p99": row.tpot_limit_ms}
    return LargestRate({name: limit / 1e3 for name, limit in stated.items() if limit})
