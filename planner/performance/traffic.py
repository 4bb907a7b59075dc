"""Workload -> traffic: lengths as atoms, arrivals as a coefficient of variation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.performance.reuse import full_hits, in_blocks, prefix_reuse
from planner.performance.running import running_of_pairs
from planner.performance.session_traffic import session_prompts, turn_weights
from planner.queueing import lengths as formulas
from planner.schema.lengths import Lengths, LengthSide
from planner.schema.reuse import Trim
from planner.schema.traces import TraceLengths
from planner.schema.traffic import Running, Traffic
from planner.schema.workload import Workload

FloatArray = NDArray[np.float64]
Atoms = tuple[FloatArray, FloatArray]

_PERCENTILES = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99))


@dataclass(frozen=True)
class Trimmed:
    """What trimming leaves: prompts times ``scale``, answers up to ``most``."""

    scale: float = 1.0
    most: float = math.inf

    @classmethod
    def of(cls, trim: Trim | None) -> Trimmed:
        """What the problem states; nothing is trimmed without it."""
        if trim is None:
            return cls()
        return cls(1.0 - float(trim.input), math.inf if trim.output_cap is None else float(trim.output_cap))

    def prompt(self, tokens: FloatArray) -> FloatArray:
        """Prompts that are left, of at least one token."""
        return tokens if self.scale == 1.0 else np.maximum(tokens * self.scale, 1.0)

    def answer(self, tokens: FloatArray) -> FloatArray:
        """Answers that are left."""
        return np.minimum(tokens, self.most)


def traffic(
    workload: Workload,
    lengths: Lengths | None,
    trace: TraceLengths | None,
    tokens_per_image: int,
    longest_fraction: float,
    cache_share: float = 0.0,
    block_tokens: int = 1,
) -> Traffic:
    """The traffic of a workload.

    Args:
        workload: demand (burstiness, sessions), prefix cache, trimming, images, adapters.
        lengths: the workload's own or its archetype's; not read for sessions.
        trace: the file that ``lengths.trace`` or ``demand.trace`` names, already read.
        tokens_per_image: prompt tokens that one image becomes.
        longest_fraction: quantile of prompt + answer that the longest planned request has.
        cache_share: blocks kept for prefixes beyond those of active requests, where the problem does not say.
        block_tokens: prefixes are found in whole pieces of so many tokens.
    """
    cut = Trimmed.of(workload.trim)
    image_tokens = float(workload.images.per_request) * tokens_per_image if workload.images else 0.0
    if workload.demand.sessions is not None:
        return _of_sessions(workload, cut, image_tokens, longest_fraction, cache_share, block_tokens)
    assert lengths is not None, "only sessions have no lengths"
    prompt, answer, total = _atoms(lengths, trace, cut)
    prompt = (prompt[0], prompt[1] + image_tokens)
    total = (total[0], total[1] + image_tokens)
    running = _running(lengths, trace, cut, image_tokens)
    found = _traffic(workload, prompt, answer, total, longest_fraction)
    # Atoms are means of bins, and the tail of their sum may lie below the stated tail of one side.
    longest_prompt = _side_quantile(lengths.input, prompt, longest_fraction, image_tokens, cut.scale)
    longest_answer = _side_quantile(lengths.output, answer, longest_fraction, most=cut.most)
    least_tokens = max(longest_prompt + float(answer[1].min()), longest_answer + float(prompt[1].min()))
    found = replace(
        found,
        kv_tokens=max(found.kv_tokens, math.ceil(least_tokens - 1e-9)),
        input_p95_tokens=_side_quantile(lengths.input, prompt, 0.95, image_tokens, cut.scale),
        output_p95_tokens=_side_quantile(lengths.output, answer, 0.95, most=cut.most),
        input_p99_tokens=_side_quantile(lengths.input, prompt, 0.99, image_tokens, cut.scale),
        output_p99_tokens=_side_quantile(lengths.output, answer, 0.99, most=cut.most),
        arrival_scv_ratio=arrival_scv_ratio(workload, trace),
        answer_input_tokens=None if running is None else float(running.weight @ running.input_tokens),
        running=running,
    )
    cache = workload.prefix_cache
    if cache is None or not cache.hit:
        return found
    return full_hits(found, in_blocks(prefix_reuse(found, cache, cache_share), block_tokens))


def mean_turns(turns: LengthSide) -> float:
    """Mean number of turns of a session."""
    return 1.0 / float(turn_weights(_side(turns))[0])


def _of_sessions(
    workload: Workload,
    cut: Trimmed,
    image_tokens: float,
    longest_fraction: float,
    cache_share: float,
    block_tokens: int,
) -> Traffic:
    """The traffic of sessions, with what of their prompts may be reused."""
    sessions = workload.demand.sessions
    assert sessions is not None
    answer = _side(_as_side(sessions.output), most=cut.most)
    made = session_prompts(
        sessions,
        _side(_as_side(sessions.turns)),
        _side(_as_side(sessions.first_input)),
        float(answer[0] @ answer[1]),
        cut.scale,
        image_tokens,
        workload.prefix_cache,
        cache_share,
    )
    total = formulas.sum_atoms(*made.prompt, *answer)
    found = _traffic(workload, made.prompt, answer, total, longest_fraction)
    return full_hits(found, in_blocks(made.reuse, block_tokens))


def _traffic(
    workload: Workload, prompt: Atoms, answer: Atoms, total: Atoms, longest_fraction: float
) -> Traffic:
    """Traffic of independent sides: quantiles from the atoms, arrivals as stated."""
    lora, images = workload.lora, workload.images
    return Traffic(
        input_weight=prompt[0],
        input_tokens=prompt[1],
        output_weight=answer[0],
        output_tokens=answer[1],
        input_mean_tokens=float(prompt[0] @ prompt[1]),
        output_mean_tokens=float(answer[0] @ answer[1]),
        input_p95_tokens=_quantile(prompt, 0.95),
        output_p95_tokens=_quantile(answer, 0.95),
        input_p99_tokens=_quantile(prompt, 0.99),
        output_p99_tokens=_quantile(answer, 0.99),
        kv_tokens=math.ceil(_quantile(total, longest_fraction) - 1e-9),
        cached_fraction=float(workload.prefix_cache_hit),
        arrival_scv_ratio=float(workload.demand.burstiness),
        images_per_request=float(images.per_request) if images else 0.0,
        active_adapters=(lora.active or lora.adapters) if lora else 0,
        adapter_rank=lora.rank if lora else 0,
        kept_fraction=float(workload.kv_eviction.keep) if workload.kv_eviction else 1.0,
    )


def _as_side(value: int | LengthSide) -> LengthSide:
    return LengthSide(fixed=value) if isinstance(value, int) else value


def _atoms(lengths: Lengths, trace: TraceLengths | None, cut: Trimmed) -> tuple[Atoms, Atoms, Atoms]:
    """Atoms of prompt, answer and their sum (joint where the input says so, else independent)."""
    if lengths.input is not None and lengths.output is not None:
        prompt, answer = _side(lengths.input, cut.scale), _side(lengths.output, most=cut.most)
        return prompt, answer, formulas.sum_atoms(*prompt, *answer)
    weight, inputs, outputs = pairs(lengths, trace, cut)
    if lengths.buckets is not None:
        return (weight, inputs), (weight, outputs), (weight, inputs + outputs)
    samples = formulas.atoms_from_samples
    return samples(inputs), samples(outputs), samples(inputs + outputs)


def pairs(
    lengths: Lengths, trace: TraceLengths | None, cut: Trimmed
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weights, prompts and answers where the input gives them together: buckets, or requests of a trace.

    Args:
        lengths: with ``buckets``, or none where the requests of a trace count.
        trace: already read.
        cut: what trimming leaves.
    """
    if lengths.buckets is not None:
        weight = np.array([float(bucket.share) for bucket in lengths.buckets])
        inputs = np.array([float(bucket.input) for bucket in lengths.buckets])
        outputs = np.array([float(bucket.output) for bucket in lengths.buckets])
    else:
        assert trace is not None, "the loader reads the trace that lengths.trace names"
        inputs = trace.input_tokens.astype(np.float64)
        outputs = trace.output_tokens.astype(np.float64)
        weight = np.ones(inputs.size)
    return weight / weight.sum(), cut.prompt(inputs), cut.answer(outputs)


