"""What one run of a replay is asked: who comes, which pools serve, what fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from planner.replay.pool import PoolPlan
from planner.replay.requests import Requests


@dataclass(frozen=True, slots=True)
class Failure:
    """A replica that is lost with everything in it, until one started anew takes its place."""

    pool: str
    at_s: float


@dataclass(frozen=True, slots=True)
class ServicePlan:
    """The pools of one workload: serving ones, or prefill and decode; at any time one or the other."""

    serve: tuple[PoolPlan, ...] = ()
    prefill: tuple[PoolPlan, ...] = ()
    decode: tuple[PoolPlan, ...] = ()
    starts_answers: bool = False
    """The first token comes from the decode side."""
    hidden_fraction: float = 0.0
    """Of a KV transfer, what the computation of its prompt hides."""

    @property
    def front(self) -> tuple[PoolPlan, ...]:
        """Pools that requests come to first: of days, serving ones in some hours and prefill in others."""
        return self.serve + self.prefill

    @property
    def pools(self) -> tuple[PoolPlan, ...]:
        """All of them."""
        return self.serve + self.prefill + self.decode

    def each(self, change: Callable[[PoolPlan], PoolPlan]) -> ServicePlan:
        """The same with every pool changed."""
        serve, prefill, decode = (tuple(map(change, one)) for one in (self.serve, self.prefill, self.decode))
        return replace(self, serve=serve, prefill=prefill, decode=decode)


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One run."""

    service: ServicePlan
    requests: Requests
    since_s: float
    until_s: float
    """The period that is looked at; what comes before fills the fleet."""
    seed: int = 0
    class_of: Sequence[int] = ()
    """Number of each request's class; empty: one class."""
    class_names: tuple[str, ...] = ("all",)
    failures: tuple[Failure, ...] = ()
    batch: int = 0
    """Of the requests, the last ones that do not arrive: batch work of `PoolPlan.fill`."""
    parts: int = 1
    """Equal parts of the period that are looked at one by one."""

    @property
    def coming(self) -> int:
        """Requests that arrive."""
        return len(self.requests) - self.batch
