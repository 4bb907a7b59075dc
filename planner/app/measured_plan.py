"""Plans from a table of measured worker rates: the same question and answer without predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from planner.app.document import inputs, solver_name
from planner.app.run import Run
from planner.app.states import market_states
from planner.loaders.worker_table import read_workers
from planner.performance.measured import measured_cases
from planner.schema.catalog import Accelerator
from planner.schema.catalog_index import Catalog
from planner.schema.choice import Choice, Option, PoolDemand, Supply
from planner.schema.plan import ConstraintState, Objective, Plan, Pool, Provenance, Removal, Route, Statistic
from planner.schema.problem import Problem, Workload
from planner.schema.slo import Slo
from planner.schema.workers import MeasuredCase, WorkerRow
from planner.solver.solve import solve

MEASURED_CONFIDENCE = 0.5
"""Measured tables are taken at their word."""
_TITLES = {"ttft": "time to first token", "itl": "inter-token latency", "vram": "device memory of one GPU"}
_MS = 1e-3


@dataclass(frozen=True, eq=False)
class _Solved:
    case: MeasuredCase
    choice: Choice


@dataclass(frozen=True, eq=False)
class _Used:
    """One option in use."""

    option: Option
    demand: PoolDemand
    rows: tuple[WorkerRow, ...]
    replicas: int
    shares: Mapping[str, Fraction]
    """Of each bucket's requests, by bucket."""
    usd_per_h: Fraction

    def load_rps(self, headroom: Fraction) -> Fraction:
        """Requests per second of one replica at the demand without headroom."""
        pairs = zip(self.demand.buckets, self.demand.demand_rps, strict=True)
        carried = sum((self.shares.get(name, Fraction(0)) * need for name, need in pairs), Fraction(0))
        return carried / (1 + headroom) / self.replicas

    def utilization(self, headroom: Fraction) -> Fraction:
        """Load over capacity: the sum over buckets of rps / max_rps."""
        used = Fraction(0)
        triples = zip(self.demand.buckets, self.demand.demand_rps, self.option.rates_rps, strict=True)
        for name, need, rate in triples:
            share = self.shares.get(name, Fraction(0))
            if share:
                used += share * need / (1 + headroom) / rate
        return used / self.replicas


def plan_from_table(problem: Problem, folder: Path, catalog: Catalog, run: Run, where: str) -> Plan:
    """The optimal plan over a table of workers; every combination of serving modes is tried.

    Raises:
        InputError: everything wrong with the table, or names that do not match the problem.
    """
    assert problem.workers is not None
    with run.step("load", f"reading {problem.workers}"):
        table = read_workers(folder / Path(problem.workers).expanduser())
        sizes = {name: entry.host.node_size for name, entry in _known(catalog).items()}
        cases = measured_cases(problem, table, sizes)
    with run.step("solve", "choosing and proving"):
        solved = [
            _Solved(
                case,
                solve(case.problem, time_limit_s=run.time_limit_s, seed=run.seed, workers=run.workers),
            )
            for case in cases
        ]
    best = _best(solved)
    with run.step("explain", "explaining"):
        return _document(problem, catalog, run, solved, best)


def _known(catalog: Catalog) -> dict[str, Accelerator]:
    """Accelerators by every name that a table may use."""
    names = catalog.names("accelerators")
    return {name: entry for name in names if (entry := catalog.accelerator(name)) is not None}


def _best(solved: Sequence[_Solved]) -> _Solved:
    """The case with the smallest value; of equal ones the first."""
    found = [item for item in solved if item.choice.value is not None]
    if not found:
        unknown = [item for item in solved if item.choice.status == "unknown"]
        return (unknown or list(solved))[0]
    return min(
        found, key=lambda item: (item.choice.value, item.choice.gpus and sum(item.choice.gpus.values()))
    )


def _document(problem: Problem, catalog: Catalog, run: Run, solved: Sequence[_Solved], best: _Solved) -> Plan:
    choice, case = best.choice, best.case
    feasible = choice.value is not None
    used = _in_use(best, problem) if feasible else ()
    documents = _pools(problem, used)
    bound = _lower_bound(solved) if feasible else None
    status = choice.status
    if status == "optimal" and bound is not None and choice.value is not None and bound < choice.value:
        status = "feasible"
    cost = float(choice.cost_usd_per_h) if feasible else None
    return Plan(
        problem=problem.name,
        inputs=inputs(problem, catalog),
        status=status,
        objective=_objective(problem, choice, bound),
        cost_usd_per_hour=cost,
        cost_usd_per_million_output_tokens=None,
        cost_usd_per_million_tokens=None,
        mean_utilization=_mean_utilization(documents),
        gpus=dict(sorted(choice.gpus.items())),
        pd_ratio=_pd_ratio(used),
        pools=documents,
        routing=_routing(used, documents),
        constraints=(*_latency_states(problem, used), *market_states(choice, case.problem.limits))
        if feasible
        else (),
        removed=() if feasible else _removed(solved, problem),
        warnings=case.warnings,
        provenance=Provenance(
            planner=run.version,
            seed=run.seed,
            solver=solver_name(),
            confidence=float(problem.confidence or MEASURED_CONFIDENCE),
            candidates=sum(len(item.case.problem.options) for item in solved),
            timing_s=run.timings(),
        ),
    )


