"""A benchmark run, request by request, with the program's own step times.

Continuous batching as engines do it: running requests write one token a step, prompts share what is left of
the token budget or run in steps of their own, and what finds no room waits. Steps without prompts are taken
together up to the next end of an answer, so a run costs a few operations a request and not a step.

Assumes: like replicas; a router that knows the present loads; no preemption (a request takes its mean place
in the cache when it is admitted). The same run is simulated every time: its random numbers have a fixed seed.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from planner.performance.load import FloatArray
from planner.performance.prefix_cache import PrefixCache
from planner.performance.run_replica import Gap, RunReplica, Worker
from planner.performance.run_requests import Requests

AFFINITY = 2.0
"""A whole prompt found against a replica's load against the largest: what a router by prefixes weighs."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Who sends what, and where it goes."""

    requests: Requests
    arrival_s: list[float]
    """Of each request; empty: clients send the next one when they have their answer."""
    clients: int
    """Of a closed loop, or 0."""
    replicas: int
    policy: str
    """Of `planner.schema.routing`."""
    seed: int
    before: int = 0
    """Requests at the beginning that fill the caches: their gaps do not count."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """What the requests of a run experienced, in the engine: seconds, one entry a request."""

    sent_s: FloatArray
    first_s: FloatArray
    last_s: FloatArray
    gap_s: FloatArray
    gap_weight: FloatArray


def simulate(worker: Worker, plan: RunPlan) -> RunResult:
    """The run to its last token."""
    return _Run(worker, plan).result()


class _Run:
    def __init__(self, worker: Worker, plan: RunPlan) -> None:
        count = len(plan.requests.prompt)
        self.plan = plan
        self.sent_s, self.first_s, self.last_s = ([0.0] * count for _ in range(3))
        self.gaps: list[Gap] = []
        shared = (worker, plan.requests, self.first_s, self.last_s, self.gaps)
        self.replicas = [RunReplica(*shared, PrefixCache(plan.requests)) for _ in range(plan.replicas)]
        self.random = np.random.default_rng(plan.seed)
        self.ends: list[tuple[float, int, int]] = []
        self.sent, self.counted = 0, not plan.before

    def result(self) -> RunResult:
        """Send everything, then wait for the last answer."""
        count = len(self.sent_s)
        for _ in range(min(self.plan.clients, count)):
            self._send(0.0)
        while self.ends or self.sent < count:
            next_s = self._arrival_s()
            if not self.ends or next_s <= self.ends[0][0]:
                self._send(next_s)
                continue
            if self.sent > self.plan.before and not self.counted:
                self.gaps.clear()
                self.counted = True
            now_s, place, version = heapq.heappop(self.ends)
            replica = self.replicas[place]
            if version != replica.version:
                continue
            over = replica.finish()
            replica.begin(now_s)
            self._note(place)
            for _ in over if self.plan.clients else ():
                if self.sent < count:
                    self._send(now_s)
        gaps = np.array(self.gaps or [(0.0, 0.0)])
        return RunResult(
            np.array(self.sent_s), np.array(self.first_s), np.array(self.last_s), gaps[:, 0], gaps[:, 1]
        )

    def _arrival_s(self) -> float:
        """Of the next request that does not wait for an answer."""
        if self.plan.clients or self.sent >= len(self.sent_s):
            return math.inf
        return self.plan.arrival_s[self.sent]

    def _send(self, now_s: float) -> None:
        index, self.sent = self.sent, self.sent + 1
        self.sent_s[index] = now_s
        place = self._chosen(index)
        if self.replicas[place].arrive(index, now_s):
            self._note(place)

    def _note(self, place: int) -> None:
        replica = self.replicas[place]
        if replica.until_s < math.inf:
            heapq.heappush(self.ends, (replica.until_s, place, replica.version))

    def _chosen(self, index: int) -> int:
        """The replica that the router sends a request to."""
        policy, count = self.plan.policy, len(self.replicas)
        if count == 1:
            return 0
        if policy == "round-robin":
            return index % count
        if policy == "random":
            return int(self.random.integers(count))
        if policy == "power-of-two":
            pair = self.random.choice(count, 2, replace=False).tolist()
            return int(min(pair, key=lambda place: self.replicas[place].load))
        loads = [replica.load for replica in self.replicas]
        if policy == "cache-aware":
            return self._by_prefix(index, loads)
        least = min(loads)
        near = [place for place, load in enumerate(loads) if load == least]
        return near[int(self.random.integers(len(near)))]

    def _by_prefix(self, index: int, loads: list[int]) -> int:
        """The best of what the caches hold and of how busy the replicas are."""
        prompt, most = max(self.plan.requests.prompt[index], 1), max(max(loads), 1)
        scores = [
            AFFINITY * replica.matched_tokens(index) / prompt - load / most
            for replica, load in zip(self.replicas, loads, strict=True)
        ]
        best = max(scores)
        near = [place for place, score in enumerate(scores) if score > best - 1e-9]
        return near[int(self.random.integers(len(near)))]
