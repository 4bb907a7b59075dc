"""Who comes in a replay: the requests of a workload as its problem, or a trace, has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from planner.errors import input_error
from planner.performance.traffic import Trimmed, known, pairs
from planner.planning.replaying.burst import Burst
from planner.planning.replaying.tiers import Handed, Stage, merged
from planner.planning.workload.case import Case, lengths_of, tokens_of_image
from planner.replay.arrivals import RateProfile, arrivals_s, at_rate
from planner.replay.lengths import (
    Atoms,
    FloatArray,
    IntArray,
    Pairs,
    Percentiles,
    Side,
    drawn,
    drawn_pairs,
    in_tokens,
)
from planner.replay.requests import Requests, compact
from planner.schema.catalog_index import Catalog
from planner.schema.lengths import LengthSide
from planner.schema.pool import Pool
from planner.schema.traces import TraceLengths

ONE_CLASS = ("all",)
_SHORTEST_TRACE_S = 5.0
"""Answers of a trace that is over sooner are looked at for so long."""


@dataclass(frozen=True, eq=False)
class Source:
    """Where the requests of a workload come from."""

    prompts: Side | None
    """Independent of answers; None: `pairs`."""
    answers: Side | None
    pairs: Pairs | None
    bucket_names: tuple[str, ...] = ()
    """Of `pairs` that are buckets, their names."""
    image_tokens: float = 0.0
    adapters: int = 0
    """LoRA adapters that requests choose from."""


@dataclass(frozen=True)
class Arriving:
    """How many come, and when."""

    rate_rps: float
    burstiness: float
    warm_up_s: float
    duration_s: float
    trace: TraceLengths | None = None
    trace_rps: float | None = None
    """Mean rate that the trace is stretched to; None: as recorded."""
    adapter_skew: float | None = None
    """The n-th adapter is asked for in proportion to ``n^-skew``; None: no adapter ever lacks its slot."""
    hourly_rps: tuple[float, ...] = ()
    """By hour of the period, where it is longer than one; the first fills the fleet before it."""
    stage: Stage | None = None
    """Of a tier, at whose entrance these come; None: of none."""
    burst: Burst | None = None
    """In the period; None: none."""

    @property
    def profile(self) -> RateProfile:
        """The rate over warm-up and period."""
        if self.burst is not None:
            return self.burst.profile(self.rate_rps, self.warm_up_s, self.duration_s)
        if not self.hourly_rps:
            return RateProfile.steady(self.rate_rps, self.warm_up_s + self.duration_s)
        each_s = self.duration_s / len(self.hourly_rps)
        lengths = (self.warm_up_s, *([each_s] * len(self.hourly_rps)))
        return RateProfile(lengths, (self.hourly_rps[0], *self.hourly_rps))


@dataclass(frozen=True, eq=False)
class Came:
    """The requests of one run."""

    requests: Requests
    class_of: Sequence[int]
    """Empty: one class."""
    since_s: float
    until_s: float
    entered_s: FloatArray
    """When each came to the entrance of its tier."""
    rows: IntArray | None = None
    """Of the trace that they are from."""


def source_of(case: Case, folder: Path, catalog: Catalog) -> Source:
    """Lengths as the problem states them."""
    workload = case.workload
    images = float(workload.images.per_request) if workload.images else 0.0
    image_tokens = images * tokens_of_image(workload, case.facts)
    if workload.demand.sessions is not None:
        found = case.traffic
        return Source(
            Atoms(found.input_weight, found.input_tokens),
            Atoms(found.output_weight, found.output_tokens),
            None,
        )
    lengths, trace = lengths_of(workload, folder, catalog)
    assert lengths is not None, "only sessions have no lengths"
    cut = Trimmed.of(workload.trim)
    adapters = workload.lora.adapters if workload.lora is not None else 0
    if lengths.input is not None and lengths.output is not None:
        prompts, answers = _side(lengths.input, cut.scale), _side(lengths.output, most=cut.most)
        return Source(prompts, answers, None, image_tokens=image_tokens, adapters=adapters)
    both = Pairs(*pairs(lengths, trace, cut))
    names = tuple(bucket.name for bucket in lengths.buckets or ())
    return Source(None, None, both, names, image_tokens, adapters)


def _side(side: LengthSide, scale: float = 1.0, most: float = np.inf) -> Side:
    if side.fixed is not None:
        return Atoms(np.ones(1), np.array([min(max(side.fixed * scale, 1.0), most)]))
    return Percentiles(*known(side, scale), most)


def came(
    source: Source,
    arriving: Arriving,
    pools: Sequence[Pool],
    cached: float,
    names: tuple[str, ...],
    seed: int,
    handed: Handed | None = None,
) -> Came:
    """The requests of one run; the same seed gives the same ones.

    Args:
        source: lengths.
        arriving: rate or trace.
        pools: of the workload, for what is fetched from outside the GPU.
        cached: share of a prompt that its cache finds.
        names: classes of requests that pools serve.
        seed: of everything that is drawn.
        handed: what the stage of a tier before this one sends on; None: nothing.
    """
    random = np.random.default_rng(seed)
    trace = arriving.trace
    timed = trace is not None and trace.arrival_s is not None
    arrival, rows, since, until = _arrivals(arriving, random)
    if arriving.stage is not None:
        mine = arriving.stage.taken(arrival.size, seed)
        arrival, rows = arrival[mine], None if rows is None else rows[mine]
    entered = arrival
    if handed is not None:
        order, arrival, entered = merged(arrival, handed)
        if rows is not None and handed.rows is not None:
            rows = np.concatenate([rows, handed.rows])[order]
    if not arrival.size:
        arrival = entered = np.array([since])
        rows = None if rows is None else np.zeros(1, dtype=np.int64)
    numbers: IntArray | None = None
    if trace is not None and rows is not None:
        prompts, answers = trace.input_tokens[rows], trace.output_tokens[rows]
    else:
        prompts, answers, numbers = _drawn(source, arrival.size, random)
    blocks = None
    if timed and trace is not None and trace.blocks is not None and rows is not None:
        blocks = tuple(trace.blocks[row] for row in rows.tolist())
    computed = in_tokens(np.asarray(prompts * (1.0 - cached), dtype=np.float64))
    waits = _fetched(pools, arrival.size, random)
    size = 1 if trace is None or blocks is None else trace.block_tokens
    lists = (compact(arrival), compact(prompts), compact(answers), compact(computed))
    adapter = _adapters(source.adapters, arriving.adapter_skew, arrival.size, random)
    ranked = None if blocks is None or trace is None or rows is None else trace.priority
    priority = None if ranked is None else ranked[rows].tolist()
    requests = Requests(*lists, waits, blocks, size, adapter, priority)
    return Came(requests, _classes(names, source, prompts, numbers), since, until, entered, rows)


def _arrivals(
    arriving: Arriving, random: np.random.Generator
) -> tuple[FloatArray, IntArray | None, float, float]:
    """Arrivals with their rows of the trace, and the period that is looked at."""
    trace = arriving.trace
    if trace is not None and trace.arrival_s is not None:
        arrival = trace.arrival_s
        if arriving.trace_rps is not None:
            arrival = at_rate(arrival, arriving.trace_rps)
        rows = np.flatnonzero(arrival <= arriving.duration_s)
        arrival = arrival[rows]
        shortest_s = min(_SHORTEST_TRACE_S, arriving.duration_s)
        until = arriving.duration_s if arriving.hourly_rps else max(float(arrival[-1]), shortest_s)
        return arrival, rows, 0.0, until
    since = arriving.warm_up_s
    arrival = arrivals_s(arriving.profile, arriving.burstiness, random)
    if not arrival.size:
        arrival = np.array([since])
    drawn_rows = None
    if trace is not None:
        drawn_rows = random.integers(0, trace.input_tokens.size, arrival.size)
    return arrival, drawn_rows, since, since + arriving.duration_s


def _drawn(
    source: Source, count: int, random: np.random.Generator
) -> tuple[IntArray, IntArray, IntArray | None]:
    numbers: IntArray | None = None
    prompts: FloatArray
    answers: FloatArray
    if source.pairs is not None:
        if source.bucket_names:
            weight = source.pairs.weight / source.pairs.weight.sum()
            numbers = random.choice(weight.size, count, p=weight).astype(np.int64)
            prompts, answers = source.pairs.prompts[numbers], source.pairs.answers[numbers]
        else:
            prompts, answers = drawn_pairs(source.pairs, count, random)
    else:
        assert source.prompts is not None, "one of the two forms"
        assert source.answers is not None, "one of the two forms"
        prompts, answers = drawn(source.prompts, count, random), drawn(source.answers, count, random)
    return in_tokens(prompts + source.image_tokens), in_tokens(answers), numbers


def _adapters(
    number: int, skew: float | None, count: int, random: np.random.Generator
) -> Sequence[int] | None:
    """The adapter of each request."""
    if not number or skew is None:
        return None
    weight = np.arange(1.0, number + 1.0) ** -skew
    return compact(random.choice(number, count, p=weight / weight.sum()))


def _fetched(pools: Sequence[Pool], count: int, random: np.random.Generator) -> Sequence[float] | None:
    """Waits for KV that comes from outside the GPU."""
    reuse = next((pool.reuse for pool in pools if pool.reuse is not None), None)
    if reuse is None or not reuse.fetched or not reuse.fetch_s:
        return None
    return compact(np.where(random.random(count) < reuse.fetched, reuse.fetch_s, 0.0))


def _classes(
    names: tuple[str, ...], source: Source, prompts: IntArray, numbers: IntArray | None
) -> Sequence[int]:
    """The class of each request by the names of a plan: ``prompt<=1024``, or buckets."""
    if names == ONE_CLASS or len(names) <= 1:
        return []
    if numbers is not None and set(names) <= set(source.bucket_names):
        places = np.array([names.index(name) if name in names else 0 for name in source.bucket_names])
        return compact(places[numbers])
    tops = [int(name.removeprefix("prompt<=")) for name in names if name.startswith("prompt<=")]
    if len(tops) + 1 != len(names):
        return []
    order = sorted(range(len(tops)), key=tops.__getitem__)
    last = next(place for place, name in enumerate(names) if not name.startswith("prompt<="))
    at = np.searchsorted(np.array(sorted(tops)), prompts, side="left")
    low = [place for place, name in enumerate(names) if name.startswith("prompt<=")]
    places = np.array([*(low[one] for one in order), last])
    return compact(places[at])


def refuse_thinned(trace: TraceLengths, where: str) -> TraceLengths:
    """A trace of which every request is there.

    Raises:
        InputError: only every n-th request was kept: a replay of those would be of another load.
    """
    if trace.counts is not None:
        found = f"{trace.requests:,} requests"
        expected = f"at most {trace.input_tokens.size * 2:,} for one replay: a part of the file"
        raise input_error(where, "", found, expected, "the busiest hours alone")
    return trace
