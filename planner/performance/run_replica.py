"""One replica in the middle of a simulated run: admission, chunks of prompts, steps, the prefix cache."""

from __future__ import annotations

import heapq
import math
from collections import deque
from dataclasses import dataclass, field

from planner.performance.prefix_cache import PrefixCache
from planner.performance.run_requests import Requests
from planner.performance.step_table import StepTable


@dataclass(frozen=True, slots=True)
class Worker:
    """What a replica is, the same for all of a pool."""

    table: StepTable
    batched_tokens: int
    """Tokens in one step at most."""
    running: int
    """Sequences at once at most."""
    kv_tokens: float
    """Tokens that the cache holds."""
    reserves_answer: bool
    """A request takes the place of its whole answer when it is admitted; else answers grow into the cache."""
    prefill_only_steps: bool
    """Prompts run in steps of their own, and decoding waits."""
    caches: bool
    """Prefixes are found again."""


Gap = tuple[float, float]
"""Seconds between two tokens, and how many gaps of that length."""


@dataclass(slots=True)
class RunReplica:
    """Requests and step of one replica; times in seconds since the start of the run."""

    worker: Worker
    requests: Requests
    first_s: list[float]
    last_s: list[float]
    gaps: list[Gap]
    cache: PrefixCache
    waiting: deque[int] = field(default_factory=deque)
    prefilling: deque[int] = field(default_factory=deque)
    left: dict[int, int] = field(default_factory=dict)
    """Prompt tokens still to be computed, of those in prefill."""
    places: dict[int, float] = field(default_factory=dict)
    """Tokens of the cache that requests have to themselves."""
    ends: list[tuple[int, int]] = field(default_factory=list)
    """Step and request of every answer in progress: a heap."""
    step: int = 0
    held: float = 0.0
    """Tokens that decoding requests read."""
    prompts: int = 0
    """Of these, prompts."""
    taken: float = 0.0
    """All of `places`."""
    begins_s: float = 0.0
    until_s: float = math.inf
    """End of the step, or of the steps, in progress; infinite while idle."""
    steps: int = 0
    """Steps in progress without prompts; 0 for one with prompts."""
    chunks: list[tuple[int, int]] = field(default_factory=list)
    delay_s: float = 0.0
    """Prompt steps since the last token of decoding requests."""
    version: int = 0

    @property
    def load(self) -> int:
        """Requests in it."""
        return len(self.waiting) + len(self.prefilling) + len(self.ends)

    def matched_tokens(self, index: int) -> int:
        """Prompt tokens of a request that are in the cache."""
        return self.cache.matched_tokens(index) if self.worker.caches else 0

    def arrive(self, index: int, now_s: float) -> bool:
        """A request comes; whether what the replica does has changed."""
        self.waiting.append(index)
        if self.until_s == math.inf:
            self.begin(now_s)
            return True
        if self.steps > 1 and self._room(self.waiting[0]):
            return self._cut(now_s)
        return False

    def _cut(self, now_s: float) -> bool:
        """End the steps in progress with the one that runs now."""
        n, table = len(self.ends), self.worker.table
        first_s = table.decode_s(n, self.held)
        slope_s = table.per_token_s[n] * n / 2.0
        past_s = max(now_s - self.begins_s, 0.0)
        base_s = first_s - slope_s
        root = math.sqrt(base_s * base_s + 4.0 * slope_s * past_s)
        done = 2.0 * past_s / max(base_s + root, 1e-12)
        steps = min(max(math.ceil(done - 1e-9), 1), self.steps)
        if steps == self.steps:
            return False
        self.steps = steps
        self.until_s = self.begins_s + self._steps_s(steps)
        self.version += 1
        return True

    def _steps_s(self, steps: int) -> float:
        n, table = len(self.ends), self.worker.table
        growth = table.per_token_s[n] * n * steps * (steps - 1) / 2.0
        return steps * table.decode_s(n, self.held) + growth

    def begin(self, now_s: float) -> None:
        """Start what comes next: a step with prompts, steps up to the next end of an answer, or nothing."""
        self._admit()
        self.begins_s = now_s
        self.version += 1
        self.chunks = self._chunks() if self.prefilling else []
        if self.chunks:
            self.steps = 0
            self.until_s = now_s + self._prompts_s()
        elif self.ends:
            self.steps = self.ends[0][0] - self.step
            self.until_s = now_s + self._steps_s(self.steps)
        else:
            self.steps, self.until_s = 0, math.inf

    def finish(self) -> list[int]:
        """End what is in progress: the requests that are done with it."""
        now_s, n = self.until_s, len(self.ends)
        over: list[int] = []
        if self.steps:
            self._decoded(self.steps, now_s)
        elif n and not self.worker.prefill_only_steps:
            self._decoded(1, now_s)
        elif n:
            self.delay_s += now_s - self.begins_s
        while self.ends and self.ends[0][0] <= self.step:
            over.append(self._ended(heapq.heappop(self.ends)[1], now_s))
        for index, take in self.chunks:
            self.left[index] -= take
            if not self.left[index]:
                over += self._first(index, now_s)
        self.chunks = []
        return over

    def _decoded(self, steps: int, now_s: float) -> None:
        n = len(self.ends)
        if self.steps:
            rest_s = (now_s - self.begins_s) / steps
            if self.delay_s:
                self.gaps.append((self.delay_s + rest_s, float(n)))
                if steps > 1:
                    self.gaps.append((rest_s, float(n * (steps - 1))))
            else:
                self.gaps.append((rest_s, float(n * steps)))
            self.delay_s = 0.0
        else:
            self.gaps.append((now_s - self.begins_s, float(n)))
        self.step += steps
        self.held += n * steps

    def _ended(self, index: int, now_s: float) -> int:
        self.last_s[index] = now_s
        prompt, answer = self.requests.prompt[index], self.requests.answer[index]
        self.held -= prompt + answer
        self.prompts -= prompt
        self.taken -= self.places.pop(index)
        if self.worker.caches:
            self.cache.pin(index, -1)
            self.cache.leave(index)
            self._evict()
        return index

    def _first(self, index: int, now_s: float) -> list[int]:
        """The first token of a request: it decodes from now on, unless that was all."""
        self.prefilling.remove(index)
        del self.left[index]
        self.first_s[index] = now_s
        prompt, answer = self.requests.prompt[index], self.requests.answer[index]
        if self.worker.caches:
            self.cache.remember(index)
            self._share(index)
            self._evict()
        self.held += prompt + 1
        self.prompts += prompt
        if answer <= 1:
            self.held += answer - 1
            return [self._ended(index, now_s)]
        heapq.heappush(self.ends, (self.step + answer - 1, index))
        return []

    # -- prompts ------------------------------------------------------------------------------------------

    def _takes(self, index: int) -> float:
        own = self.requests.prompt[index] - self.matched_tokens(index)
        return own + (self.requests.answer[index] if self.worker.reserves_answer else 0)

    def _used(self) -> float:
        """Tokens of the cache that requests have to themselves, with their answers up to now."""
        return self.taken if self.worker.reserves_answer else self.taken + self.held - self.prompts

    def _room(self, index: int) -> bool:
        inside = len(self.ends) + len(self.prefilling)
        if inside >= self.worker.running:
            return False
        return inside == 0 or self._used() + self.cache.pinned + self._takes(index) <= self.worker.kv_tokens

    def _admit(self) -> None:
        """Requests for which there is room, while the step has tokens left."""
        budget = self.worker.batched_tokens - sum(self.left.values())
        while self.waiting and budget > 0 and self._room(self.waiting[0]):
            index = self.waiting.popleft()
            found = self.matched_tokens(index)
            self.places[index] = self._takes(index)
            self.left[index] = max(self.requests.prompt[index] - found, 1)
            self.prefilling.append(index)
            self.taken += self.places[index]
            budget -= self.left[index]
            if self.worker.caches:
                self.cache.pin(index, 1)
        self._evict()

    def _chunks(self) -> list[tuple[int, int]]:
        budget = self.worker.batched_tokens
        if not self.worker.prefill_only_steps:
            budget = max(budget - len(self.ends), 1)
        chunks = []
        for index in self.prefilling:
            take = min(self.left[index], budget)
            if take <= 0:
                break
            chunks.append((index, take))
            budget -= take
        return chunks

    def _prompts_s(self) -> float:
        """A step with the chunks that were chosen."""
        tokens = seen = 0.0
        for index, take in self.chunks:
            tokens += take
            seen += take * (self.requests.prompt[index] - self.left[index] + take / 2.0)
        n = 0 if self.worker.prefill_only_steps else len(self.ends)
        table = self.worker.table
        decode_s = table.decode_s(n, self.held) if n else 0.0
        return decode_s + table.prompts_s(n, tokens, seen / tokens)

    def _share(self, index: int) -> None:
        """What of a prompt is in the cache now is no longer the request's own."""
        own = self._takes(index)
        self.taken += own - self.places[index]
        self.places[index] = own

    def _evict(self) -> None:
        """Leave the requests their room."""
        if self.worker.caches:
            self.cache.evict(max(self.worker.kv_tokens - self._used(), 0.0))
