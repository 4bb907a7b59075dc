"""A discrete-event simulation of prefill and decode workers that knows nothing of the formulas.

Prompts go to prefill workers at random, run through the steps of `pool_simulation` (an answer of one token
ends with prefill), travel for a time that depends on their length, and are decoded in steps that hold nothing
but answers.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from tests.support.pool_simulation import Clock, Engine, Pool, Request


@dataclass(frozen=True)
class Observed:
    """What the requests after the warm-up experienced."""

    prefill_s: np.ndarray
    """From arrival to the end of prefill, front end left out."""
    ttft_s: np.ndarray
    """To the end of the first step of the decode side, front ends left out."""
    start_s: np.ndarray
    """From the last byte to there."""
    itl_s: np.ndarray
    answer_s: np.ndarray
    """From the first token to the last."""
    concurrency: float


def prefill_ends_s(step_s, batched_tokens, workers, requests, generator):
    """When each prompt is done; arrivals are spread over the workers at random."""
    chosen = generator.integers(0, workers, len(requests))
    ends = np.zeros(len(requests))
    for worker in range(workers):
        mine = np.flatnonzero(chosen == worker)
        alone = [Request(requests[index].arrival_s, requests[index].prompt, 1) for index in mine]
        ends[mine] = Pool(Engine(step_s, batched_tokens, len(mine) + 1), 1, "random", alone).run().first_s
    return ends


def decode(step_s, workers, requests, ready_s, generator):
    """(first token, last token, (step, sequences) pairs, number decoding over time) of the decode side."""
    chosen = generator.integers(0, workers, len(requests))
    first, last = np.zeros(len(requests)), np.zeros(len(requests))
    steps, busy_s, area = [], 0.0, 0.0
    for worker in range(workers):
        mine = np.flatnonzero(chosen == worker)
        clock = Clock(step_s)
        waiting = [(ready_s[index], int(index)) for index in mine]
        heapq.heapify(waiting)
        left, held, now = {}, 0, 0.0
        while waiting or left:
            if not left and waiting[0][0] > now:
                now = waiting[0][0]
            while waiting and waiting[0][0] <= now:
                index = heapq.heappop(waiting)[1]
                left[index] = requests[index].answer
                held += requests[index].prompt
            number = len(left)
            took = clock.decode_s(number, held)
            now += took
            steps.append((now, took, number))
            held += number
            for index in list(left):
                if left[index] == requests[index].answer:
                    first[index] = now
                left[index] -= 1
                if left[index] == 0:
                    del left[index]
                    held -= requests[index].prompt + requests[index].answer
                    last[index] = now
    for _, took, number in steps:
        busy_s, area = busy_s + took, area + took * number
    return first, last, steps, area


def observe(
    step_s,
    batched_tokens,
    workers,
    requests,
    kv_transfer_s,
    generator,
    warm_up_fraction=0.1,
):
    """Simulate and summarize; ``workers`` are numbers of prefill and decode workers."""
    ends = prefill_ends_s(step_s, batched_tokens, workers[0], requests, generator)
    arrival = np.array([request.arrival_s for request in requests])
    ready = ends + np.array([kv_transfer_s(request.prompt) for request in requests])
    first, last, steps, area = decode(step_s, workers[1], requests, ready, generator)
    answers = np.array([request.answer for request in requests])
    warm = int(len(requests) * warm_up_fraction)
    rows = np.array(steps)
    inside = (rows[:, 0] >= arrival[warm]) & (rows[:, 0] <= arrival[-1])
    return Observed(
        prefill_s=(ends - arrival)[warm:],
        ttft_s=(first - arrival)[warm:],
        start_s=(first - ready)[warm:],
        itl_s=np.repeat(rows[inside, 1], rows[inside, 2].astype(int)),
        answer_s=(last - first)[warm:][answers[warm:] > 1],
        concurrency=area / workers[1] / float(arrival[-1] - arrival[0]),
    )
