"""How a fleet comes by its GPUs: what is owned is used, what is written off is bought, the rest rented."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from planner.explain.hours import bought_lines
from planner.explain.phrases import listing
from planner.explain.problem_values import problem_value
from planner.schema.plan import Plan

UNKNOWN = "buy"
"""Plans that do not say from which lines they buy."""


def taken_words(plan: Plan, told: Callable[[str, str, Sequence[int]], str]) -> str:
    """``Use 2 of your 16 × h100 and rent 3 × gh200``; empty where nothing is taken.

    Args:
        plan: with its lines.
        told: words for a GPU, how many of it there are (empty, or ``of your 16``), and counts by hour.
    """
    parts: dict[str, list[str]] = {}
    for verb, gpu, counts in _taken(plan):
        parts.setdefault(verb, []).append(told(gpu, _of_yours(plan, verb, gpu), counts))
    words = listing([f"{verb} {listing(named)}" for verb, named in parts.items()])
    return words[:1].upper() + words[1:]


def _taken(plan: Plan) -> Iterator[tuple[str, str, list[int]]]:
    """Verb, GPU and GPUs by hour; what is there already first."""
    found: dict[tuple[str, str], list[int]] = {}
    for line in bought_lines(plan):
        counts = found.setdefault((_verb(plan, line.gpu, line.term), line.gpu), [0] * len(line.gpus))
        counts[:] = [a + b for a, b in zip(counts, line.gpus, strict=True)]
    if not found:
        hours = plan.periods or ()
        for gpu, most in plan.gpus.items():
            found[UNKNOWN, gpu] = [period.gpus.get(gpu, 0) for period in hours] or [most]
    for (verb, gpu), counts in sorted(found.items(), key=lambda item: (item[0][0] != "use", item[0])):
        if any(counts):
            yield verb, gpu, counts


def _verb(plan: Plan, gpu: str, term: str) -> str:
    if term != "owned":
        return "rent"
    stated = problem_value(plan, "fleet", "supply")
    lines = [line for line in stated or () if isinstance(line, Mapping)] if isinstance(stated, list) else []
    return "buy" if any(line.get("gpu") == gpu and line.get("amortized") for line in lines) else "use"


def _of_yours(plan: Plan, verb: str, gpu: str) -> str:
    """How many of a GPU are owned, where the problem says so."""
    count = problem_value(plan, "fleet", "owned", gpu)
    return f" of your {count:,}" if verb == "use" and isinstance(count, int) else ""
