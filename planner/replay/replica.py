"""One replica, step by step: admission, chunks of prompts, decoding, room in the KV cache.

Decode steps between two events are alike but for the context, which grows by a token a sequence: so many of
them are taken at once, and a run costs a few operations a request, however long its answer.
"""

from __future__ import annotations

import heapq
import math
from collections import deque

from planner.replay.admission import Admission
from planner.replay.run_state import RunState
from planner.replay.use_over_time import UseOverTime
from planner.replay.worker import Worker

IDLE = math.inf


class Replica(Admission):
    """Requests, cache and the step or steps in progress of one replica; times since the start of the run."""

    __slots__ = (
        "chunks", "delay_s", "peak_kv", "steps", "steps_run", "until_s", "use", "version",
    )  # fmt: skip

    def __init__(
        self,
        worker: Worker,
        run: RunState,
        *,
        only_prompts: bool = False,
        starts_answers: bool = False,
        queue: deque[int] | None = None,
        use: UseOverTime | None = None,
    ) -> None:
        """An empty replica.

        Args:
            worker: what it is.
            run: the requests.
            only_prompts: it computes prompts for other replicas.
            starts_answers: the first token of what is handed to it comes from here.
            queue: shared by all replicas of the pool; None: each has its own.
            use: where its steps are counted; None: apart.
        """
        super().__init__(worker, run, only_prompts=only_prompts, queue=queue)
        self.starts_answers = starts_answers
        self.chunks: list[tuple[int, int]] = []
        self.steps = 0
        """Steps in progress without prompts; 0: one with prompts."""
        self.until_s, self.version = IDLE, 0
        self.delay_s = 0.0
        """Steps with prompts alone since the last token of decoding requests."""
        self.use = UseOverTime(run.parts) if use is None else use
        self.peak_kv = 0.0
        self.steps_run = 0

    # -- arrivals -----------------------------------------------------------------------------------------

    def arrive(self, index: int, now_s: float) -> bool:
        """A request comes; whether what the replica does has changed."""
        self.waiting.append(index)
        return self.look(now_s)

    def look(self, now_s: float) -> bool:
        """Something waits; whether what the replica does has changed."""
        if self.until_s == IDLE:
            self.begin(now_s)
            return self.until_s != IDLE
        if self.steps > 1:
            first = self.waiting[0] if self.waiting else self.queue[0] if self.queue else None
            if first is not None and self.has_room(first):
                return self._cut(now_s)
        return False

    def next_step_s(self, now_s: float) -> float:
        """When the step ends that runs now."""
        return self.begins_s + self._decode_s(self._steps_done(now_s)) if self.steps > 1 else self.until_s

    def _steps_done(self, now_s: float) -> int:
        """Steps that have ended when the one that runs now has."""
        n, times = len(self.ends), self.worker.times
        growth = times.per_token_s[n] * n * self.worker.tokens_per_step / 2.0
        base = times.alone_s[n] + times.per_token_s[n] * self.held - growth
        past = max(now_s - self.begins_s, 0.0)
        root = math.sqrt(base * base + 4.0 * growth * past)
        done = 2.0 * past / (base + root) if base + root > 0.0 else 0.0
        return min(max(math.ceil(done - 1e-9), 1), self.steps)

    def _cut(self, now_s: float) -> bool:
        """End the steps in progress with the one that runs now."""
        steps = self._steps_done(now_s)
        if steps == self.steps:
            return False
        self.steps = steps
        self.until_s = self.begins_s + self._decode_s(steps)
        self.version += 1
        return True

    def _decode_s(self, steps: int) -> float:
        n, times = len(self.ends), self.worker.times
        slope = times.per_token_s[n]
        first = times.alone_s[n] + slope * self.held
        return steps * first + slope * n * self.worker.tokens_per_step * steps * (steps - 1) / 2.0

    # -- steps --------------------------------------------------------------------------------------------

    def begin(self, now_s: float) -> None:
        """Start what comes next: a step with prompts, steps up to the next end of an answer, or nothing."""
        self.now_s = now_s
        if self.queue or self.waiting:
            self._admit()
            self.make_room()
        self.begins_s = now_s
        self.version += 1
        self.chunks = []
        if self.prefilling:
            if self.ends:
                # Apart, nothing grows in the step; but a prompt that ended has a token more than its room.
                self.fitting(0 if self.worker.prefill_only_steps else 1)
            self._begin_prompts(now_s)
        if not self.chunks:
            if self.ends:
                self.steps = self.fitting(self.ends[0][0] - self.step)
                self.until_s = now_s + self._decode_s(self.steps)
            else:
                self.steps, self.until_s = 0, IDLE
        if self.stall_s and self.until_s != IDLE:
            self._wait_for_link()
        if self.joined and self.ends and (not self.chunks or not self.worker.prefill_only_steps):
            first_s = self.begins_s + self._decode_s(1) if self.steps else self.until_s
            for index in self.joined:
                self._first_of_handed(index, first_s)
            self.joined = []

    def _wait_for_link(self) -> None:
        """KV caches or adapters go over the host's link before the step begins."""
        stall_s, self.stall_s = self.stall_s, 0.0
        if self.run.counts(self.begins_s):
            n = len(self.ends)
            self.use.add(self.run.part_of(self.begins_s), stall_s, n, min(self.used_bytes(), self.room))
        self.begins_s += stall_s
        self.until_s += stall_s
        if self.ends:
            self.delay_s += stall_s

    def _begin_prompts(self, now_s: float) -> None:
        """A step with chunks of prompts, in the order in which they were admitted."""
        worker, left, n = self.worker, self.left, len(self.ends)
        budget = worker.batched_tokens
        if worker.prefill_only_steps:
            n = 0
        else:
            budget = max(budget - n * worker.verified_tokens, 1)
            if n and self.prefilling and worker.gap_limit_s < IDLE and self._has_time(now_s):
                budget = self._calm(n, budget)
        chunks, tokens, seen = self.chunks, 0, 0.0
        prompts, written = self.run.requests.prompt, self.run.written
        for index in self.prefilling:
            rest = left[index]
            take = rest if rest < budget else budget
            chunks.append((index, take))
            tokens += take
            seen += take * (prompts[index] + written.get(index, 0) - rest + take / 2.0)
            budget -= take
            if budget <= 0:
                break
        if not chunks:
            return
        times = worker.times
        decode_s = times.alone_s[n] + times.per_token_s[n] * self.held if n else 0.0
        self.steps = 0
        self.until_s = now_s + decode_s + times.prompts_s(n, tokens, seen)

    def _has_time(self, now_s: float) -> bool:
        return self.slack_s(self.prefilling[0], now_s) > 0.0

    def _calm(self, n: int, budget: int) -> int:
        """Prompt tokens with which a step keeps the limit on gaps; a sixteenth of the budget at least."""
        times, low, high = self.worker.times, max(budget // 16, 1), budget
        room_s = self.worker.gap_limit_s - times.decode_s(n, self.held)
        index = self.prefilling[0]
        before = self.run.requests.prompt[index] - self.left[index]
        while high - low > 1:
            middle = (low + high) // 2
            if times.prompts_s(n, middle, middle * (before + middle / 2.0)) <= room_s:
                low = middle
            else:
                high = middle
        whole = times.prompts_s(n, budget, budget * (before + budget / 2.0)) <= room_s
        return budget if whole else low

    def finish(self) -> list[int]:
        """End what is in progress: the requests that are done here."""
        now_s, n, worker = self.until_s, len(self.ends), self.worker
        over: list[int] = []
        if n:
            if self.steps:
                self._decoded(self.steps, now_s)
            elif not worker.prefill_only_steps:
                self._decoded(1, now_s)
            else:
                self.delay_s += now_s - self.begins_s
                self._account(now_s, 0)
            ends, step = self.ends, self.step
            while ends and ends[0][0] <= step:
                over.append(self._ended(heapq.heappop(ends)[1], now_s))
        else:
            self._account(now_s, 0)
        for index, take in self.chunks:
            self.left[index] -= take
            if not self.left[index]:
                self._prompt_done(index, now_s, over)
        return over

    def _account(self, now_s: float, steps: int) -> None:
        """Time in use, for the averages of the run."""
        self.steps_run += steps or 1
        kv, n = self.worker.kv, len(self.ends)
        used = self.reserved
        if n and not self.worker.reserves_answer:
            # Last blocks are half full on average; what counts against the room is counted exactly.
            blocks = (self.held + n * (kv.block_tokens - 1.0) / 2.0) / kv.block_tokens
            used += n * kv.fixed_bytes + blocks * kv.block_bytes
        if used > self.peak_kv:
            self.peak_kv = min(used, kv.room_bytes)
        if self.run.since_s <= self.begins_s <= self.run.until_s:
            took = now_s - self.begins_s
            self.use.add(self.run.part_of(self.begins_s), took, n, min(used, kv.room_bytes))

    def _decoded(self, steps: int, now_s: float) -> None:
        n = len(self.ends)
        self.step += steps
        self.held += n * steps * self.worker.tokens_per_step
        self._account(now_s, steps)
        run, n = self.run, self.counted()
        if n and run.since_s <= self.begins_s <= run.until_s:
            mean_s = (now_s - self.begins_s) / steps
            gaps = run.gaps_by_part[run.part_of(self.begins_s)]
            if self.delay_s:
                gaps.add(self.delay_s + mean_s, n)
                steps -= 1
            if steps:
                gaps.add(mean_s, n * steps)
        self.delay_s = 0.0

    def _ended(self, index: int, now_s: float) -> int:
        began, context = self.begun.pop(index)
        self.held -= context + (self.step - began) * self.worker.tokens_per_step
        if not self.ends:
            self.held = 0.0
        if self.worker.reserves_answer:
            self.reserved -= self.taken.pop(index)
        self.run.last_s[index] = now_s
        return index

    def _prompt_done(self, index: int, now_s: float, over: list[int]) -> None:
        """The last chunk of a prompt gives its next token."""
        run, worker = self.run, self.worker
        self.prefilling.remove(index)
        del self.left[index]
        written = run.written.pop(index, 0)
        if not worker.reserves_answer or self.only_prompts:
            self.reserved -= self.taken.pop(index)
        self.remember(index)
        if self.only_prompts:
            over.append(index)
            return
        if written:
            written += 1
            stalled = run.stalled_s.pop(index)
            if run.counts(now_s):
                run.gaps_by_part[run.part_of(now_s)].add(now_s - stalled, 1)
        else:
            written = 1
            if run.first_s[index] != run.first_s[index]:
                run.first_s[index] = now_s
        self._decode(index, run.requests.prompt[index] + written, written, now_s, over)

    def _first_of_handed(self, index: int, first_s: float) -> None:
        """The first token of this side."""
        run = self.run
        stalled = run.stalled_s.pop(index, None)
        if stalled is not None:
            if run.counts(first_s):
                run.gaps_by_part[run.part_of(first_s)].add(first_s - stalled, 1)
        elif self.starts_answers:
            if run.first_s[index] != run.first_s[index]:
                run.first_s[index] = first_s
        elif run.counts(first_s):
            run.gaps_by_part[run.part_of(first_s)].add(first_s - run.first_s[index], 1)

    def drop_all(self) -> list[int]:
        """The replica fails: every request in it, to be sent elsewhere; nothing of them is kept."""
        self.chunks, self.steps, self.delay_s, self.stall_s, self.until_s = [], 0, 0.0, 0.0, IDLE
        self.version += 1
        return self.dropped()
