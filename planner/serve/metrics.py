"""What the server says of itself on ``/metrics``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_BUCKETS_S = (0.05, 0.1, 0.3, 1, 3, 10, 30, 100, 300)


class Metrics:
    """Counters of one server; a registry of its own, so that two servers in a process do not mix."""

    def __init__(self) -> None:
        """Everything at zero."""
        self._registry = CollectorRegistry()
        self._replies = Counter(
            "planner_questions", "Questions answered.", ("kind", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "planner_question_seconds",
            "Time of a worker for a question.",
            ("kind",),
            buckets=_BUCKETS_S,
            registry=self._registry,
        )
        self._busy = Gauge("planner_workers_busy", "Workers at work.", registry=self._registry)
        self._waiting = Gauge("planner_queue_depth", "Jobs that wait for a worker.", registry=self._registry)

    def watch(self, waiting: Callable[[], int]) -> None:
        """Where the length of the queue is read."""
        self._waiting.set_function(waiting)

    @contextmanager
    def working(self, kind: str) -> Iterator[None]:
        """A worker at work."""
        with self._busy.track_inprogress(), self._seconds.labels(kind).time():
            yield

    def answered(self, kind: str, status: int) -> None:
        """Count a reply."""
        self._replies.labels(kind, str(status)).inc()

    def page(self) -> bytes:
        """The page in Prometheus' format."""
        return generate_latest(self._registry)
