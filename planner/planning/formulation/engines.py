"""Engines as a decision: each combination of one engine for each workload is a setting of its own.

A workload runs on one engine: two of them would be two images to roll out, watch and debug, and what mixing
them could save is a part of one replica.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from planner.errors import input_error
from planner.schema.problem import Problem

MOST_COMBINATIONS = 16
"""Each takes as long as a plan with one engine."""

Engines = tuple[tuple[str, str], ...]
"""Workload and engine."""


def with_one_engine(problem: Problem) -> Iterator[tuple[Problem, Engines]]:
    """The problem with each combination of engines; workloads that name one keep it.

    Raises:
        InputError: more combinations than `MOST_COMBINATIONS`.
    """
    several = [w for w in problem.workloads if len(w.engines) > 1 and not problem.worker_files]
    number = math.prod(len(workload.engines) for workload in several)
    if number > MOST_COMBINATIONS:
        found = f"{number} combinations of engines of {len(several)} workloads"
        expected = f"at most {MOST_COMBINATIONS}: every one is searched as a plan of its own"
        raise input_error("workloads", "engine", found, expected)
    for taken in itertools.product(*(workload.engines for workload in several)):
        chosen = dict(zip((workload.name for workload in several), taken, strict=True))
        workloads = tuple(
            w.model_copy(update={"engine": chosen[w.name]}) if w.name in chosen else w
            for w in problem.workloads
        )
        settled = problem.model_copy(update={"workloads": workloads}) if chosen else problem
        yield settled, tuple(chosen.items())
