"""A pool: equal replicas behind one router."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from random import Random

from planner.replay.replica import IDLE, Replica
from planner.replay.routers import GONE, router
from planner.replay.run_state import RunState
from planner.replay.worker import Worker
from planner.schema.routing import RoutingPolicy

AFFINITY = 2.0
"""A whole prompt found against a replica's load over the largest: what a router by prefixes weighs."""


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """Equal replicas of a workload in one role."""

    id: str
    worker: Worker
    replicas: int
    policy: RoutingPolicy
    overhead_s: float = 0.0
    """In front of the engine, before any step."""
    first_token_ratio: float = 1.0
    """On the time to first token beyond what steps explain."""
    classes: tuple[tuple[str, float], ...] = ()
    """Share of each class of requests that comes here; empty: of all requests `share`."""
    share: float = 1.0
    start_s: float = 600.0
    """From an empty server to the first request."""
    link_s_per_token: float = 0.0
    """Of a hand-over on the links of one of its replicas, per token of the prompt …"""
    link_s: float = 0.0
    """… and before its first byte."""
    links: int = 1
    """Hand-overs that its links carry side by side: one an attention rank."""


class Pool:
    """The replicas of a pool in one run."""

    def __init__(
        self,
        plan: PoolPlan,
        run: RunState,
        random: Random,
        *,
        only_prompts: bool = False,
        starts_answers: bool = False,
    ) -> None:
        """Empty replicas; see `Replica`."""
        self.plan = plan
        self.queue: deque[int] | None = deque() if plan.policy == "shared-queue" else None
        self.replicas = [
            Replica(
                plan.worker,
                run,
                only_prompts=only_prompts,
                starts_answers=starts_answers,
                queue=self.queue,
            )
            for _ in range(plan.replicas)
        ]
        self.loads = [0] * plan.replicas
        """Requests in each; `GONE` where it takes none."""
        self.links_s = [0.0] * plan.replicas
        """When the links of each are free."""
        self._choose = router(plan.policy, random)
        self._by_blocks = run.requests.blocks if plan.policy == "cache-aware" else None

    @property
    def works(self) -> bool:
        """Some replica takes requests."""
        return min(self.loads) < GONE

    def chosen(self, index: int) -> int:
        """The replica that the router sends a request to."""
        if self._by_blocks is not None and self._by_blocks[index]:
            return self._with_most_blocks(self._by_blocks[index])
        return self._choose(self.loads)

    def _with_most_blocks(self, blocks: tuple[int, ...]) -> int:
        """The best of what caches hold of a prompt and of how busy replicas are."""
        most = max([load for load in self.loads if load < GONE], default=1) or 1
        best, score = 0, -IDLE
        for place, (replica, load) in enumerate(zip(self.replicas, self.loads, strict=True)):
            if load >= GONE or replica.cache is None:
                continue
            own = AFFINITY * replica.cache.found(blocks) / len(blocks) - load / most
            if own > score:
                best, score = place, own
        return best

    def waiting_at(self, now_s: float) -> int | None:
        """Of a shared queue, the replica that looks at it first."""
        best, soonest = None, IDLE
        for place, replica in enumerate(self.replicas):
            if self.loads[place] >= GONE:
                continue
            if replica.until_s == IDLE:
                return place
            if replica.steps > 1:
                ends_s = replica.next_step_s(now_s)
                if ends_s < soonest:
                    best, soonest = place, ends_s
        return best
