"""What a service is put under: the kinds of load that estimates, curves and benchmarks speak of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.schema.routing import ALONE, Routing

REQUESTS_PER_CLIENT = 10
"""Of a closed loop where nobody says: what published benchmarks send."""


@dataclass(frozen=True, slots=True)
class Conventions:
    """How a benchmark of a load would be made."""

    start_burst: bool = True
    """What all clients send at the start counts."""
    equal_lengths: bool = False
    """All requests are equally long."""
    burstiness: float = 1.0
    """Squared coefficient of variation of the gaps between arrivals."""


PLAIN = Conventions()


@dataclass(frozen=True, slots=True)
class OpenArrivals:
    """Requests that come whatever the service does."""

    rate_rps: float
    """Of the whole pool."""
    burstiness: float = 1.0
    """Squared coefficient of variation of the gaps: 1 Poisson, 0 even."""
    routing: Routing = ALONE
    requests: int = 0
    """Of a finite run; 0: without end."""
    kept_up: bool = False
    """The queue is known to have had an end: beyond what it carries, a service is shown at that."""

    @property
    def text(self) -> str:
        """The load in words."""
        words = {0.0: "even", 1.0: "random"}.get(self.burstiness, f"burstiness {self.burstiness:g},")
        return f"{words} arrivals at {self.rate_rps:g} requests/s{_behind(self.routing)}{_run(self.requests)}"


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """Clients that send the next request when they have their answer."""

    clients: float
    """Infinite: as many as the replicas hold at once."""
    requests: int = 0
    """Of a finite run; 0: ten a client, which is what steady numbers of benchmarks hold."""
    start_burst: bool = True
    """The first requests, which all clients send at once, count."""
    equal_lengths: bool = False
    """All prompts and all answers are equally long, so that what starts together ends together."""
    routing: Routing = ALONE

    @property
    def burst_share(self) -> float:
        """Share of the requests that come at the start."""
        if not self.start_burst:
            return 0.0
        if not self.requests or not math.isfinite(self.clients):
            return 1.0 / REQUESTS_PER_CLIENT
        return min(self.clients / self.requests, 1.0)

    @property
    def text(self) -> str:
        """The load in words."""
        clients = "1 client" if self.clients == 1 else f"{self.clients:g} clients"
        start = "included" if self.start_burst else "excluded"
        equal = ", equal lengths" if self.equal_lengths else ""
        words = f"closed loop of {clients}{_behind(self.routing)}, start burst {start}{equal}"
        return f"{words}{_run(self.requests)}"


@dataclass(frozen=True, slots=True)
class Burst:
    """So many requests at once, until the last one ends."""

    requests: int
    routing: Routing = ALONE

    @property
    def text(self) -> str:
        """The load in words."""
        return f"{self.requests:,} requests at once{_behind(self.routing)}"


@dataclass(frozen=True, slots=True)
class StaticBatch:
    """Prefill of a batch, then decoding of all of it."""

    requests: float
    alone: bool = False
    """The time to first token is that of the whole batch, without a server in front."""
    first_token_only: bool = False
    """Nothing is decoded."""

    @property
    def text(self) -> str:
        """The load in words."""
        words = "prefill of a batch" if self.first_token_only else "static batch"
        return f"{words} of {self.requests:g}"


@dataclass(frozen=True, slots=True)
class LargestRate:
    """The largest rate at which limits hold."""

    limits_s: Mapping[str, float] = field(default_factory=dict)
    """By name of `planner.schema.slo.Slo`."""

    @property
    def text(self) -> str:
        """The load in words."""
        return "largest rate within " + ", ".join(
            f"{name} {value:g} s" for name, value in self.limits_s.items()
        )


ServiceLoad = OpenArrivals | ClosedLoop | Burst | StaticBatch | LargestRate


def _behind(routing: Routing) -> str:
    return f" over {routing.replicas} replicas, {routing.policy}" if routing.replicas > 1 else ""


def _run(requests: int) -> str:
    return f", run of {requests:,} requests" if requests else ""
