"""Why no configuration of a GPU type can serve a workload."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.schema.candidates import BoolArray, IntArray, Verdict
from planner.schema.evaluation import Evaluation
from planner.schema.plan import WhyNot

_WORDS = {
    "B": ("needs {value:.1f} GB on one GPU, {limit:.1f} may be filled", 1e-9),
    "s": ("reaches {value:.1f} ms at best, the limit is {limit:.1f} ms", 1e3),
    "tokens": ("needs {value:.0f} tokens, the window is {limit:.0f}", 1.0),
}


def why_not(evaluation: Evaluation, judged: Sequence[Verdict], admitted: BoolArray) -> tuple[WhyNot, ...]:
    """One line for every GPU type none of whose candidates is admitted.

    The line is about the candidate that breaks the fewest constraints, by the least.
    """
    gpus = np.array([item.accelerator.id for item in evaluation.candidates.configurations])
    broken = np.sum([verdict.violated for verdict in judged], axis=0)
    lines = []
    for gpu in dict.fromkeys(gpus.tolist()):
        mine = np.flatnonzero(gpus == gpu)
        if not admitted[mine].any():
            lines.append(WhyNot(gpu=gpu, why=_line(mine, broken, judged)))
    return tuple(lines)


def _line(mine: IntArray, broken: IntArray, judged: Sequence[Verdict]) -> str:
    fewest = mine[broken[mine] == broken[mine].min()]
    best, best_miss, best_verdict = int(fewest[0]), np.inf, None
    for verdict in judged:
        hit = fewest[verdict.violated[fewest]]
        if hit.size == 0:
            continue
        miss = (verdict.value[hit] - verdict.limit[hit]) / np.maximum(np.abs(verdict.limit[hit]), 1e-12)
        index = int(np.argmin(miss))
        if best_verdict is None or miss[index] < best_miss:
            best, best_miss, best_verdict = int(hit[index]), float(miss[index]), verdict
    if best_verdict is None:
        return "no configuration left"
    return f"{best_verdict.id}: {_found(best_verdict, best)}"


def _found(verdict: Verdict, index: int) -> str:
    if verdict.unit not in _WORDS or not np.isfinite(verdict.value[index]):
        return verdict.title
    words, factor = _WORDS[verdict.unit]
    return words.format(value=verdict.value[index] * factor, limit=verdict.limit[index] * factor)
