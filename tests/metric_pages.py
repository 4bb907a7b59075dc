"""Pages of metrics, written by prometheus-client itself, so that their form is right."""

from collections.abc import Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

TTFT_EDGES = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75),
    *(1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560),
)
ITL_EDGES = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80)
E2E_EDGES = (0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680)

Seen = Sequence[tuple[float, int]]
"""Value and how often it was seen."""


class Exporter:
    """An engine or GPU that exports: set gauges, add to counters, see values."""

    def __init__(self, prefix: str, labels: Mapping[str, str]) -> None:
        self.prefix = prefix
        self.labels = dict(labels)
        self.registry = CollectorRegistry()
        self.made = {}

    def _one(self, kind, name, more, **options):
        labels = self.labels | more
        if name not in self.made:
            self.made[name] = kind(
                self.prefix + name, "…", labelnames=list(labels), registry=self.registry, **options
            )
        return self.made[name].labels(**labels)

    def gauge(self, name: str, value: float, **more: str) -> None:
        self._one(Gauge, name, more).set(value)

    def count(self, name: str, more_events: float = 0, **more: str) -> None:
        self._one(Counter, name, more).inc(more_events)

    def see(self, name: str, edges: Sequence[float], seen: Seen = (), **more: str) -> None:
        histogram = self._one(Histogram, name, more, buckets=edges)
        for value, times in seen:
            for _ in range(times):
                histogram.observe(value)

    def text(self) -> bytes:
        """In the plain format, which keeps colons."""
        return generate_latest(self.registry)

    def openmetrics(self) -> bytes:
        """In the format that Prometheus asks for first, where colons become underscores."""
        return generate_openmetrics(self.registry, escaping="underscores")


def vllm(engine: str = "0", model: str = "llama-70b", **labels: str) -> Exporter:
    """A server of vLLM without traffic so far."""
    exporter = Exporter("vllm:", {"model_name": model, "engine": engine, **labels})
    exporter.gauge("num_requests_running", 0)
    exporter.gauge("num_requests_waiting", 0)
    exporter.gauge("kv_cache_usage_perc", 0)
    for name in ("num_preemptions", "prefix_cache_queries", "prefix_cache_hits", "generation_tokens"):
        exporter.count(name)
    exporter.count("request_success", finished_reason="stop")
    exporter.see("time_to_first_token_seconds", TTFT_EDGES)
    exporter.see("inter_token_latency_seconds", ITL_EDGES)
    exporter.see("e2e_request_latency_seconds", E2E_EDGES)
    exporter.see("iteration_tokens_total", (1, 8, 16, 512, 8192), [(200, 5)])
    exporter.gauge("cache_config_info", 1, cache_dtype="fp8", enable_prefix_caching="True", block_size="16")
    return exporter


def saturate(exporter: Exporter) -> None:
    """Fifteen seconds at the end of the KV cache: 70B, tp 4, one engine."""
    exporter.gauge("num_requests_running", 210)
    exporter.gauge("num_requests_waiting", 14)
    exporter.gauge("kv_cache_usage_perc", 0.97)
    exporter.count("num_preemptions", 90)
    exporter.count("prefix_cache_queries", 100_000)
    exporter.count("prefix_cache_hits", 31_000)
    exporter.count("generation_tokens", 60_000)
    exporter.count("request_success", 300, finished_reason="stop")
    # p99 lies a tenth into 2.5 to 5 s, and 23/25 into 50 to 75 ms.
    exporter.see("time_to_first_token_seconds", TTFT_EDGES, [(1.5, 989), (3, 10), (6, 1)])
    exporter.see("inter_token_latency_seconds", ITL_EDGES, [(0.03, 944), (0.06, 50), (0.08, 6)])
    exporter.see("e2e_request_latency_seconds", E2E_EDGES, [(17, 100)])


def serve_well(exporter: Exporter) -> None:
    """Fifteen seconds of the healthy twin."""
    exporter.gauge("num_requests_running", 60)
    exporter.gauge("num_requests_waiting", 0)
    exporter.gauge("kv_cache_usage_perc", 0.45)
    exporter.count("prefix_cache_queries", 100_000)
    exporter.count("prefix_cache_hits", 62_000)
    exporter.count("generation_tokens", 30_000)
    exporter.count("request_success", 150, finished_reason="stop")
    exporter.see("time_to_first_token_seconds", TTFT_EDGES, [(0.15, 990), (0.3, 10)])
    exporter.see("inter_token_latency_seconds", ITL_EDGES, [(0.02, 990), (0.03, 10)])
    exporter.see("e2e_request_latency_seconds", E2E_EDGES, [(9, 100)])
