"""Why no configuration of a GPU type can serve a workload."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from planner import numbers
from planner.schema.candidates import BoolArray, Candidates, FloatArray, IntArray, Lot, Verdict
from planner.schema.compared import WhyNot
from planner.schema.evaluation import Evaluation

_WORDS: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "B": ("needs {value} on one GPU, {limit} may be filled", numbers.size),
    "s": ("reaches {value} at best, the limit is {limit}", lambda value_s: f"{value_s * 1e3:.1f} ms"),
    "tokens": ("needs {value}, the window is {limit}", partial(numbers.count, noun="token")),
    "GPUs": ("needs {value} together, a server has {limit}", partial(numbers.count, noun="GPU")),
}


def why_not(
    evaluation: Evaluation,
    judged: Sequence[Verdict],
    admitted: BoolArray,
    lots: Sequence[Lot] = (),
    refused: Mapping[str, str] | None = None,
) -> tuple[WhyNot, ...]:
    """One line for every GPU type none of whose candidates is admitted.

    The line is about the candidate that breaks the fewest constraints, by the least.

    Args:
        evaluation: candidates of one workload.
        judged: their verdicts.
        admitted: candidates that no verdict excludes.
        lots: what can be bought: gives the names to use, and the GPU types without any candidate.
        refused: by accelerator id, the rule that refused all that was enumerated (`refused_by`).
    """
    names = {lot.accelerator.id: lot.name for lot in lots}
    gpus = np.array([item.accelerator.id for item in evaluation.candidates.configurations], dtype=object)
    broken = np.sum([verdict.violated for verdict in judged], axis=0)
    lines = []
    for gpu in dict.fromkeys([*gpus.tolist(), *names]):
        mine = np.flatnonzero(gpus == gpu)
        if mine.size == 0:
            why = (refused or {}).get(gpu, "no layout of this model has a place on it")
            rule = why.partition(":")[0] if gpu in (refused or {}) else ""
            lines.append(WhyNot(gpu=names[gpu], why=why, stopped_by=rule))
        elif not admitted[mine].any():
            rule, why = _line(mine, broken, judged)
            lines.append(WhyNot(gpu=names.get(gpu, gpu), why=why, stopped_by=rule))
    return tuple(lines)


def why_not_gpu(
    evaluation: Evaluation, judged: Sequence[Verdict], lots: Sequence[Lot], gpu: str
) -> str | None:
    """The line of one GPU type, of all its candidates; None where it has none.

    Args:
        evaluation: candidates of one workload, with those that formats, shape or rules exclude.
        judged: their verdicts.
        lots: what can be bought; gives the names to use.
        gpu: the name that the problem uses.
    """
    ids = {lot.accelerator.id for lot in lots if lot.name == gpu}
    mine = np.flatnonzero([item.accelerator.id in ids for item in evaluation.candidates.configurations])
    broken = np.sum([verdict.violated for verdict in judged], axis=0)
    return _line(mine, broken, judged)[1] if mine.size else None


def nearest_line(mine: IntArray, judged: Sequence[Verdict]) -> tuple[str, str]:
    """Of some candidates, the constraint that the nearest one breaks by the least, and that in words."""
    return _line(mine, np.sum([verdict.violated for verdict in judged], axis=0), judged)


def refused_by(
    candidates: Candidates, refusals: Mapping[str, BoolArray], titles: Mapping[str, str]
) -> dict[str, str]:
    """For every accelerator all of whose candidates rules refuse: the rule that refuses most, in words.

    Args:
        candidates: all that was enumerated.
        refusals: violation bits by rule id.
        titles: of the rules, by id.
    """
    gpus = np.array([item.accelerator.id for item in candidates.configurations], dtype=object)
    found: dict[str, str] = {}
    if not refusals:
        return found
    anywhere = np.logical_or.reduce(list(refusals.values()))
    for gpu in dict.fromkeys(gpus.tolist()):
        mine = gpus == gpu
        if anywhere[mine].all():
            most = max(refusals, key=lambda rule: int(refusals[rule][mine].sum()))
            found[gpu] = f"{most}: {titles[most]}"
    return found


def _line(mine: IntArray, broken: IntArray, judged: Sequence[Verdict]) -> tuple[str, str]:
    """The constraint that the nearest candidate breaks by the least, and that in words."""
    fewest = mine[broken[mine] == broken[mine].min()]
    best, best_miss, best_verdict = int(fewest[0]), np.inf, None
    for verdict in judged:
        hit = fewest[verdict.violated[fewest]]
        if hit.size == 0:
            continue
        miss = relative_miss(verdict.value[hit], verdict.limit[hit], verdict.unit)
        index = int(np.argmin(miss))
        if best_verdict is None or miss[index] < best_miss:
            best, best_miss, best_verdict = int(hit[index]), float(miss[index]), verdict
    if best_verdict is None:
        return "", "no batch keeps every limit"
    return best_verdict.id, f"{best_verdict.id}: {found_in_words(best_verdict, best)}"


def relative_miss(value: FloatArray, limit: FloatArray, unit: str) -> FloatArray:
    """How far values are above their limits, as a share of the limit; a bit (no unit) is infinitely far.

    Equation: max(0, value - limit) / limit; max(0, value - limit) where the limit is zero.
    """
    over = np.maximum(value - limit, 0.0)
    if not unit:
        return np.where(over > 0.0, np.inf, 0.0)
    return np.asarray(over / np.where(limit > 0.0, limit, 1.0))


def found_in_words(verdict: Verdict, index: int) -> str:
    """What one candidate reaches against the limit."""
    if verdict.unit not in _WORDS or not np.isfinite(verdict.value[index]):
        return verdict.title if verdict.texts is None else f"{verdict.title} ({verdict.texts[index]})"
    words, told = _WORDS[verdict.unit]
    return words.format(value=told(verdict.value[index]), limit=told(verdict.limit[index]))