def _running(
    lengths: Lengths, trace: TraceLengths | None, cut: Trimmed, image_tokens: float
) -> Running | None:
    """Running requests, where the input says how prompt and answer go together."""
    if lengths.buckets is None and (lengths.trace is None or trace is None):
        return None
    weight, inputs, outputs = pairs(lengths, trace, cut)
    return running_of_pairs(weight, inputs + image_tokens, outputs)


def _side(side: LengthSide, scale: float = 1.0, most: float = math.inf) -> Atoms:
    if side.fixed is not None:
        return np.array([1.0]), np.array([min(max(side.fixed * scale, 1.0), most)])
    probability, tokens = known(side, scale)
    return formulas.atoms_from_percentiles(probability, tokens, most)


def known(side: LengthSide, scale: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Probabilities and tokens of the percentiles that a side states, the tokens times ``scale``."""
    stated = [(p, scale * value) for name, p in _PERCENTILES if (value := getattr(side, name)) is not None]
    return np.array([p for p, _ in stated]), np.array([value for _, value in stated])


def _side_quantile(
    side: LengthSide | None,
    atoms: Atoms,
    probability: float,
    image_tokens: float = 0.0,
    scale: float = 1.0,
    most: float = math.inf,
) -> float:
    """Exact from stated percentiles, else from the atoms."""
    if side is None or side.fixed is not None:
        return _quantile(atoms, probability)
    stated = formulas.quantiles_from_percentiles(*known(side, scale), np.array([probability]))
    return min(float(stated[0]), most) + image_tokens


def _quantile(atoms: Atoms, probability: float) -> float:
    return formulas.atom_quantile(atoms[0], atoms[1], probability)


def arrival_scv_ratio(workload: Workload, trace: TraceLengths | None) -> float:
    """The stated burstiness; of a trace with arrival times, the measured one if it is larger."""
    stated = float(workload.demand.burstiness)
    if workload.demand.trace is None or trace is None or trace.arrival_s is None:
        return stated
    gaps = np.diff(trace.arrival_s)
    if trace.counts is not None:  # gaps of every n-th request say nothing
        count, total, squares = map(sum, zip(*trace.counts.gaps.values(), strict=True))
        return max(stated, float(squares / count / (total / count) ** 2 - 1.0)) if total > 0.0 else stated
    if gaps.size < 2 or gaps.mean() <= 0.0:
        return stated
    return max(stated, float(gaps.var() / gaps.mean() ** 2))
