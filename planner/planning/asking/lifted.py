"""A problem with some of its limits on what a replica carries moved or lifted."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from planner.numbers import as_decimal
from planner.planning.asking.service_limits import reference_limit
from planner.planning.formulation.study import Granted
from planner.schema.problem import Problem
from planner.schema.reasons import Changes, NamedLimit
from planner.schema.slo import METRICS
from planner.schema.stated import WorkloadHeadroom
from planner.schema.workload import Workload

_QUALITY = "max-quality-loss"
_ANY_MEMORY = 1000.0
"""Times the memory of a GPU: more than any model needs."""


def granted_by(changes: Changes, limits: Mapping[str, NamedLimit]) -> Granted:
    """What changes of memory, formats and rules lift; ``limits`` by id."""
    off, memory = set(), {}
    for name, value in changes.items():
        if name.startswith("vram:"):
            limit = limits[name].value
            assert limit is not None
            memory[name.removeprefix("vram:")] = _ANY_MEMORY if value is None else float(value / limit)
        elif name.split(":")[0] not in (*METRICS, "power", _QUALITY):
            off.add(name)
    return Granted(frozenset(off), memory)


def moved_slo(problem: Problem, changes: Changes) -> Problem:
    """The problem with limits on latency and quality moved; statistics of a metric keep their proportions."""
    workloads = tuple(_with_quality(_with_slo(workload, changes), changes) for workload in problem.workloads)
    return problem.model_copy(update={"workloads": workloads})


def _with_slo(workload: Workload, changes: Changes) -> Workload:
    moved: dict[str, Any] = {}
    for metric in METRICS:
        name = f"{metric}:{workload.name}"
        reference = reference_limit(workload.slo, metric)
        if name not in changes or reference is None:
            continue
        value = changes[name]
        for key, limit in workload.slo:
            if key.startswith(f"{metric}_") and limit is not None:
                factor = None if value is None else value / Fraction(reference[1])
                moved[key] = None if factor is None else as_decimal(Fraction(limit) * factor)
    if not moved:
        return workload
    return workload.model_copy(update={"slo": workload.slo.model_copy(update=moved)})


def _with_quality(workload: Workload, changes: Changes) -> Workload:
    name = f"{_QUALITY}:{workload.name}"
    if name not in changes:
        return workload
    value = changes[name]
    return workload.model_copy(update={"max_quality_loss": None if value is None else as_decimal(value)})


def moved_memory(problem: Problem, changes: Changes) -> Problem:
    """The problem with other shares of memory that may be filled."""
    workloads = []
    for workload in problem.workloads:
        name = f"vram:{workload.name}"
        if name in changes:
            value = changes[name]
            own = workload.headroom or WorkloadHeadroom()
            free = Decimal(-int(_ANY_MEMORY)) if value is None else 1 - as_decimal(value)
            workload = workload.model_copy(update={"headroom": own.model_copy(update={"memory": free})})
        workloads.append(workload)
    return problem.model_copy(update={"workloads": tuple(workloads)})
