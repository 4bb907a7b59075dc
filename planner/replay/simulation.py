"""One workload on its pools, from the first request to the last: the order of events.

Together: a router sends each request to a replica, which computes the prompt and writes the answer. Apart: a
prefill replica computes the prompt, its KV cache goes over the links of both sides, one KV transfer after the
other, and a decode replica writes the answer.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from random import Random

from planner.replay.pool import Pool
from planner.replay.replica import IDLE
from planner.replay.replicas_over_time import ARRIVES, HANDED, ReplicasOverTime
from planner.replay.routers import GONE
from planner.replay.run_plan import RunPlan
from planner.replay.run_state import RunState

_PROGRESS = 20_000
"""Events between two calls of the progress."""


@dataclass(slots=True)
class RunResult:
    """What a run came to; see `RunState` for times."""

    state: RunState
    pools: tuple[Pool, ...]
    places: array[int]
    """The front pool of each request, by its number; -1: refused."""
    receivers: array[int]
    """The decode pool of each, where prefill is disaggregated."""
    lost: int = 0
    """Requests that were sent again because their replica failed."""
    ended_s: float = 0.0
    steps: int = 0
    """Iterations of all replicas."""


def simulate(plan: RunPlan, progress: Callable[[float], None] | None = None) -> RunResult:
    """The run to its last token.

    Args:
        plan: who comes, and what serves them.
        progress: told the share of the requests that have come, now and then.
    """
    return _Run(plan, progress).result()


class _Run(ReplicasOverTime):
    def __init__(self, plan: RunPlan, progress: Callable[[float], None] | None) -> None:
        self.progress = progress
        service, self.random = plan.service, Random(plan.seed)
        disaggregated = bool(service.prefill)
        self.state = RunState(plan.requests, plan.since_s, plan.until_s, plan.parts, disaggregated)
        self.front = [
            *(Pool(one, self.state, self.random) for one in service.serve),
            *(Pool(one, self.state, self.random, only_prompts=True) for one in service.prefill),
        ]
        self.prompts = range(len(service.serve), len(self.front))
        """Numbers of the pools that only compute prompts."""
        self.back = [
            Pool(one, self.state, self.random, starts_answers=service.starts_answers)
            for one in service.decode
        ]
        super().__init__([*self.front, *self.back], plan)
        count = len(plan.requests)
        nowhere = array("h", [-1])
        self.places, self.receivers = nowhere * count, nowhere * (count if disaggregated else 0)
        self.credit: dict[Hashable, list[float]] = {}

    def result(self) -> RunResult:
        """Send everything, then wait for the last answer."""
        arrivals, events, pools = self.plan.requests.arrival_s, self.events, self.pools
        waits = self.plan.requests.wait_s
        count, coming, number = self.plan.coming, 0, 0
        now = 0.0
        self.fill_all(now)
        while coming < count or events:
            if coming < count and (not events or arrivals[coming] <= events[0][0]):
                now = arrivals[coming]
                if waits is not None and waits[coming] > 0.0:
                    heapq.heappush(events, (now + waits[coming], ARRIVES, coming, 0))
                else:
                    self._arrive(coming, now)
                coming += 1
                number += 1
                if self.progress is not None and number % _PROGRESS == 0:
                    self.progress(coming / count)
                continue
            now, kind, place, version = heapq.heappop(events)
            if kind < 0:
                self._special(kind, place, version, now)
                continue
            replica = pools[kind].replicas[place]
            if version != replica.version:
                continue
            over = replica.finish()
            if over:
                self._done(kind, place, over, now)
            replica.begin(now)
            if replica.until_s != IDLE:
                heapq.heappush(events, (replica.until_s, kind, place, replica.version))
            elif pools[kind].loads[place] >= GONE:
                pools[kind].ended(place, now)
        steps = sum(replica.steps_run for pool in pools for replica in pool.replicas)
        return RunResult(self.state, tuple(pools), self.places, self.receivers, self.lost, now, steps)

    def _special(self, kind: int, place: int, version: int, now: float) -> None:
        if kind == HANDED:
            self._handed(place, version, now)
        elif kind == ARRIVES:
            self._arrive(place, now)
        else:
            self.changes(kind, place, version, now)

    # -- the way of a request -----------------------------------------------------------------------------

    def _arrive(self, index: int, now: float) -> None:
        pools = self.front
        number = self._pool_of(index) if len(pools) > 1 else 0
        back = self._back_for(index, short=True) if self.back else None
        if back is not None:  # it needs no prefill replica and no KV transfer
            self.places[index], self.receivers[index] = number, back
            self.pools[back].arrived += 1
            self._send(back, self.pools[back].chosen(index), index, now)
            return
        pool = pools[number]
        requests = self.plan.requests
        if not pool.works:
            able = [place for place, other in enumerate(pools) if other.works]
            if not able:
                self.stuck.append(index)
                return
            number, pool = able[0], pools[able[0]]
        answer = 0 if number in self.prompts else requests.answer[index]
        fits = pool.plan.worker.holds(requests.prompt[index], answer)
        if not fits or (number in self.prompts and not self._fits_back(index)):
            self.places[index] = -1
            return
        self.places[index] = number
        pool.arrived += 1
        if pool.queue is not None:
            pool.queue.append(index)
            place = pool.waiting_at(now)
            if place is not None and pool.replicas[place].look(now):
                self.note(number, place)
            return
        self._send(number, pool.chosen(index), index, now)

    def _fits_back(self, index: int) -> bool:
        requests = self.plan.requests
        prompt, answer = requests.prompt[index], requests.answer[index]
        return any(pool.plan.worker.holds(prompt, answer) for pool in self.back)

    def _send(self, number: int, place: int, index: int, now: float) -> None:
        pool = self.pools[number]
        pool.loads[place] += 1
        if pool.replicas[place].arrive(index, now):
            self.note(number, place)

    def _pool_of(self, index: int) -> int:
        """The pool whose share of its class lags furthest behind: shares are kept at any time."""
        number = self.plan.class_of[index] if self.plan.class_of else 0
        return self._lagging(number, self.plan.class_names[number], self.front)

    def _lagging(self, key: Hashable, name: str, pools: Sequence[Pool]) -> int:
        credit = self.credit.setdefault(key, [0.0] * len(pools))
        for place, pool in enumerate(pools):
            credit[place] += pool.shares.get(name, 0.0) if pool.shares else pool.plan.share
        best = max(range(len(credit)), key=credit.__getitem__)
        credit[best] -= 1.0
        return best

    def _done(self, number: int, place: int, over: list[int], now: float) -> None:
        pool = self.pools[number]
        if pool.queue is None:
            pool.loads[place] -= len(over)
        if number in self.prompts:
            for index in over:
                self._kv_transfer(number, place, index, now)

    def _kv_transfer(self, number: int, place: int, index: int, now: float) -> None:
        """The KV of a prompt goes to a decode replica, over the links of both."""
        state, requests, service = self.state, self.plan.requests, self.plan.service
        if state.sent_s[index] != state.sent_s[index]:
            state.sent_s[index] = now
        if not service.starts_answers:
            if state.first_s[index] != state.first_s[index]:
                state.first_s[index] = now
            if requests.answer[index] <= 1:
                state.last_s[index] = now
                return
        back = self._back_for(index)
        if back is None:
            self.stuck.append(index)
            return
        receiver = self.pools[back]
        to = receiver.chosen(index)
        receiver.arrived += 1
        receiver.loads[to] += 1
        self.receivers[index] = back
        sender = self.pools[number]
        tokens = requests.prompt[index] * (1.0 - service.hidden_fraction)
        send, take = sender.plan.link_s_per_token, receiver.plan.link_s_per_token
        begins = max(now, sender.links_s[place], receiver.links_s[to])
        sender.links_s[place] = begins + tokens * send / sender.plan.links
        receiver.links_s[to] = begins + tokens * take / receiver.plan.links
        ends = begins + tokens * max(send, take) + max(sender.plan.link_s, receiver.plan.link_s)
        ready = ends + receiver.plan.overhead_s * receiver.plan.first_token_ratio
        heapq.heappush(self.events, (ready, HANDED, index, to))

    def _back_for(self, index: int, *, short: bool = False) -> int | None:
        """A decode pool that holds the request; ``short``: and computes its prompt."""
        requests, first = self.plan.requests, len(self.front)
        prompt, answer = requests.prompt[index], requests.answer[index]
        able = [
            place
            for place, pool in enumerate(self.back)
            if pool.works
            and pool.plan.worker.holds(prompt, answer)
            and (not short or prompt <= pool.plan.local_prefill_tokens)
        ]
        if not able:
            return None
        if len(able) == 1:
            return first + able[0]
        return first + able[self._lagging((-1, *able), "all", [self.back[place] for place in able])]

    def _handed(self, index: int, place: int, now: float) -> None:
        number = self.receivers[index]
        pool = self.pools[number]
        if pool.lost(place):  # it failed while the KV was on its way
            self.lost += 1
            self._arrive(index, now)
            return
        self.state.handed[index] = 1
        if pool.replicas[place].arrive(index, now):
            self.note(number, place)
