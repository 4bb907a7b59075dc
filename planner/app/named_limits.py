"""The limits of a problem by name: what may be granted, what is given, and where each stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from planner.app.study import Posed, Study
from planner.constraints.registry import CANDIDATE_CONSTRAINTS
from planner.schema.choice import ChoiceProblem
from planner.schema.problem import Fleet, Problem, Workload
from planner.schema.reasons import Changes, LimitKind, NamedLimit
from planner.schema.slo import METRICS, Slo
from planner.schema.workers import WorkerRow, WorkerTable
from planner.solver.ways import servable

_TITLES = {constraint.id: constraint.title for constraint in CANDIDATE_CONSTRAINTS}
_UP = Context(prec=15, rounding=ROUND_CEILING)


def exact(value: Fraction) -> Decimal:
    """A fraction as a decimal; one that never ends is rounded up at the 15th digit."""
    return _UP.divide(Decimal(value.numerator), Decimal(value.denominator))


def reference_limit(slo: Slo, metric: str) -> tuple[str, Decimal] | None:
    """The tightest statistic of a metric that is limited; the others move in proportion to it."""
    stated = [(value, key) for key, value in slo if key.startswith(f"{metric}_") and value is not None]
    if not stated:
        return None
    value, key = min(stated)
    return key, value


def predicted_limits(study: Study, posed: Posed) -> tuple[NamedLimit, ...]:
    """The limits of a problem over predictions; of the rules those that refuse something."""
    problem = posed.problem
    return (
        *predicted_service_limits(study, posed),
        *_market(posed.question),
        *_given(problem, posed.question),
    )


def predicted_service_limits(study: Study, posed: Posed) -> list[NamedLimit]:
    """Limits on what a replica carries: latency, memory, formats, and the rules that refuse something."""
    problem = posed.problem
    found: list[NamedLimit] = []
    refusing: set[str] = set()
    for name, case in posed.cases.items():
        found += _latencies(case.workload, ())
        found.append(_memory(case.workload, problem, ()))
        everything = study.everything(case, problem, posed.lots)
        if everything is None:
            continue
        candidates = everything.evaluation.candidates
        if candidates.structural["precision"].any():
            found.append(NamedLimit(f"precision:{name}", "precision", _TITLES["precision"],
                                    path=f"workloads.{name}.precision"))  # fmt: skip
        refusing |= {rule for rule, bits in everything.evaluation.refusals.items() if bits.any()}
    titles = {rule.id: rule.title for rule in posed.rules}
    found += [NamedLimit(rule, "rule", titles[rule], path="search.rules_off") for rule in sorted(refusing)]
    return found


def measured_limits(
    problem: Problem, table: WorkerTable, question: Callable[[Changes], ChoiceProblem]
) -> tuple[NamedLimit, ...]:
    """The limits of a problem over measured workers; each moves to a value that a row has."""
    found = measured_service_limits(problem, table)
    lifted: Changes = {limit.id: None for limit in found}
    found += _services(question(lifted))
    first = question({})
    given = list(_given(problem, first))
    if table.rate_rps is not None:
        # The file of workers states the rate; the problem's own is not read.
        given = [replace(limit, path=None) if limit.kind == "demand" else limit for limit in given]
    return (*found, *_market(first), *given)


def measured_service_limits(problem: Problem, table: WorkerTable) -> list[NamedLimit]:
    """Limits on what a worker carries: latency and memory."""
    found: list[NamedLimit] = []
    for workload in problem.workloads:
        rows = [row for row in table.rows if row.workload in (None, workload.name)]
        found += _latencies(workload, rows)
        if any(row.memory_fraction is not None for row in rows):
            found.append(_memory(workload, problem, rows))
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


def _memory(workload: Workload, problem: Problem, rows: Sequence[WorkerRow]) -> NamedLimit:
    headroom = problem.fleet.headroom_of(workload)
    values = (Fraction(row.memory_fraction) for row in rows if row.memory_fraction is not None)
    return NamedLimit(
        id=f"vram:{workload.name}",
        kind="memory",
        title=_TITLES["vram"],
        unit="fraction of a GPU's memory",
        value=1 - Fraction(headroom.memory),
        values=_ascending(values),
    )


def _services(widest: ChoiceProblem) -> Iterator[NamedLimit]:
    """Buckets that nothing serves however the limits are, whatever the way to serve."""
    for name in servable(widest)[1]:
        yield NamedLimit(name, "service", "a bucket that no option can serve")


def _market(question: ChoiceProblem) -> Iterator[NamedLimit]:
    limits = question.limits
    for gpu, count in limits.stock_gpus.items():
        yield NamedLimit(f"stock:{gpu}", "stock", f"stock of {gpu}", "GPUs", Fraction(count),
                         whole=True, path=f"fleet.stock.{gpu}")  # fmt: skip
    if limits.budget_usd_per_h is not None:
        yield NamedLimit("budget", "budget", "budget", "USD/h", limits.budget_usd_per_h, path="fleet.budget")
    if limits.max_gpus is not None:
        yield NamedLimit("max-gpus", "max-gpus", "number of GPUs", "GPUs", Fraction(limits.max_gpus),
                         whole=True, path="fleet.max_gpus")  # fmt: skip
    if limits.power_w is not None:
        yield NamedLimit("power", "power", "power of all replicas", "W", limits.power_w,
                         path="fleet.max_power")  # fmt: skip


def _given(problem: Problem, question: ChoiceProblem) -> Iterator[NamedLimit]:
    """Demand and spares: nobody grants them, but less of them is a way out."""
    fleet = problem.fleet
    for workload in problem.workloads:
        yield _demand(workload, fleet, question)
    yield from _kept_free(problem)
    yield from _lost(problem, question)
    yield from _least(problem)
    if fleet.max_utilization < 1:
        yield NamedLimit(
            id="max_utilization",
            kind="utilization",
            title="load of a replica over its capacity",
            unit="fraction",
            value=Fraction(fleet.max_utilization),
            grantable=False,
            most=Fraction(1),
            path="fleet.max_utilization",
        )


def _demand(workload: Workload, fleet: Fleet, question: ChoiceProblem) -> NamedLimit:
    first = next(demand for demand in question.demands if demand.workload == workload.name)
    headroom = fleet.headroom_of(workload)
    stated = workload.demand.peak_rps is not None
    return NamedLimit(
        id=f"demand:{workload.name}",
        kind="demand",
        title=f"demand of {workload.name}",
        unit="requests/s",
        value=sum(first.demand_rps, Fraction(0)) / (1 + Fraction(headroom.capacity)),
        grantable=False,
        falls=True,
        path=f"workloads.{workload.name}.demand.peak_rps" if stated else None,
    )


def _kept_free(problem: Problem) -> Iterator[NamedLimit]:
    rows = {workload.name: workload.own_capacity_headroom for workload in problem.workloads}
    stated = {name: Fraction(value) for name, value in rows.items() if value is not None}
    own = Fraction(problem.fleet.headroom.capacity)
    yield from _owned(problem, "headroom", "headroom", "capacity kept free", own, stated, 0, ".capacity")


def _lost(problem: Problem, question: ChoiceProblem) -> Iterator[NamedLimit]:
    stated, own = {}, Fraction(0)
    for workload in problem.workloads:
        count = next(d.spares.count for d in question.demands if d.workload == workload.name)
        if workload.redundancy is not None:
            stated[workload.name] = Fraction(count)
        else:
            own = Fraction(count)
    yield from _owned(problem, "redundancy", "redundancy", "replicas that may be lost", own, stated, 0)


def _least(problem: Problem) -> Iterator[NamedLimit]:
    stated = {w.name: Fraction(w.min_replicas) for w in problem.workloads if w.min_replicas is not None}
    own = Fraction(problem.fleet.min_replicas)
    yield from _owned(problem, "min_replicas", "replicas", "replicas at least", own, stated, 1)


def _owned(
    problem: Problem,
    name: str,
    kind: LimitKind,
    title: str,
    own: Fraction,
    stated: Mapping[str, Fraction],
    least: int,
    key: str = "",
) -> Iterator[NamedLimit]:
    """One limit of the fleet for the workloads that state none, and one for each that does."""
    rows = [(f"{name}:{workload}", f"workloads.{workload}", value) for workload, value in stated.items()]
    if len(stated) < len(problem.workloads) and own > least:
        rows.insert(0, (name, "fleet", own))
    for limit_id, place, value in rows:
        yield NamedLimit(
            id=limit_id,
            kind=kind,
            title=title,
            unit="fraction" if kind == "headroom" else "replicas",
            value=value,
            grantable=False,
            falls=True,
            whole=kind != "headroom",
            most=Fraction(least),
            path=f"{place}.{name}{key}",
        )
