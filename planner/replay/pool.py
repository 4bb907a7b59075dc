"""A pool: replicas of one kind behind one router, which may come and go."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from random import Random

from planner.replay.affinity import affinity
from planner.replay.autoscaler import Autoscaler, Watch
from planner.replay.backfill import Backlog, Fill, FillingReplica
from planner.replay.lives import DRAINS, OFF, SERVES, STARTS, Lives
from planner.replay.replica import IDLE, Replica
from planner.replay.routers import GONE, router
from planner.replay.run_state import RunState
from planner.replay.use_over_time import UseOverTime
from planner.replay.worker import Worker
from planner.schema.replay import Router


@dataclass(frozen=True, slots=True)
class Turn:
    """From a moment on a pool has so many replicas, and these shares of what comes."""

    at_s: float
    replicas: int
    classes: tuple[tuple[str, float], ...] = ()
    """Share of each class of requests; empty: of all requests `PoolPlan.share`."""


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """Replicas of a workload in one role."""

    id: str
    worker: Worker
    replicas: int
    """At the start."""
    policy: Router
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
    """Of a KV transfer on the links of one of its replicas, per token of the prompt …"""
    link_s: float = 0.0
    """… and before its first byte."""
    links: int = 1
    """KV transfers that its links carry side by side: one an attention rank."""
    turns: tuple[Turn, ...] = ()
    """Changes by schedule, in the order of time: what is more begins to start `start_s` ahead, what is less
    takes no request from then on and ends what it has."""
    autoscaler: Autoscaler | None = None
    """In place of turns."""
    overflow: float | None = None
    """Load over the mean beyond which routers by prefix, key or length pass a replica by; None: theirs."""
    local_prefill_tokens: int = 0
    """Decode pools: prompts up to so long come straight here, and are computed here."""
    fill: Fill | None = None
    """Batch work in what requests leave of its replicas."""


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
        self.plan, self.run = plan, run
        self.queue: deque[int] | None = deque() if plan.policy == "shared-queue" else None
        self.use = UseOverTime(run.parts)
        self._only_prompts, self._starts_answers = only_prompts, starts_answers
        self.replicas: list[Replica] = []
        self.loads: list[int] = []
        """Requests in each; `GONE` and more where it takes none."""
        self.links_s: list[float] = []
        """When the links of each are free."""
        self.lives = Lives()
        self.watch = None if plan.autoscaler is None else Watch(plan.autoscaler, plan.start_s)
        self.arrived = 0
        """Requests that have come to it."""
        self.backlog = None if plan.fill is None else Backlog(plan.fill)
        self.shares = dict(plan.classes)
        for _ in range(plan.replicas):
            self._add(0.0, 0.0)
        self._choose = router(plan.policy, random)
        self._affinity = affinity(plan.policy, run.requests, plan.overflow)

    def _add(self, now_s: float, ready_s: float) -> int:
        """A replica on a server that is paid from now on."""
        made = (Replica if self.backlog is None else FillingReplica)(
            self.plan.worker,
            self.run,
            only_prompts=self._only_prompts,
            starts_answers=self._starts_answers,
            queue=self.queue,
            use=self.use,
        )
        if self.backlog is not None and isinstance(made, FillingReplica):
            made.fills_from(self.backlog)
        self.replicas.append(made)
        self.links_s.append(0.0)
        self.loads.append(0 if ready_s <= now_s else GONE)
        return self.lives.add(now_s, ready_s)

    @property
    def works(self) -> bool:
        """Some replica takes requests."""
        return min(self.loads, default=GONE) < GONE

    # -- replicas that come and go -------------------------------------------------------------------------

    def grow(self, number: int, now_s: float) -> list[int]:
        """So many more: those that drain stay, the others start; the places of the latter."""
        for place in self.lives.at(DRAINS)[:number]:
            self.loads[place] -= GONE
            self.replicas[place].opens(self.queue)
            self.lives.state[place] = SERVES
            number -= 1
        started = []
        for _ in range(number):
            ready_s = now_s + self.plan.start_s
            free = self.lives.free()
            if free is None:
                started.append(self._add(now_s, ready_s))
            else:
                self.lives.starts(free, now_s, ready_s)
                started.append(free)
        return started

    def ready(self, place: int, now_s: float) -> bool:
        """A replica has started; False: it was given up before, and this is stale."""
        if self.lives.state[place] != STARTS or self.lives.ready_s[place] != now_s:
            return False
        self.lives.state[place] = SERVES
        self.loads[place] = 0
        self.replicas[place].opens(self.queue)
        return True

    def shrink(self, number: int, now_s: float) -> None:
        """So many less: those that start first, then those with the fewest requests, which they end."""
        for place in reversed(self.lives.at(STARTS)):
            if not number:
                return
            self.lives.ends(place, now_s)
            number -= 1
        serving = sorted(self.lives.at(SERVES), key=lambda place: (self.loads[place], -place))
        for place in serving[:number]:
            self.loads[place] += GONE
            self.replicas[place].closes()
            self.lives.state[place] = DRAINS
            self.ended(place, now_s)

    def ended(self, place: int, now_s: float) -> None:
        """One that drains may have nothing left: its server is given back."""
        replica = self.replicas[place]
        if self.lives.state[place] != DRAINS or replica.until_s != IDLE or replica.waiting:
            return
        if self.loads[place] > GONE and self.queue is None:
            return  # a KV cache is on its way to it
        replica.forget()
        self.loads[place] = GONE
        self.lives.ends(place, now_s)

    def fail(self, place: int, now_s: float) -> list[int]:
        """A replica is lost with what it has, and starts anew on the same server: the requests."""
        self.loads[place] = GONE
        self.lives.again(place, now_s + self.plan.start_s)
        return self.replicas[place].drop_all()

    def lost(self, place: int) -> bool:
        """What is sent there arrives at nobody."""
        return self.lives.state[place] in (OFF, STARTS)

    # -- the router ---------------------------------------------------------------------------------------

    def chosen(self, index: int) -> int:
        """The replica that the router sends a request to."""
        if self._affinity is not None:
            place = self._affinity(index, self.loads, self.replicas)
            if place is not None:
                return place
        return self._choose(self.loads)

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
