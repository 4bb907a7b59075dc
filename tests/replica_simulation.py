"""A discrete-event simulation of one replica that knows nothing of the load formulas.

Steps as a continuous-batching engine runs them: every running sequence decodes one token; prompts, first come
first served, share what is left of the token budget; a prompt that ends emits its first token.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np


@dataclass(frozen=True)
class Request:
    """One request: when it comes, its tokens."""

    arrival_s: float
    prompt: int
    answer: int


class Clock:
    """Step times of one configuration: decode steps from a memo, as they are linear in the context held."""

    def __init__(self, step_s):
        self._step_s = step_s
        self._alone_s = {}
        self._per_context_s = self.step_s(1, 2.0) - self.step_s(1, 1.0)

    def step_s(self, sequences, context, prefill=0, prefill_context=0.0, finishing=0):
        values = (sequences, context, prefill, prefill_context, finishing)
        columns = (np.array([float(value)]) for value in values)
        return float(self._step_s(np.zeros(1, dtype=np.int64), *columns)[0])

    def decode_s(self, sequences, held_tokens):
        if sequences not in self._alone_s:
            self._alone_s[sequences] = self.step_s(sequences, 0.0)
        return self._alone_s[sequences] + self._per_context_s * held_tokens


class Simulation:
    """Runs all requests to their end and keeps what they experienced."""

    def __init__(self, step_s, batched_tokens, batch, requests):
        self._clock, self._budget, self._batch = Clock(step_s), batched_tokens, batch
        self._requests = requests
        self._left = [request.prompt for request in requests]
        self._waiting, self._prefilling, self._decoding = deque(), [], {}
        self._held = 0
        self.first_s, self.last_s = np.zeros(len(requests)), np.zeros(len(requests))
        self.steps = []
        """(start, seconds, sequences that decode, prefills) of every step."""

    def run(self):
        now, coming, count = 0.0, 0, len(self._requests)
        while coming < count or self._waiting or self._prefilling or self._decoding:
            while coming < count and self._requests[coming].arrival_s <= now:
                self._waiting.append(coming)
                coming += 1
            if not (self._waiting or self._prefilling or self._decoding):
                now = self._requests[coming].arrival_s
                continue
            now += self._step(now)
        return self

    def _step(self, now):
        number, chunks = len(self._decoding), self._chunks()
        tokens = sum(take for _, take in chunks)
        done = [index for index, take in chunks if take == self._left[index]]
        if chunks:
            seen = (take * (self._requests[i].prompt - self._left[i] + take / 2.0) for i, take in chunks)
            context = self._held / max(number, 1)
            step_s = self._clock.step_s(number, context, tokens, sum(seen) / tokens, len(done))
        else:
            step_s = self._clock.decode_s(number, self._held)
        self.steps.append((now, step_s, number, bool(chunks)))
        self._advance(now + step_s, chunks, done)
        return step_s

    def _chunks(self):
        budget, chunks = self._budget - len(self._decoding), []
        while self._waiting and len(self._decoding) + len(self._prefilling) < self._batch:
            if sum(self._left[index] for index in self._prefilling) >= budget:
                break
            self._prefilling.append(self._waiting.popleft())
        for index in self._prefilling:
            take = min(self._left[index], budget)
            if take:
                chunks.append((index, take))
            budget -= take
        return chunks

    def _advance(self, now, chunks, done):
        self._held += len(self._decoding)
        for index in [index for index, rest in self._decoding.items() if rest == 1]:
            del self._decoding[index]
            self._held -= self._requests[index].prompt + self._requests[index].answer
            self.last_s[index] = now
        for index in self._decoding:
            self._decoding[index] -= 1
        for index, take in chunks:
            self._left[index] -= take
        for index in done:
            self._prefilling.remove(index)
            self.first_s[index] = self.last_s[index] = now
            if self._requests[index].answer > 1:
                self._decoding[index] = self._requests[index].answer - 1
                self._held += self._requests[index].prompt + 1


@dataclass(frozen=True)
class Observed:
    """What the requests between the warm-up and the last arrival experienced."""

    ttft_s: np.ndarray
    itl_s: np.ndarray
    tpot_s: np.ndarray
    e2e_s: np.ndarray
    concurrency: float


def observe(step_s, batched_tokens, batch, requests, overhead_s, warm_up_fraction=0.1):
    """Simulate and summarize."""
    ran = Simulation(step_s, batched_tokens, batch, requests).run()
    warm = int(len(requests) * warm_up_fraction)
    arrival = np.array([request.arrival_s for request in requests])
    answers = np.array([request.answer for request in requests])
    start, seconds, number, _ = (np.array(column, dtype=float) for column in zip(*ran.steps, strict=True))
    inside = (start >= arrival[warm]) & (start <= arrival[-1])
    many = (answers > 1) & (np.arange(len(requests)) >= warm)
    return Observed(
        ttft_s=(ran.first_s - arrival)[warm:] + overhead_s,
        itl_s=np.repeat(seconds[inside], number[inside].astype(int)),
        tpot_s=((ran.last_s - ran.first_s) / np.maximum(answers - 1, 1))[many],
        e2e_s=(ran.last_s - arrival)[warm:] + overhead_s,
        concurrency=float(seconds[inside] @ number[inside] / seconds[inside].sum())
        * float(seconds[inside].sum() / (arrival[-1] - arrival[warm])),
    )


def lognormal_tokens(median, p99, count, generator):
    """Tokens of a lognormal, one of each of ``count`` equal shares, in random order."""
    ranks = (generator.permutation(count) + 0.5) / count
    z = np.array([NormalDist().inv_cdf(rank) for rank in ranks])
    sigma = np.log(p99 / median) / NormalDist().inv_cdf(0.99)
    return np.maximum(np.round(median * np.exp(sigma * z)), 1).astype(int)


def arrivals_s(rate_rps, count, scv, generator):
    """Arrival times: Poisson, or a hyperexponential of balanced means; the mean gap is exact."""
    if scv == 1.0:
        gaps = generator.exponential(1.0, count)
    else:
        share = (1.0 + np.sqrt((scv - 1.0) / (scv + 1.0))) / 2.0
        fast = generator.random(count) < share
        gaps = generator.exponential(1.0, count) / np.where(fast, 2.0 * share, 2.0 * (1.0 - share))
    return np.cumsum(gaps / gaps.mean() / rate_rps)
