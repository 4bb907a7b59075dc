"""Measured workers in place of the performance model: rows and a problem become options and demands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from planner.candidates.demand import spares
from planner.constraints.plan.registry import PLAN_LIMITS
from planner.errors import Fault, InputError, input_error, nearest
from planner.performance.measured_view import View, unread_rows, workload_faults
from planner.schema.choice import ChoiceProblem, Coupling, Limits, Option, PoolDemand, Role, Supply
from planner.schema.hardware import Fleet
from planner.schema.problem import Problem
from planner.schema.workers import MeasuredCase, WorkerRow, WorkerTable
from planner.schema.workload import Workload


def measured_case(
    problem: Problem, table: WorkerTable, node_sizes: Mapping[str, int] | None = None
) -> MeasuredCase:
    """The solver's question, with every serving mode that the table offers.

    ``node_sizes`` gives GPUs per server of known types; ``fleet.node_size`` wins.

    Raises:
        InputError: names that do not match, rows without a price, demand that needs the model.
    """
    faults: list[Fault] = []
    if problem.objective == "power":
        faults.append(
            Fault("objective", "", "power", "cost, cost_per_token or gpus: a table states no power")
        )
    faults.extend(
        Fault("fleet", limit.path.split(".")[1], "a limit", "no such key: a table states no power")
        for limit in PLAN_LIMITS
        if limit.by_power and limit.is_stated(problem)
    )
    faults.extend(workload_faults(problem, table))
    views = [View(problem, workload, table, faults) for workload in problem.workloads]
    if faults:
        raise InputError(faults)
    return _case(problem, table, views, _Supplies(problem.fleet, table, node_sizes or {}))


class _Supplies:
    """Prices and servers of the GPUs in the table."""

    def __init__(self, fleet: Fleet, table: WorkerTable, node_sizes: Mapping[str, int]) -> None:
        self.fleet, self.node_sizes = fleet, node_sizes
        self.by_whole_server = fleet.purchase == "node"
        self.found: dict[str, Supply] = {}
        self.own_prices: dict[str, set[Fraction]] = defaultdict(set)
        for row in table.rows:
            if row.usd_per_hour is not None:
                self.own_prices[row.gpu].add(Fraction(row.usd_per_hour) / row.gpus)

    def of(self, row: WorkerRow) -> Supply:
        """Where an option of this row is bought.

        Raises:
            InputError: no price, or no size of a server.
        """
        if row.usd_per_hour is not None and not self.by_whole_server:
            return self._keep(Supply(f"{row.gpu}:option", row.gpu, "option"))
        price = self._per_gpu(row)
        if not self.by_whole_server:
            return self._keep(Supply(row.gpu, row.gpu, "gpu", 1, price))
        size = self.fleet.node_size or self.node_sizes.get(row.gpu)
        if size is None:
            raise input_error(
                "fleet",
                "node_size",
                "nothing",
                f"GPUs in one server of {row.gpu} (purchase: node)",
                "node_size: 8",
            )
        return self._keep(Supply(row.gpu, row.gpu, "unit", size, price * size))

    def _per_gpu(self, row: WorkerRow) -> Fraction:
        price = (self.fleet.prices or {}).get(row.gpu)
        own = self.own_prices[row.gpu]
        if row.usd_per_hour is not None and len(own) == 1:
            return next(iter(own))
        if price is not None:
            return Fraction(price)
        if row.usd_per_hour is not None:
            raise input_error(
                row.where, "usd_per_hour", f"{len(own)} different prices per GPU of {row.gpu}",
                "one price per GPU when whole servers are bought (purchase: node)",
                f"fleet.prices: {{{row.gpu}: …}}",
            )  # fmt: skip
        near = nearest(row.gpu, list(self.fleet.prices or {}))
        raise input_error(
            row.where, "gpu", f'no price of "{row.gpu}"', "usd_per_hour in the row, or fleet.prices", near
        )

    def _keep(self, supply: Supply) -> Supply:
        return self.found.setdefault(supply.id, supply)


def _case(
    problem: Problem,
    table: WorkerTable,
    views: Sequence[View],
    supplies: _Supplies,
) -> MeasuredCase:
    excluded: list[tuple[WorkerRow, tuple[str, ...]]] = []
    options: list[Option] = []
    rows: dict[str, tuple[WorkerRow, ...]] = {}
    demands: list[PoolDemand] = []
    couplings: list[Coupling] = []
    for view in views:
        roles = view.roles()
        for role in roles:
            for name, mine in _grouped(view.rows, role).items():
                option, kept = _option(view, role, name, mine, supplies, excluded)
                options.append(option)
                rows[option.id] = kept
            demands.append(_demand(problem, view, role))
        if "prefill" in roles:
            couplings.append(Coupling(view.workload.name, limit_s(view.workload, "ttft")))
    used = {option.supply for option in options}
    limits = Limits(
        {**table.stock_gpus, **problem.fleet.stock},
        Fraction(problem.fleet.budget) if isinstance(problem.fleet.budget, Decimal) else None,
        problem.fleet.max_gpus,
        "gpus" if problem.objective == "gpus" else "cost",
    )
    bought = tuple(supply for supply in supplies.found.values() if supply.id in used)
    question = ChoiceProblem(tuple(options), bought, tuple(demands), limits, tuple(couplings))
    return MeasuredCase(
        question,
        rows,
        tuple(excluded),
        (
            *table.notes,
            *_unchecked(problem),
            *_unmeasured(problem, table),
            *_unread(problem, table),
            *unread_rows(problem, table),
        ),
    )


def _grouped(rows: Iterable[WorkerRow], role: Role) -> dict[str, list[WorkerRow]]:
    groups: dict[str, list[WorkerRow]] = defaultdict(list)
    for row in rows:
        if row.role == role:
            groups[row.option].append(row)
    return groups


def _option(
    view: View,
    role: Role,
    name: str,
    rows: Sequence[WorkerRow],
    supplies: _Supplies,
    excluded: list[tuple[WorkerRow, tuple[str, ...]]],
) -> tuple[Option, tuple[WorkerRow, ...]]:
    """One option: its rates on the buckets that it may serve, and the rows of these."""
    first = rows[0]
    supply = supplies.of(first)
    by_bucket = {row.bucket or next(iter(view.shares)): row for row in rows}
    rates, kept = [], []
    for bucket in view.shares:
        row = by_bucket.get(bucket)
        breaks = [] if row is None or row.max_rps == 0 else _breaks(view, row)
        if row is not None and breaks:
            excluded.append((row, tuple(breaks)))
        usable = row is not None and not breaks
        rates.append(Fraction(row.max_rps) if row is not None and usable else Fraction(0))
        if row is not None and usable and row.max_rps > 0:
            kept.append(row)
    option = Option(
        id=f"{view.workload.name}/{role}/{name}",
        workload=view.workload.name,
        role=role,
        supply=supply.id,
        gpu=first.gpu,
        gpus=first.gpus,
        rates_rps=tuple(rates),
        usd_per_h=Fraction(first.usd_per_hour or 0),
        ttft_s=_slowest_s(row.ttft_ms for row in kept) if role == "prefill" else None,
        transfer_s=_slowest_s(row.transfer_ms for row in kept) if role != "serve" else None,
        kv=first.kv if role != "serve" else None,
        label=name,
    )
    return option, tuple(kept)


def _slowest_s(values_ms: Iterable[Decimal | None]) -> Fraction | None:
    known = [Fraction(value) / 1000 for value in values_ms if value is not None]
    return max(known) if known else None


def _breaks(view: View, row: WorkerRow) -> list[str]:
    """Ids of the constraints that a row breaks by itself."""
    name = view.workload.name
    broken = []
    if row.role != "decode" and row.ttft_ms is not None:
        own_s = Fraction(row.ttft_ms + ((row.transfer_ms or 0) if row.role == "prefill" else 0)) / 1000
        most_s = limit_s(view.workload, "ttft")
        if most_s is not None and own_s > most_s:
            broken.append(f"ttft:{name}")
    if row.role != "prefill" and row.itl_ms is not None:
        most_s = limit_s(view.workload, "itl")
        if most_s is not None and Fraction(row.itl_ms) / 1000 > most_s:
            broken.append(f"itl:{name}")
    headroom = view.fleet.headroom_of(view.workload)
    if row.memory_fraction is not None and row.memory_fraction > 1 - headroom.memory_of_tables:
        broken.append(f"vram:{name}")
    return broken


def limit_s(workload: Workload, metric: str) -> Fraction | None:
    """The tightest limit of a metric, whatever its percentile."""
    values = [value for name, value in workload.slo if name.startswith(f"{metric}_") and value is not None]
    return Fraction(min(values)) if values else None


def _unchecked(problem: Problem) -> Iterator[str]:
    for workload in problem.workloads:
        stated = sorted(
            {name for name, value in workload.slo if value is not None and name[:4] in ("tpot", "e2e_")}
        )
        if stated:
            yield f"workload {workload.name}: a table of workers states no {', '.join(stated)}: not checked"


def _unmeasured(problem: Problem, table: WorkerTable) -> Iterator[str]:
    """Limits that hold for some rows only because nobody measured them."""
    for workload in problem.workloads:
        mine = [row for row in table.rows if row.workload in (None, workload.name)]
        first = [row for row in mine if row.role != "decode"]
        later = [row for row in mine if row.role != "prefill"]
        columns = [
            ("ttft", "ttft_ms", [row for row in first if row.ttft_ms is None]),
            ("itl", "itl_ms", [row for row in later if row.itl_ms is None]),
        ]
        if all(row.transfer_ms is None for row in mine):
            columns.append(("ttft", "transfer_ms", [row for row in first if row.role == "prefill"]))
        for metric, column, rows in columns:
            if rows and limit_s(workload, metric) is not None:
                names = list(dict.fromkeys(row.option for row in rows))
                some = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
                yield f"workload {workload.name}: no {column} is stated for {some}: it counts as 0 ms"


def _unread(problem: Problem, table: WorkerTable) -> Iterator[str]:
    """What the problem states and nothing reads."""
    gpus = {row.gpu for row in table.rows} | {*problem.fleet.supplied}
    for name in problem.fleet.stock:
        if name not in gpus:
            yield f"fleet.stock: no row of the table has {name}, so its stock limits nothing"
    for name in problem.fleet.accelerators or ():
        if name not in gpus:
            yield f"fleet.accelerators: no row of the table has {name}"
    # Where the largest load is looked for, the rate of the file is only where the search begins.
    rate = None if problem.objective == "throughput" else table.rate_rps
    for workload in problem.workloads if rate is not None else ():
        demand, key = workload.demand, "peak_rps"
        stated = demand.peak_rps
        if demand.hourly_rps is not None and len(demand.hourly_rps) == 1:
            stated, key = demand.hourly_rps[0], "hourly_rps"
        if stated is not None and Fraction(stated) != rate:
            yield (
                f"workload {workload.name}: the file of workers states {float(rate or 0):g} requests/s, so "
                f"demand.{key} ({stated}) is not read"
            )


def _demand(problem: Problem, view: View, role: Role) -> PoolDemand:
    workload, fleet = view.workload, problem.fleet
    headroom = fleet.headroom_of(workload)
    total = view.rate_rps * (1 + Fraction(headroom.capacity))
    return PoolDemand(
        workload=workload.name,
        role=role,
        demand_rps=tuple(total * share for share in view.shares.values()),
        buckets=tuple(view.shares),
        max_utilization=Fraction(fleet.max_utilization),
        min_replicas=workload.min_replicas or fleet.min_replicas,
        spares=spares(workload, fleet),
        mix=problem.search.mix,
    )
