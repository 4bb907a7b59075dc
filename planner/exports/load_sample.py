"""The planned load of a workload as requests: when each arrives, and how long its prompt and answer are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from planner.queueing import lengths as formulas
from planner.schema.lengths import Lengths, LengthSide
from planner.schema.plan import Guardrails
from planner.schema.sizing import WorkloadSizing

FloatArray = NDArray[np.float64]
LEAST_REQUESTS = 1000
"""Ten of them are slower than P99."""
MOST_REQUESTS = 20_000
"""More make files that nobody wants to copy; the run is then shorter."""
LONGEST_REQUESTS = 10
"""A run lasts so many times the longest planned request, that its start and its end hardly count."""
LEAST_BLOCK = 16
"""Tokens of a block of the prefix cache, as engines have it."""
_BLOCKS = 64
"""Of a mean prompt, at most: a finer division makes files longer."""
_PERCENTILES = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99))
_STEPS = 60
_SEED = 0


@dataclass(frozen=True)
class LoadSample:
    """Requests in the order of their arrival."""

    rate_rps: float
    arrival_scv_ratio: float
    """Of the inter-arrival times."""
    arrive_s: tuple[float, ...]
    """After the first one."""
    input_tokens: tuple[int, ...]
    output_tokens: tuple[int, ...]
    cached_fraction: float
    block_tokens: int
    complete: bool
    """The run is as long as it should be."""
    cut_fraction: float
    """Share of the tokens that guardrails cut off."""

    @property
    def duration_s(self) -> float:
        """Of the arrivals."""
        return len(self.arrive_s) / self.rate_rps

    def blocks(self) -> list[list[int]]:
        """Ids of the blocks of each prompt: those of the shared part, then its own."""
        own, found = max(-(-tokens // self.block_tokens) for tokens in self.input_tokens), []
        for tokens in self.input_tokens:
            count = -(-tokens // self.block_tokens)
            shared = min(round(self.cached_fraction * tokens / self.block_tokens), count - 1)
            found.append([*range(shared), *range(own, own + count - shared)])
            own += count - shared
        return found


def load_sample(
    sizing: WorkloadSizing, lengths: Lengths | None, longest_s: float, guardrails: Guardrails | None
) -> LoadSample:
    """Requests of the planned peak.

    Args:
        sizing: traffic of the workload.
        lengths: as the problem states them; None, or a trace: the mean and the tail that the plan states.
        longest_s: time of the longest planned request.
        guardrails: what the plan refuses; nothing longer is sent.

    Lengths are the quantiles of their distributions at equal steps, so any sample meets percentiles.
    Gaps are gamma-distributed with the planned burstiness and stretched to the planned rate.
    """
    wanted = max(LEAST_REQUESTS, math.ceil(sizing.peak_rps * LONGEST_REQUESTS * longest_s))
    count = min(wanted, MOST_REQUESTS)
    random = Random(_SEED)
    prompts, answers = _lengths(sizing, lengths, count, random)
    whole = sum(prompts) + sum(answers)
    if guardrails is not None:
        prompts = [min(tokens, guardrails.max_input_tokens) for tokens in prompts]
        answers = [min(tokens, guardrails.max_output_tokens) for tokens in answers]
    mean = sum(prompts) / count
    block = max(LEAST_BLOCK, 2 ** math.ceil(math.log2(max(mean / _BLOCKS, 1.0))))
    return LoadSample(
        rate_rps=sizing.peak_rps,
        arrival_scv_ratio=sizing.arrival_scv_ratio,
        arrive_s=tuple(_arrivals(sizing, count, random)),
        input_tokens=tuple(prompts),
        output_tokens=tuple(answers),
        cached_fraction=sizing.cached_fraction,
        block_tokens=block,
        complete=wanted <= MOST_REQUESTS,
        cut_fraction=1.0 - (sum(prompts) + sum(answers)) / whole,
    )


def _arrivals(sizing: WorkloadSizing, count: int, random: Random) -> list[float]:
    scv = sizing.arrival_scv_ratio
    gaps = [random.gammavariate(1.0 / scv, scv) if scv > 0.0 else 1.0 for _ in range(count)]
    stretch = count / (sizing.peak_rps * sum(gaps))
    found, now = [], 0.0
    for gap in gaps:
        found.append(now)
        now += gap * stretch
    return found


def _lengths(
    sizing: WorkloadSizing, lengths: Lengths | None, count: int, random: Random
) -> tuple[list[int], list[int]]:
    if lengths is not None and lengths.buckets is not None:
        pairs = [
            (bucket.input, bucket.output)
            for bucket, number in zip(
                lengths.buckets, _divided([float(b.share) for b in lengths.buckets], count), strict=True
            )
            for _ in range(number)
        ]
        random.shuffle(pairs)
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    sides = (None, None) if lengths is None else (lengths.input, lengths.output)
    stated = (sizing.input_tokens, sizing.output_tokens)
    made = [_side(side, figures, count) for side, figures in zip(sides, stated, strict=True)]
    for tokens in made:
        random.shuffle(tokens)
    return made[0], made[1]


def _side(side: LengthSide | None, stated: dict[str, float], count: int) -> list[int]:
    if side is not None and side.fixed is not None:
        return [side.fixed] * count
    if side is None:
        return _whole(_of_mean(stated, count))
    known = {p: float(v) for name, p in _PERCENTILES if (v := getattr(side, name)) is not None}
    return _whole(_quantiles(known, count))


def _of_mean(stated: dict[str, float], count: int) -> FloatArray:
    """Lengths with the stated P95, P99 and mean: the median is looked for, by halving."""
    tail = {0.95: stated["p95"], 0.99: max(stated["p99"], stated["p95"])}
    low, high = 1.0, stated["p95"]
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if float(_quantiles({0.5: middle} | tail, count).mean()) < stated["mean"]:
            low = middle
        else:
            high = middle
    return _quantiles({0.5: high} | tail, count)


def _quantiles(known: dict[float, float], count: int) -> FloatArray:
    """At equal steps."""
    steps = (np.arange(count) + 0.5) / count
    return formulas.quantiles_from_percentiles(np.array(list(known)), np.array(list(known.values())), steps)


def _whole(tokens: FloatArray) -> list[int]:
    return [max(round(float(value)), 1) for value in tokens]


def _divided(shares: Sequence[float], count: int) -> list[int]:
    """Whole parts of a number that sum to it."""
    edges = np.rint(np.cumsum(shares) / sum(shares) * count).astype(int)
    return [int(n) for n in np.diff(edges, prepend=0)]
