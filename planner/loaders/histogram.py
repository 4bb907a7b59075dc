"""Percentiles of a histogram: only the bucket is known, so an interval with an estimate inside."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from planner.schema.readings import Reading

Buckets = Mapping[float, float]
"""Upper edge -> number of events at or below it; the last edge is infinite."""


def added(histograms: Iterable[Buckets]) -> Buckets:
    """Several histograms as one, over the edges that all of them have."""
    all_of_them = [histogram for histogram in histograms if histogram]
    if not all_of_them:
        return {}
    edges = set(all_of_them[0]).intersection(*all_of_them[1:])
    return {edge: sum(histogram[edge] for histogram in all_of_them) for edge in sorted(edges)}


def quantile(buckets: Buckets, share: float) -> Reading | None:
    """The percentile of events that are counted by upper edges; None without events.

    The bucket with the event of rank ``share x total`` bounds it: low and high are the bucket's edges. The
    estimate takes events as spread evenly over the bucket, as ``histogram_quantile`` does; in the last
    bucket, which nothing closes, it is the lower edge.

    Source: prometheus.io, query functions, histogram_quantile.
    """
    edges = sorted(edge for edge in buckets if not math.isnan(edge))
    total = max((buckets[edge] for edge in edges), default=0.0)
    if not edges or not math.isinf(edges[-1]) or not total > 0:
        return None
    rank, below, low = share * total, 0.0, min(0.0, edges[0])
    for edge in edges:
        # Pages are read while the server counts: a larger bucket may lag behind a smaller one.
        count = max(buckets[edge], below)
        if count >= rank and count > below:
            if math.isinf(edge):
                return Reading(low, low, math.inf)
            # Rounding may carry the estimate past the edge.
            return Reading(min(low + (edge - low) * (rank - below) / (count - below), edge), low, edge)
        below, low = count, low if math.isinf(edge) else edge
    return None
