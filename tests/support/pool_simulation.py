"""A discrete-event simulation of a pool of replicas that knows nothing of the load formulas.

Steps as a continuous-batching engine runs them: every running sequence decodes one token; prompts, first come
first served, share what is left of the token budget; a prompt that ends emits its first token. KV is paged: a
prompt is admitted while blocks for it are free, and where growing answers find none, the youngest sequence is
preempted and computed anew. A router sends every request to a replica when it arrives.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

POLICIES = ("random", "round-robin", "power-of-two", "least-loaded", "shared-queue")


@dataclass(frozen=True)
class Request:
    """One request: when it comes, its tokens, and what it begins with."""

    arrival_s: float
    prompt: int
    answer: int
    prefix: int = -1
    """Which prefix it begins with; -1: none."""
    prefix_tokens: int = 0


@dataclass(frozen=True)
class Engine:
    """What a replica is."""

    step_s: object
    """The step model: rows and five columns -> seconds."""
    batched_tokens: int
    batch: int
    """Sequences at once."""
    kv_tokens: float = float("inf")
    """Tokens that the cache holds."""


class Clock:
    """Step times of one configuration: decode steps from a memo, as they are linear in the context held."""

    def __init__(self, step_s):
        self._step_s = step_s
        self._alone_s, self._mixed_s = {}, {}
        self._per_context_s = self.step_s(1, 2.0) - self.step_s(1, 1.0)

    def step_s(self, sequences, context, prefill=0, prefill_context=0.0, finishing=0):
        values = (sequences, context, prefill, prefill_context, finishing)
        columns = (np.array([float(value)]) for value in values)
        return float(self._step_s(np.zeros(1, dtype=np.int64), *columns)[0])

    def decode_s(self, sequences, held_tokens):
        if sequences not in self._alone_s:
            self._alone_s[sequences] = self.step_s(sequences, 0.0)
        return self._alone_s[sequences] + self._per_context_s * held_tokens

    def mixed_s(self, sequences, held_tokens, prefill, prefill_context, finishing):
        """A step with prompts; contexts count to the nearest of 32 parts of an octave."""
        coarse = [round(32 * np.log2(max(value, 1.0))) for value in (held_tokens, prefill_context)]
        key = (sequences, *coarse, prefill, finishing)
        if key not in self._mixed_s:
            context = held_tokens / max(sequences, 1)
            self._mixed_s[key] = self.step_s(sequences, context, prefill, prefill_context, finishing)
        return self._mixed_s[key]


@dataclass
class Replica:
    """One replica in the middle of its work."""

    engine: Engine
    clock: Clock
    requests: list
    generated: dict = field(default_factory=dict)
    """Tokens that a preempted request had written."""
    waiting: deque = field(default_factory=deque)
    prefilling: list = field(default_factory=list)
    left: dict = field(default_factory=dict)
    """Prompt tokens to compute, of those in prefill."""
    takes: dict = field(default_factory=dict)
    """Tokens that were reserved for them."""
    running: dict = field(default_factory=dict)
    """Step in which each decoding request began to decode, oldest first."""
    ends: dict = field(default_factory=lambda: defaultdict(list))
    number: int = 0
    held: int = 0
    """Tokens in the cache, of decoding requests."""
    reserved: int = 0
    """Those of prompts in prefill."""
    step: int = 0
    ends_s: float | None = None
    """When the step in progress ends."""
    plan: tuple = ()
    preemptions: int = 0
    prefixes: dict = field(default_factory=dict)
    steps: list = field(default_factory=list)

    def load(self):
        """Requests in it."""
        return len(self.waiting) + len(self.prefilling) + self.number

    def prompt_of(self, index):
        """Tokens to hold at its first step: the prompt, and what a preempted request had written."""
        request = self.requests[index]
        shared = request.prefix_tokens if request.prefix in self.prefixes else 0
        return request.prompt - shared + self.generated.get(index, 0)

    def begin(self, now):
        """Start a step if there is work; the moment of its end."""
        chunks = self._chunks()
        if not (chunks or self.number):
            self.ends_s = None
            return None
        if chunks:
            tokens = sum(take for _, take in chunks)
            done = sum(take == self.left[index] for index, take in chunks)
            seen = sum(
                take * (self.prompt_of(i) - self.left[i] + take / 2.0 + self._shared(i)) for i, take in chunks
            )
            took = self.clock.mixed_s(self.number, self.held, tokens, seen / tokens, done)
        else:
            took = self.clock.decode_s(self.number, self.held)
        self.steps.append((now, took, self.number, bool(chunks)))
        self.plan, self.ends_s = chunks, now + took
        return self.ends_s

    def _shared(self, index):
        request = self.requests[index]
        return request.prefix_tokens if request.prefix in self.prefixes else 0

    def _room(self, index):
        held = sum(self.prefixes.values()) + self.held + self.reserved
        return held + self.prompt_of(index) <= self.engine.kv_tokens

    def _chunks(self):
        budget, chunks = self.engine.batched_tokens - self.number, []
        while self.waiting and self.number + len(self.prefilling) < self.engine.batch:
            if sum(self.left[index] for index in self.prefilling) >= budget:
                break
            if not self._room(self.waiting[0]):
                break
            index = self.waiting.popleft()
            self.prefilling.append(index)
            self.left[index] = self.takes[index] = max(self.prompt_of(index), 1)
            self.reserved += self.takes[index]
        for index in self.prefilling:
            take = min(self.left[index], budget)
            if take > 0:
                chunks.append((index, take))
            budget -= take
        return chunks

    def finish(self, first_s, last_s):
        """End the step in progress: (requests that are done)."""
        now, over = self.ends_s, []
        self.step += 1
        self.held += self.number
        for index, began in self.ends.pop(self.step, ()):
            if self.running.get(index) != began:
                continue  # preempted since
            del self.running[index]
            self.number -= 1
            self.held -= self._holds(index) + self.requests[index].answer
            last_s[index] = now
            over.append(index)
        for index, take in self.plan:
            self.left[index] -= take
            if self.left[index]:
                continue
            self.prefilling.remove(index)
            self.reserved -= self.takes.pop(index)
            self._decode(index, now, first_s, last_s, over)
        while self.number > 1 and sum(self.prefixes.values()) + self.held > self.engine.kv_tokens:
            self._preempt()
        return over

    def _holds(self, index):
        """Tokens of its own prompt in the cache."""
        request = self.requests[index]
        return request.prompt - (request.prefix_tokens if request.prefix >= 0 else 0)

    def _decode(self, index, now, first_s, last_s, over):
        request, written = self.requests[index], self.generated.pop(index, 0)
        if request.prefix >= 0:
            self.prefixes.setdefault(request.prefix, request.prefix_tokens)
        if not written:
            first_s[index] = last_s[index] = now
        rest = request.answer - 1 - written
        if rest <= 0:
            last_s[index] = now
            over.append(index)
            return
        self.running[index] = self.step
        self.ends[self.step + rest].append((index, self.step))
        self.number += 1
        self.held += self._holds(index) + 1 + written

    def _preempt(self):
        index, began = next(reversed(self.running.items()))
        del self.running[index]
        until = next(step for step, found in self.ends.items() if (index, began) in found)
        written = self.requests[index].answer - (until - self.step)
        self.generated[index] = written
        self.number -= 1
        self.held -= self._holds(index) + written
        self.waiting.appendleft(index)
        self.preemptions += 1


class Pool:
    """Runs all requests to their end and keeps what they experienced."""

    def __init__(self, engine, replicas, policy, requests, seed=0, clock=None):
        clock = clock or Clock(engine.step_s)
        self.replicas = [Replica(engine, clock, requests) for _ in range(replicas)]
        self.policy, self.requests = policy, requests
        self._random = np.random.default_rng(seed)
        self._next, self._queue = 0, deque()
        self.first_s, self.last_s = np.zeros(len(requests)), np.zeros(len(requests))
        self.served_by = np.full(len(requests), -1)

    def run(self):
        ends: list[tuple[float, int]] = []
        count, coming = len(self.requests), 0
        while coming < count or ends:
            arrival = self.requests[coming].arrival_s if coming < count else np.inf
            if ends and ends[0][0] <= arrival:
                now, place = heapq.heappop(ends)
                replica = self.replicas[place]
                replica.finish(self.first_s, self.last_s)
                self._begin(place, now, ends)
                continue
            self._arrive(coming, arrival, ends)
            coming += 1
        return self

    def _begin(self, place, now, ends):
        replica = self.replicas[place]
        if self.policy == "shared-queue":
            self._pull(place, replica)
        until = replica.begin(now)
        if until is not None:
            heapq.heappush(ends, (until, place))

    def _pull(self, place, replica):
        """Take prompts while the next step has room for them."""
        free = replica.engine.batched_tokens - replica.number
        free -= sum(replica.left[index] for index in replica.prefilling)
        free -= sum(replica.prompt_of(index) for index in replica.waiting)
        while self._queue and free > 0 and replica.load() < replica.engine.batch:
            index = self._queue.popleft()
            replica.waiting.append(index)
            self.served_by[index] = place
            free -= replica.prompt_of(index)

    def _arrive(self, index, now, ends):
        if self.policy == "shared-queue":
            self._queue.append(index)
            place = next((p for p, one in enumerate(self.replicas) if one.ends_s is None), None)
            if place is not None:
                self._begin(place, now, ends)
            return
        place = self._chosen()
        self.replicas[place].waiting.append(index)
        self.served_by[index] = place
        if self.replicas[place].ends_s is None:
            self._begin(place, now, ends)

    def _chosen(self):
        count = len(self.replicas)
        if self.policy == "round-robin":
            self._next += 1
            return (self._next - 1) % count
        if self.policy == "random" or count == 1:
            return int(self._random.integers(count))
        if self.policy == "power-of-two":
            pair = self._random.choice(count, 2, replace=False)
            return int(min(pair, key=lambda place: self.replicas[place].load()))
        loads = [replica.load() for replica in self.replicas]
        least = min(loads)
        return int(self._random.choice([place for place, load in enumerate(loads) if load == least]))


@dataclass(frozen=True)
class Observed:
    """What the requests between the warm-up and the last arrival experienced."""

    ttft_s: np.ndarray
    itl_s: np.ndarray
    tpot_s: np.ndarray
    e2e_s: np.ndarray
    concurrency: float
    """Mean number decoding in one replica."""
    preemptions: int


def observe(engine, requests, overhead_s=0.0, replicas=1, policy="random", warm_up_fraction=0.15, clock=None):
    """Simulate and summarize."""
    ran = Pool(engine, replicas, policy, requests, clock=clock).run()
    warm = int(len(requests) * warm_up_fraction)
    arrival = np.array([request.arrival_s for request in requests])
    answers = np.array([request.answer for request in requests])
    steps = [row for replica in ran.replicas for row in replica.steps]
    start, seconds, number, _ = (np.array(column, dtype=float) for column in zip(*steps, strict=True))
    inside = (start >= arrival[warm]) & (start <= arrival[-1])
    many = (answers > 1) & (np.arange(len(requests)) >= warm)
    return Observed(
        ttft_s=(ran.first_s - arrival)[warm:] + overhead_s,
        itl_s=np.repeat(seconds[inside], number[inside].astype(int)),
        tpot_s=((ran.last_s - ran.first_s) / np.maximum(answers - 1, 1))[many],
        e2e_s=(ran.last_s - arrival)[warm:] + overhead_s,
        concurrency=float(seconds[inside] @ number[inside] / (arrival[-1] - arrival[warm])) / replicas,
        preemptions=sum(replica.preemptions for replica in ran.replicas),
    )


def lognormal_tokens(median, p99, count, generator):
    """Tokens of a lognormal, one of each of ``count`` equal shares, in random order."""
    ranks = (generator.permutation(count) + 0.5) / count
    z = np.array([NormalDist().inv_cdf(rank) for rank in ranks])
    sigma = np.log(p99 / median) / NormalDist().inv_cdf(0.99)
    return np.maximum(np.round(median * np.exp(sigma * z)), 1).astype(int)


def arrivals_s(rate_rps, count, scv, generator):
    """Arrival times: gamma gaps below Poisson, a hyperexponential of balanced means above."""
    if scv <= 1.0:
        gaps = generator.gamma(1.0 / scv, scv, count)
    else:
        share = (1.0 + np.sqrt((scv - 1.0) / (scv + 1.0))) / 2.0
        fast = generator.random(count) < share
        gaps = generator.exponential(1.0, count) / np.where(fast, 2.0 * share, 2.0 * (1.0 - share))
    return np.cumsum(gaps / gaps.mean() / rate_rps)