def _lower_bound(solved: Sequence[_Solved]) -> Fraction | None:
    """The smallest bound of all cases that may hold a plan."""
    bounds = []
    for item in solved:
        if item.choice.status == "unknown":
            return Fraction(0)
        if item.choice.lower_bound is not None:
            bounds.append(item.choice.lower_bound)
    return min(bounds, default=None)


def _objective(problem: Problem, choice: Choice, bound: Fraction | None) -> Objective:
    value = choice.value
    gap = float((value - bound) / value) if value and bound is not None else (0.0 if value == 0 else None)
    return Objective(
        name=problem.objective,
        value=float(value) if value is not None else None,
        lower_bound=float(bound) if bound is not None else None,
        gap=gap,
    )


def _in_use(best: _Solved, problem: Problem) -> tuple[_Used, ...]:
    choice, case = best.choice, best.case
    options = {option.id: option for option in case.problem.options}
    demands = {demand.pool: demand for demand in case.problem.demands}
    shares: dict[str, dict[str, Fraction]] = {}
    for share in choice.shares:
        shares.setdefault(share.option, {})[share.bucket] = share.share
    prices = _prices(choice, options, {supply.id: supply for supply in case.problem.supplies})
    order = {workload.name: position for position, workload in enumerate(problem.workloads)}
    roles = ("serve", "prefill", "decode")
    used = [
        _Used(
            option=options[name],
            demand=demands[options[name].pool],
            rows=case.rows[name],
            replicas=count,
            shares=shares.get(name, {}),
            usd_per_h=prices[name],
        )
        for name, count in choice.counts.items()
    ]
    return tuple(
        sorted(used, key=lambda u: (order[u.option.workload], roles.index(u.option.role), u.option.id))
    )


def _prices(
    choice: Choice, options: Mapping[str, Option], supplies: Mapping[str, Supply]
) -> dict[str, Fraction]:
    """What each option costs; servers that several share are divided by the GPUs used."""
    gpus: dict[str, int] = {}
    for name, count in choice.counts.items():
        gpus[options[name].supply] = gpus.get(options[name].supply, 0) + options[name].gpus * count
    result = {}
    for name, count in choice.counts.items():
        option, supply = options[name], supplies[options[name].supply]
        if supply.purchase == "option":
            result[name] = option.usd_per_h * count
        else:
            bought = supply.usd_per_unit_h * choice.units.get(supply.id, 0)
            result[name] = bought * Fraction(option.gpus * count, gpus[supply.id])
    return result


def _headroom(problem: Problem, name: str) -> Fraction:
    workload = _workload(problem, name)
    return Fraction((workload.headroom or problem.fleet.headroom).capacity)


def _workload(problem: Problem, name: str) -> Workload:
    return next(item for item in problem.workloads if item.name == name)


def _pools(problem: Problem, used: Sequence[_Used]) -> tuple[Pool, ...]:
    numbers: dict[tuple[str, str], int] = {}
    documents = []
    for item in used:
        key = (item.option.workload, item.option.role)
        numbers[key] = numbers.get(key, 0) + 1
        documents.append(_pool(problem, item, numbers[key]))
    return tuple(documents)


def _pool(problem: Problem, item: _Used, number: int) -> Pool:
    option, headroom = item.option, _headroom(problem, item.option.workload)
    load, utilization = item.load_rps(headroom), item.utilization(headroom)
    capacity = load / utilization if utilization else max(option.rates_rps)
    workload = _workload(problem, option.workload)
    return Pool(
        id=f"{option.workload}/{option.role}/{number}",
        workload=option.workload,
        model=workload.model or "",
        role=option.role,
        option=option.label or option.id,
        mode="aggregated" if option.role == "serve" else "disaggregated",
        engine="measured",
        gpu=option.gpu,
        gpus_per_replica=option.gpus,
        replicas=item.replicas,
        weights="",
        kv=option.kv or "",
        tp=1,
        pp=1,
        ep=1,
        attention_dp=1,
        max_batch=0,
        batched_tokens=0,
        capacity_rps=float(capacity),
        load_rps=float(load),
        utilization=float(utilization),
        ttft_s=_statistic(workload, "ttft", item.rows),
        itl_s=_statistic(workload, "itl", item.rows),
        evidence="measured",
        usd_per_hour=float(item.usd_per_h),
    )


def _statistic(workload: Workload, metric: str, rows: Sequence[WorkerRow]) -> Statistic:
    """The slowest stated latency, under the statistic of its limit (``stated`` without one)."""
    values = [value for row in rows if (value := getattr(row, f"{metric}_ms")) is not None]
    if not values:
        return {}
    names = [
        name.split("_")[1]
        for name in Slo.model_fields
        if name.startswith(metric) and getattr(workload.slo, name)
    ]
    return dict.fromkeys(names or ["stated"], float(max(values)) * _MS)


