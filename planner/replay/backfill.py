"""Work without limits on latency in what requests leave of a replica: slots, cache and time.

It gives way: where a request finds no room, or answers outgrow the cache, batch work that was admitted last
is set back and starts over. Its prompts run in steps without other prompts, so small that the limit on ITL
holds, and it joins while steps keep that limit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from planner.replay.replica import Replica


@dataclass(frozen=True, slots=True)
class Fill:
    """Batch work of one pool: numbers of its requests, behind those that arrive."""

    first: int
    count: int
    """At once, in all replicas of the pool; those that end come again."""


class Backlog:
    """What is left to do, without an end, and what was done."""

    def __init__(self, fill: Fill) -> None:
        """Nothing is done."""
        self.first = fill.first
        self.waiting = deque(range(fill.first, fill.first + fill.count))
        self.done = 0
        """Answered in the period."""
        self.gave_way = 0


class FillingReplica(Replica):
    """A replica that takes batch work where nothing else waits."""

    __slots__ = ("backlog", "filled", "open")

    backlog: Backlog
    filled: set[int]
    """Batch work that is in prefill or decodes here."""
    open: bool
    """False: it drains."""

    def fills_from(self, backlog: Backlog) -> None:
        """Where its batch work comes from."""
        self.backlog, self.filled, self.open = backlog, set(), True

    def opens(self, queue: deque[int] | None) -> None:
        """It takes requests, and batch work."""
        super().opens(queue)
        self.open = True

    def closes(self) -> None:
        """It drains: batch work goes elsewhere."""
        super().closes()
        self.open = False

    def look(self, now_s: float) -> bool:
        """Something waits; batch work may have to give way to it."""
        if super().look(now_s):
            return True
        return bool(self.steps > 1 and self.filled and (self.waiting or self.queue)) and self._cut(now_s)

    def begin(self, now_s: float) -> None:
        """Start what comes next."""
        if not (self.queue or self.waiting):
            self._fill(now_s)
        super().begin(now_s)

    def finish(self) -> list[int]:
        """End what is in progress; the requests that are done."""
        over = []
        for index in super().finish():
            if index < self.backlog.first:
                over.append(index)
                continue
            self.filled.discard(index)
            self.run.first_s[index] = float("nan")
            self.backlog.waiting.append(index)
            self.backlog.done += self.run.counts(self.until_s)
        return over

    def _admit(self) -> None:
        self._admit_online()
        while (self.waiting or self.queue) and self.filled:
            source = self.waiting or self.queue
            assert source, "one of them waits"
            if self.has_room(source[0]):
                break
            self.preempt()
            self._admit_online()
        if not (self.waiting or self.queue):
            self._fill(self.now_s)

    def _admit_online(self) -> None:
        """Prompts of batch work take nothing of the budget of others, and stand behind them."""
        first = self.backlog.first
        aside = {index: left for index, left in self.left.items() if index >= first}
        for index in aside:
            del self.left[index]
        super()._admit()
        self.left.update(aside)
        if aside:
            self.prefilling.sort(key=lambda index: index >= first)

    def _fill(self, now_s: float) -> None:
        """Batch work for which there is room, while steps keep the limit on gaps."""
        waiting, worker, run = self.backlog.waiting, self.worker, self.run
        budget = worker.batched_tokens - len(self.ends) - sum(self.left.values())
        while waiting and self.open and budget > 0 and now_s <= run.until_s:
            index = waiting[0]
            if not self.has_room(index):
                return
            n = len(self.ends) + len(self.prefilling) + 1
            prompt, answer = run.requests.prompt[index], run.requests.answer[index]
            if self._step_s(min(n, worker.running), self.held + prompt + answer) > worker.gap_limit_s:
                return
            waiting.popleft()
            self.filled.add(index)
            self.taken[index] = self.need_bytes(index)
            self.reserved += self.taken[index]
            self.left[index] = prompt
            self.prefilling.append(index)
            budget -= prompt

    def _step_s(self, sequences: int, held: float) -> float:
        """A step at its longest: with a chunk of prompts, where the limit on gaps can mean such steps."""
        times, tokens = self.worker.times, self.worker.batched_tokens
        if times.prompts_s(0, tokens, 0.0) > self.worker.gap_limit_s:
            return times.decode_s(sequences, held)
        return times.decode_s(sequences, held) + times.prompts_s(sequences, tokens, 0.0)

    def victim(self) -> int:
        """Batch work that was admitted last, else the request that was."""
        for index in (*reversed(self.prefilling), *reversed(self.begun)):
            if index in self.filled:
                return index
        return super().victim()

    def preempt(self) -> None:
        """Batch work starts over, somewhere and some time."""
        stall_s, swaps = self.stall_s, self.swaps
        index = self.victim()
        super().preempt()
        if index not in self.filled:
            return
        self.waiting.popleft()
        self.preemptions -= 1
        self.stall_s, self.swaps = stall_s, swaps
        self.backlog.gave_way += 1
        self._give_back([index])

    def drop_all(self) -> list[int]:
        """The replica fails: every request in it; batch work goes back."""
        lost = super().drop_all()
        self._give_back([index for index in lost if index in self.filled])
        return [index for index in lost if index < self.backlog.first]

    def _give_back(self, indices: Sequence[int]) -> None:
        for index in indices:
            for known in (self.run.written, self.run.stalled_s, self.run.swapped):
                known.pop(index, None)
            self.run.first_s[index] = float("nan")
            self.filled.discard(index)
            self.backlog.waiting.append(index)

    def _begin_prompts(self, now_s: float) -> None:
        every = self.prefilling
        online = [index for index in every if index < self.backlog.first]
        self.prefilling = online or every
        super()._begin_prompts(now_s)
        self.prefilling = every

    def _has_time(self, now_s: float) -> bool:
        if self.prefilling[0] >= self.backlog.first:
            return True
        return self.worker.ttft_limit_s < float("inf") and super()._has_time(now_s)

    def counted(self) -> int:
        """Decoding requests whose gaps matter."""
        return len(self.ends) - len(self.filled & self.begun.keys())
