"""Limits on what a replica carries, by name: latency, memory, formats and rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction

from planner.constraints.registry import CANDIDATE_CONSTRAINTS
from planner.planning.formulation.study import Formulation, Study
from planner.planning.workload.case import Case
from planner.schema.candidates import Candidates
from planner.schema.problem import Problem
from planner.schema.reasons import NamedLimit
from planner.schema.slo import METRICS, Slo
from planner.schema.workers import WorkerRow, WorkerTable
from planner.schema.workload import Workload
from planner.steptime.quality import quality_losses

_TITLES = {constraint.id: constraint.title for constraint in CANDIDATE_CONSTRAINTS}


def reference_limit(slo: Slo, metric: str) -> tuple[str, Decimal] | None:
    """The tightest statistic of a metric that is limited; the others move in proportion to it."""
    stated = [(value, key) for key, value in slo if key.startswith(f"{metric}_") and value is not None]
    if not stated:
        return None
    value, key = min(stated)
    return key, value


def predicted_service_limits(study: Study, formulation: Formulation) -> list[NamedLimit]:
    """Limits on what a replica carries: latency, memory, formats, and the rules that refuse something."""
    problem = formulation.problem
    found: list[NamedLimit] = []
    refusing: set[str] = set()
    for name, case in formulation.cases.items():
        found += _latencies(case.workload, ())
        found.append(_memory(case.workload, _filled(case), ()))
        everything = study.everything(case, problem, formulation.lots)
        if everything is None:
            continue
        candidates = everything.evaluation.candidates
        if candidates.structural["precision"].any():
            found.append(NamedLimit(f"precision:{name}", "precision", _TITLES["precision"],
                                    path=f"workloads.{name}.precision"))  # fmt: skip
        found += _quality(case.workload, candidates)
        refusing |= {rule for rule, bits in everything.evaluation.refusals.items() if bits.any()}
    titles = {rule.id: rule.title for rule in formulation.rules}
    found += [NamedLimit(rule, "rule", titles[rule], path="search.rules_off") for rule in sorted(refusing)]
    return found


def _quality(workload: Workload, candidates: Candidates) -> Iterator[NamedLimit]:
    """What formats may cost in quality, where that excludes something with a published figure."""
    most = workload.max_quality_loss
    if most is None or not candidates.structural["max-quality-loss"].any():
        return
    losses = quality_losses(candidates.configurations)
    yield NamedLimit(
        id=f"max-quality-loss:{workload.name}",
        kind="quality",
        title=_TITLES["max-quality-loss"],
        unit="fraction",
        value=Fraction(most),
        values=_ascending(Fraction(loss) for loss in losses if loss is not None),
        path=f"workloads.{workload.name}.max_quality_loss",
    )


def measured_service_limits(problem: Problem, table: WorkerTable) -> list[NamedLimit]:
    """Limits on what a worker carries: latency and memory."""
    found: list[NamedLimit] = []
    for workload in problem.workloads:
        rows = [row for row in table.rows if row.workload in (None, workload.name)]
        found += _latencies(workload, rows)
        if any(row.memory_fraction is not None for row in rows):
            free = problem.fleet.headroom_of(workload).memory_of_tables
            found.append(_memory(workload, 1 - Fraction(free), rows))
    return found


def _latencies(workload: Workload, rows: Sequence[WorkerRow]) -> Iterator[NamedLimit]:
    for metric in METRICS:
        reference = reference_limit(workload.slo, metric)
        if reference is None or (rows and metric not in ("ttft", "itl")):
            continue
        key, value = reference
        yield NamedLimit(
            id=f"{metric}:{workload.name}",
            kind="latency",
            title=_TITLES[metric],
            unit="s",
            value=Fraction(value),
            values=_ascending(_ttft_values(rows) if metric == "ttft" else _itl_values(rows)),
            path=f"workloads.{workload.name}.slo.{key}",
        )


def _ttft_values(rows: Sequence[WorkerRow]) -> Iterator[Fraction]:
    """Of aggregated options their own; of disaggregated ones that of every pair."""
    transfers = {Fraction(row.transfer_ms or 0) for row in rows if row.role != "serve"}
    for row in rows:
        if row.ttft_ms is None or row.role == "decode":
            continue
        own = Fraction(row.ttft_ms)
        if row.role == "serve":
            yield own / 1000
        else:
            mine = Fraction(row.transfer_ms or 0)
            yield from ((own + max(mine, other)) / 1000 for other in transfers | {mine})


def _itl_values(rows: Sequence[WorkerRow]) -> Iterator[Fraction]:
    return (Fraction(row.itl_ms) / 1000 for row in rows if row.itl_ms is not None and row.role != "prefill")


def _ascending(values: Iterable[Fraction]) -> tuple[Fraction, ...]:
    return tuple(sorted(set(values)))


def _filled(case: Case) -> Fraction:
    """Share of a GPU's memory that engines may fill."""
    largest = max(case.memory_shares)
    return min(Fraction(str(largest)), 1 - Fraction(case.headroom.memory or 0))


def _memory(workload: Workload, filled: Fraction, rows: Sequence[WorkerRow]) -> NamedLimit:
    values = (Fraction(row.memory_fraction) for row in rows if row.memory_fraction is not None)
    return NamedLimit(
        id=f"vram:{workload.name}",
        kind="memory",
        title=_TITLES["vram"],
        unit="fraction of a GPU's memory",
        value=filled,
        values=_ascending(values),
    )
