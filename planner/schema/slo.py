"""Latency limits."""

from __future__ import annotations

from planner.schema.base import FirstTokenSeconds, GapSeconds, Noun, RequestSeconds


class Slo(Noun):
    """Limits on time to first token, inter-token latency, time per output token and end-to-end time.

    Absent means no limit. ITL pools the gaps of all tokens; TPOT averages them within a request.
    """

    ttft_mean: FirstTokenSeconds | None = None
    ttft_p50: FirstTokenSeconds | None = None
    ttft_p90: FirstTokenSeconds | None = None
    ttft_p95: FirstTokenSeconds | None = None
    ttft_p99: FirstTokenSeconds | None = None
    itl_mean: GapSeconds | None = None
    itl_p50: GapSeconds | None = None
    itl_p90: GapSeconds | None = None
    itl_p95: GapSeconds | None = None
    itl_p99: GapSeconds | None = None
    tpot_mean: GapSeconds | None = None
    tpot_p50: GapSeconds | None = None
    tpot_p90: GapSeconds | None = None
    tpot_p95: GapSeconds | None = None
    tpot_p99: GapSeconds | None = None
    e2e_mean: RequestSeconds | None = None
    e2e_p50: RequestSeconds | None = None
    e2e_p90: RequestSeconds | None = None
    e2e_p95: RequestSeconds | None = None
    e2e_p99: RequestSeconds | None = None


METRICS = ("ttft", "itl", "tpot", "e2e")
STATISTICS = ("mean", "p50", "p90", "p95", "p99")
"""Those that a limit may name."""
SHOWN_STATISTICS = (*STATISTICS, "p99.9")
"""Those that an answer holds."""
