"""Workload -> traffic: lengths as atoms, arrivals as a coefficient of variation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from planner.queueing import lengths as formulas
from planner.schema.lengths import Lengths, LengthSide
from planner.schema.problem import Workload
from planner.schema.traces import TraceLengths
from planner.schema.traffic import Traffic

FloatArray = NDArray[np.float64]
Atoms = tuple[FloatArray, FloatArray]

_PERCENTILES = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99))


def traffic(
    workload: Workload,
    lengths: Lengths,
    trace: TraceLengths | None,
    tokens_per_image: int,
    kv_tail_fraction: float,
) -> Traffic:
    """The traffic of a workload.

    Args:
        workload: demand (burstiness), prefix cache, images, adapters.
        lengths: the workload's own or its archetype's.
        trace: the file that ``lengths.trace`` or ``demand.trace`` names, already read.
        tokens_per_image: prompt tokens that one image becomes.
        kv_tail_fraction: quantile of prompt + answer that KV is sized for (0.95 by default).
    """
    prompt, answer, total = _atoms(lengths, trace)
    image_tokens = float(workload.images.per_request) * tokens_per_image if workload.images else 0.0
    prompt = (prompt[0], prompt[1] + image_tokens)
    total = (total[0], total[1] + image_tokens)
    weighted = _answer_input_tokens(lengths, trace)
    lora = workload.lora
    return Traffic(
        input_weight=prompt[0],
        input_tokens=prompt[1],
        output_weight=answer[0],
        output_tokens=answer[1],
        input_mean_tokens=float(prompt[0] @ prompt[1]),
        output_mean_tokens=float(answer[0] @ answer[1]),
        input_p95_tokens=_side_quantile(lengths.input, prompt, 0.95, image_tokens),
        output_p95_tokens=_side_quantile(lengths.output, answer, 0.95, 0.0),
        input_p99_tokens=_side_quantile(lengths.input, prompt, 0.99, image_tokens),
        output_p99_tokens=_side_quantile(lengths.output, answer, 0.99, 0.0),
        kv_tokens=math.ceil(_quantile(total, kv_tail_fraction) - 1e-9),
        cached_fraction=float(workload.prefix_cache_hit),
        arrival_scv_ratio=_arrival_scv_ratio(workload, trace),
        answer_input_tokens=None if weighted is None else weighted + image_tokens,
        images_per_request=float(workload.images.per_request) if workload.images else 0.0,
        active_adapters=(lora.active or lora.adapters) if lora else 0,
        adapter_rank=lora.rank if lora else 0,
    )


def _atoms(lengths: Lengths, trace: TraceLengths | None) -> tuple[Atoms, Atoms, Atoms]:
    """Atoms of prompt, answer and their sum (joint where the input says so, else independent)."""
    if lengths.input is not None and lengths.output is not None:
        prompt, answer = _side(lengths.input), _side(lengths.output)
        return prompt, answer, formulas.sum_atoms(*prompt, *answer)
    if lengths.buckets is not None:
        weight = np.array([float(bucket.share) for bucket in lengths.buckets])
        weight /= weight.sum()
        inputs = np.array([float(bucket.input) for bucket in lengths.buckets])
        outputs = np.array([float(bucket.output) for bucket in lengths.buckets])
        return (weight, inputs), (weight, outputs), (weight, inputs + outputs)
    assert trace is not None, "the loader reads the trace that lengths.trace names"
    prompt = formulas.atoms_from_samples(trace.input_tokens.astype(np.float64))
    answer = formulas.atoms_from_samples(trace.output_tokens.astype(np.float64))
    both = (trace.input_tokens + trace.output_tokens).astype(np.float64)
    return prompt, answer, formulas.atoms_from_samples(both)


def _answer_input_tokens(lengths: Lengths, trace: TraceLengths | None) -> float | None:
    """Mean prompt of an answer token where the input says how the two go together: E[in out] / E[out]."""
    if lengths.buckets is not None:
        shares = np.array([float(bucket.share) for bucket in lengths.buckets])
        inputs = np.array([float(bucket.input) for bucket in lengths.buckets])
        outputs = np.array([float(bucket.output) for bucket in lengths.buckets])
        return float((shares * outputs) @ inputs / (shares @ outputs))
    if lengths.trace is None or trace is None:
        return None
    answers = trace.output_tokens.astype(np.float64)
    return float(answers @ trace.input_tokens.astype(np.float64) / answers.sum())


def _side(side: LengthSide) -> Atoms:
    if side.fixed is not None:
        return np.array([1.0]), np.array([float(side.fixed)])
    return formulas.atoms_from_percentiles(*_known(side))


def _known(side: LengthSide) -> tuple[FloatArray, FloatArray]:
    known = [(p, float(value)) for name, p in _PERCENTILES if (value := getattr(side, name)) is not None]
    return np.array([p for p, _ in known]), np.array([value for _, value in known])


def _side_quantile(side: LengthSide | None, atoms: Atoms, probability: float, image_tokens: float) -> float:
    """Exact from stated percentiles, else from the atoms."""
    if side is None or side.fixed is not None:
        return _quantile(atoms, probability)
    known_probability, known_tokens = _known(side)
    stated = formulas.quantiles_from_percentiles(known_probability, known_tokens, np.array([probability]))
    return float(stated[0]) + image_tokens


def _quantile(atoms: Atoms, probability: float) -> float:
    return formulas.atom_quantile(atoms[0], atoms[1], probability)


def _arrival_scv_ratio(workload: Workload, trace: TraceLengths | None) -> float:
    """The stated burstiness; of a trace with arrival times, the measured one if it is larger."""
    stated = float(workload.demand.burstiness)
    if workload.demand.trace is None or trace is None or trace.arrival_s is None:
        return stated
    gaps = np.diff(trace.arrival_s)
    if gaps.size < 2 or gaps.mean() <= 0.0:
        return stated
    return max(stated, float(gaps.var() / gaps.mean() ** 2))
