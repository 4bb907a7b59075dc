"""A replay as charts: over time, and latency by percentile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner import numbers
from planner.schema.replay import Replay
from planner.schema.report import Chart, LineChart, LinePanel, Track

_SHARES = {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p99.9": 99.9}
_HOUR_S, _LONG_S = 3600.0, 7200.0


def of_replay(found: Replay) -> list[Chart]:
    """Load, latency, batch, KV cache and replicas over time; percentiles beside their predictions."""
    return [_over_time(found), *(_percentiles(found, metric) for metric in ("ttft", "itl", "e2e"))]


def _over_time(found: Replay) -> Chart:
    line = found.timeline
    hours = found.duration_s > _LONG_S
    at = [one / _HOUR_S if hours else one for one in line.at_s]
    first = float(found.hours[0].hour) if found.hours else 0.0
    at = [one + first for one in at] if hours else at

    def tracks(values: Mapping[str, Sequence[float | None]]) -> tuple[Track, ...]:
        return tuple(
            Track(name, tuple((x, y) for x, y in zip(at, one, strict=True) if y is not None))
            for name, one in values.items()
        )

    works, pools = line.workloads, line.pools
    panels = (
        LinePanel("requests/s", tracks({name: one.rate_rps for name, one in works.items()})),
        LinePanel("waiting", tracks({name: one.waiting for name, one in works.items()})),
        LinePanel("TTFT P99", tracks({name: one.ttft_p99_s for name, one in works.items()}), seconds=True),
        LinePanel("ITL P99", tracks({name: one.itl_p99_s for name, one in works.items()}), seconds=True),
        LinePanel("decoding, a replica", tracks({name: one.decoding for name, one in pools.items()})),
        LinePanel("KV in use, share", tracks({name: one.kv_usage for name, one in pools.items()})),
        LinePanel("replicas", tracks({name: one.replicas for name, one in pools.items()})),
    )
    text = f"{found.problem}: the plan {found.verdict} over {numbers.seconds(found.duration_s)}."
    axis = "hour" if hours else "seconds"
    return LineChart("replay", f"{found.problem}: replayed over time", text, axis, panels)


def _percentiles(found: Replay, metric: str) -> Chart:
    """Replayed and predicted latency by percentile, with the limits."""
    tracks = []
    for kind, source in (("replayed", found.workloads), ("predicted", found.predicted)):
        for name, one in source.items():
            values: Mapping[str, float] = getattr(one, f"{metric}_s")
            points = tuple((_SHARES[key], value) for key, value in values.items() if key in _SHARES)
            tracks.append(Track(f"{name}, {kind}", points))
    limits = tuple((limit.id, limit.limit_s) for limit in found.limits if limit.id.startswith(f"{metric}_"))
    panel = LinePanel(metric.upper(), tuple(tracks), limits=limits, seconds=True)
    title = f"{found.problem}: {metric.upper()} by percentile"
    return LineChart(f"replay-{metric}", title, f"{title}, replayed and predicted.", "percentile", (panel,))