def _routing(used: Sequence[_Used], documents: Sequence[Pool]) -> tuple[Route, ...]:
    return tuple(
        Route(workload=pool.workload, bucket=bucket, pool=pool.id, share=float(share))
        for item, pool in zip(used, documents, strict=True)
        for bucket, share in item.shares.items()
        if share > 0
    )


def _pd_ratio(used: Sequence[_Used]) -> dict[str, str] | None:
    counts = {
        role: (
            sum(item.option.gpus * item.replicas for item in used if item.option.role == role),
            sum(item.replicas for item in used if item.option.role == role),
        )
        for role in ("prefill", "decode")
    }
    if not counts["prefill"][1]:
        return None
    (prefill_gpus, prefill), (decode_gpus, decode) = counts["prefill"], counts["decode"]
    return {"gpus": f"{prefill_gpus}:{decode_gpus}", "replicas": f"{prefill}:{decode}"}


def _mean_utilization(documents: Sequence[Pool]) -> float | None:
    """Load at the peak over capacity, replicas weighted equally within a pool."""
    gpus = sum(pool.replicas * pool.gpus_per_replica for pool in documents)
    if not gpus:
        return None
    return sum(pool.utilization * pool.replicas * pool.gpus_per_replica for pool in documents) / gpus


def _latency_states(problem: Problem, used: Sequence[_Used]) -> list[ConstraintState]:
    """The slowest pair or pool of every workload against its tightest limit."""
    states = []
    for workload in problem.workloads:
        mine = [item for item in used if item.option.workload == workload.name]
        for metric, value in (("ttft", _ttft_s(mine)), ("itl", _slowest_s(mine, "itl_ms", "prefill"))):
            limits = [float(v) for name, v in workload.slo if name.startswith(metric) and v is not None]
            if limits and value is not None:
                limit = min(limits)
                states.append(
                    ConstraintState(
                        id=f"{metric}:{workload.name}",
                        value=value,
                        limit=limit,
                        unit="s",
                        slack=limit - value,
                        binding=value >= limit,
                        text=_TITLES[metric],
                    )
                )
    return states


def _slowest_s(mine: Sequence[_Used], column: str, but: str) -> float | None:
    values = [
        value
        for item in mine
        if item.option.role != but
        for row in item.rows
        if (value := getattr(row, column)) is not None
    ]
    return float(max(values)) * _MS if values else None


def _ttft_s(mine: Sequence[_Used]) -> float | None:
    """TTFT of aggregated options, or of the slowest pair of prefill and decode."""
    own = _slowest_s(mine, "ttft_ms", "decode")
    transfers = [item.option.transfer_s for item in mine if item.option.transfer_s is not None]
    return own + float(max(transfers, default=Fraction(0))) if own is not None else None


def _removed(solved: Sequence[_Solved], problem: Problem) -> tuple[Removal, ...]:
    """Rows that each latency or memory limit removes, then the limits that stand in the way."""
    by_id: dict[str, list[tuple[WorkerRow, int]]] = {}
    for row, ids in dict.fromkeys(pair for item in solved for pair in item.case.excluded):
        for name in ids:
            by_id.setdefault(name, []).append((row, len(ids)))
    in_the_way = dict.fromkeys(name for item in solved for name in item.choice.in_the_way)
    found = [_removal(problem, name, rows) for name, rows in by_id.items()]
    found += [
        Removal(id=name, title=_way_title(name), alone=0, total=0) for name in in_the_way if name not in by_id
    ]
    return tuple(sorted(found, key=lambda item: (-item.alone, -item.total, item.id)))


def _way_title(name: str) -> str:
    if name.startswith("unservable:"):
        return "a bucket that no option can serve"
    return {"budget": "budget", "max-gpus": "number of GPUs"}.get(name, "stock")


def _removal(problem: Problem, name: str, rows: Sequence[tuple[WorkerRow, int]]) -> Removal:
    metric, workload_name = name.split(":", 1)
    workload = _workload(problem, workload_name)
    headroom = workload.headroom or problem.fleet.headroom
    limits = [float(v) for key, v in workload.slo if key.startswith(metric) and v is not None]
    values = [(_row_value(row, metric), row.option) for row, _ in rows]
    value, option = min(values)
    return Removal(
        id=name,
        title=_TITLES[metric],
        alone=sum(1 for _, count in rows if count == 1),
        total=len(rows),
        nearest=option,
        nearest_value=value,
        limit=float(1 - headroom.memory) if metric == "vram" else min(limits),
        unit="fraction" if metric == "vram" else "s",
    )


def _row_value(row: WorkerRow, metric: str) -> float:
    if metric == "vram":
        return float(row.memory_fraction or 0)
    if metric == "itl":
        return float(row.itl_ms or 0) * _MS
    transfer = (row.transfer_ms or 0) if row.role == "prefill" else 0
    return float((row.ttft_ms or 0) + transfer) * _MS
