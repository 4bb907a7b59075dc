"""Measured workers in place of the performance model: rows and a problem become options and demands."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from planner.candidates.demand import spares
from planner.errors import Fault, InputError, input_error, nearest
from planner.schema.choice import ChoiceProblem, Coupling, Limits, Option, PoolDemand, Role, Supply
from planner.schema.problem import Fleet, Problem, Workload
from planner.schema.workers import MeasuredCase, WorkerRow, WorkerTable

ONE_BUCKET = "all"


def measured_case(
    problem: Problem, table: WorkerTable, node_sizes: Mapping[str, int] | None = None
) -> MeasuredCase:
    """The solver's question, with every way to serve that the table offers.

    ``node_sizes`` gives GPUs per server of known types; ``fleet.node_size`` wins.

    Raises:
        InputError: names that do not match, rows without a price, demand that needs the model.
    """
    faults: list[Fault] = []
    if problem.objective == "power":
        faults.append(
            Fault("objective", "", "power", "cost, cost_per_token or gpus: a table states no power")
        )
    if problem.fleet.max_power is not None:
        faults.append(Fault("fleet", "max_power", "a limit", "no such key: a table states no power"))
    faults.extend(_name_faults(problem, table))
    views = [_View(problem, workload, table, faults) for workload in problem.workloads]
    if faults:
        raise InputError(faults)
    return _case(problem, table, views, _Supplies(problem.fleet, table, node_sizes or {}))


def _name_faults(problem: Problem, table: WorkerTable) -> Iterator[Fault]:
    workloads = [workload.name for workload in problem.workloads]
    if table.shares is not None and len(workloads) > 1:
        yield Fault(
            "workloads",
            "",
            f"{len(workloads)} workloads",
            "one workload: the file of workers states one demand",
        )
    for row in table.rows:
        if row.workload is not None and row.workload not in workloads:
            yield Fault(
                row.where,
                "workload",
                f'"{row.workload}"',
                f"one of {', '.join(workloads)}",
                nearest(row.workload, workloads),
            )


class _View:
    """The table as one workload sees it."""

    def __init__(self, problem: Problem, workload: Workload, table: WorkerTable, faults: list[Fault]) -> None:
        self.workload, self.fleet = workload, problem.fleet
        self.rows = [row for row in table.rows if row.workload in (None, workload.name)]
        if problem.fleet.accelerators is not None:
            self.rows = [row for row in self.rows if row.gpu in problem.fleet.accelerators]
        self.shares = self._shares(table, faults)
        self.rate_rps = table.rate_rps if table.rate_rps is not None else _peak(workload, faults)
        self.explicit_modes = problem.search.modes if "modes" in problem.search.model_fields_set else None
        self._check_buckets(problem, faults)

    def _shares(self, table: WorkerTable, faults: list[Fault]) -> dict[str, Fraction]:
        if table.shares is not None:
            return table.shares
        if self.workload.buckets is not None:
            total = sum(map(Fraction, self.workload.buckets.values()), Fraction(0))
            return {name: Fraction(share) / total for name, share in self.workload.buckets.items()}
        names = list(dict.fromkeys(row.bucket for row in self.rows if row.bucket is not None))
        if len(names) > 1:
            faults.append(
                Fault(f"workload {self.workload.name}", "buckets", "no shares",
                      f"a share for each bucket of the table: {', '.join(names[:10])}",
                      f"buckets: {{{names[0]}: …}}")
            )  # fmt: skip
        return {names[0] if names else ONE_BUCKET: Fraction(1)}

    def _check_buckets(self, problem: Problem, faults: list[Fault]) -> None:
        everywhere = {name for w in problem.workloads for name in (w.buckets or ())} | set(self.shares)
        for row in self.rows:
            if row.bucket is None and len(self.shares) > 1:
                faults.append(
                    Fault(
                        row.where, "bucket", "nothing", f"one of {', '.join(self.shares)}: there are several"
                    )
                )
            elif row.bucket is not None and row.bucket not in (self.shares if row.workload else everywhere):
                known = list(self.shares)
                faults.append(
                    Fault(
                        row.where,
                        "bucket",
                        f'"{row.bucket}"',
                        f"one of {', '.join(known)}",
                        nearest(row.bucket, known),
                    )
                )
        keys: dict[tuple[object, ...], WorkerRow] = {}
        for row in self.rows:
            other = keys.setdefault((row.option, row.role, row.bucket or next(iter(self.shares))), row)
            if other is not row:
                faults.append(
                    Fault(
                        row.where,
                        "option",
                        f'"{row.option}" again',
                        f"one row per bucket, as in {other.where}",
                    )
                )

    def roles(self) -> tuple[Role, ...]:
        """Roles of the ways to serve it that the table offers and the problem allows."""
        roles = {row.role for row in self.rows}
        split: tuple[Role, ...] = ("prefill", "decode")
        ways: list[tuple[Role, ...]] = [("serve",)] if "serve" in roles else []
        if roles & set(split):
            ways.append(split)
        if len(ways) == 2 and self.explicit_modes is not None:
            kept = {"aggregated": ("serve",), "disaggregated": split}
            ways = [way for way in ways if way in [kept[mode] for mode in self.explicit_modes]]
        return tuple(itertools.chain.from_iterable(ways)) or ("serve",)


def _peak(workload: Workload, faults: list[Fault]) -> Fraction:
    demand = workload.demand
    if demand.peak_rps is not None:
        return Fraction(demand.peak_rps)
    if demand.hourly_rps is not None:
        return Fraction(max(demand.hourly_rps))
    faults.append(
        Fault(
            f"workload {workload.name}",
            "demand.trace",
            "a trace",
            "peak_rps or hourly_rps with a table of workers",
        )
    )
    return Fraction(0)


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
    views: Sequence[_View],
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
                option = _option(view, role, name, mine, supplies, excluded)
                options.append(option)
                rows[option.id] = tuple(mine)
            demands.append(_demand(problem, view, role))
        if "prefill" in roles:
            couplings.append(Coupling(view.workload.name, _limit_s(view.workload, "ttft")))
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
        question, rows, tuple(excluded), (*table.notes, *_unchecked(problem), *_unread(problem, table))
    )


def _grouped(rows: Iterable[WorkerRow], role: Role) -> dict[str, list[WorkerRow]]:
    groups: dict[str, list[WorkerRow]] = defaultdict(list)
    for row in rows:
        if row.role == role:
            groups[row.option].append(row)
    return groups


def _option(
    view: _View,
    role: Role,
    name: str,
    rows: Sequence[WorkerRow],
    supplies: _Supplies,
    excluded: list[tuple[WorkerRow, tuple[str, ...]]],
) -> Option:
    """One option: its rates on the buckets that it may serve."""
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
    return Option(
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


def _slowest_s(values_ms: Iterable[Decimal | None]) -> Fraction | None:
    known = [Fraction(value) / 1000 for value in values_ms if value is not None]
    return max(known) if known else None


def _breaks(view: _View, row: WorkerRow) -> list[str]:
    """Ids of the constraints that a row breaks by itself."""
    name = view.workload.name
    broken = []
    if row.role != "decode" and row.ttft_ms is not None:
        own_s = Fraction(row.ttft_ms + ((row.transfer_ms or 0) if row.role == "prefill" else 0)) / 1000
        limit_s = _limit_s(view.workload, "ttft")
        if limit_s is not None and own_s > limit_s:
            broken.append(f"ttft:{name}")
    if row.role != "prefill" and row.itl_ms is not None:
        limit_s = _limit_s(view.workload, "itl")
        if limit_s is not None and Fraction(row.itl_ms) / 1000 > limit_s:
            broken.append(f"itl:{name}")
    headroom = view.fleet.headroom_of(view.workload)
    if row.memory_fraction is not None and row.memory_fraction > 1 - headroom.memory:
        broken.append(f"vram:{name}")
    return broken


def _limit_s(workload: Workload, metric: str) -> Fraction | None:
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


def _unread(problem: Problem, table: WorkerTable) -> Iterator[str]:
    """What the problem states and nothing reads."""
    gpus = {row.gpu for row in table.rows} | {line.gpu for line in problem.fleet.supply or ()}
    for name in problem.fleet.stock:
        if name not in gpus:
            yield f"fleet.stock: no row of the table has {name}, so its stock limits nothing"
    rate = table.rate_rps
    for workload in problem.workloads if rate is not None else ():
        stated = workload.demand.peak_rps
        if stated is not None and Fraction(stated) != rate:
            yield (
                f"workload {workload.name}: the file of workers states {float(rate or 0):g} requests/s, so "
                f"demand.peak_rps ({stated}) is not read"
            )


def _demand(problem: Problem, view: _View, role: Role) -> PoolDemand:
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
