"""A problem that explanations ask again with some of its limits moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

from planner.app.choosing import asked
from planner.app.named_limits import exact, measured_limits, predicted_limits, reference_limit
from planner.app.run import Run
from planner.app.study import Granted, Posed, Study
from planner.performance.measured import measured_case
from planner.schema.choice import Choice, ChoiceProblem, PoolDemand
from planner.schema.problem import Problem, Workload, WorkloadHeadroom
from planner.schema.reasons import Changes, Goal, NamedLimit
from planner.schema.slo import METRICS
from planner.schema.workers import MeasuredCase, WorkerTable

_ANY_MEMORY = 1000.0
"""Times the memory of a GPU: more than any model needs."""
_PHYSICAL = ("latency", "memory", "power", "precision", "rule")


class ProblemAsker:
    """An `Asker` over one problem; what a change does not touch is kept from one question to the next."""

    def __init__(self, problem: Problem, run: Run) -> None:
        """``run`` gives the seed, the threads and the time for everything that is asked."""
        self.problem, self.run = problem, run
        self.asked = 0
        self._known: dict[object, Choice] = {}

    @property
    def objective(self) -> str:
        """What the problem minimizes."""
        return self.problem.objective

    @cached_property
    def limits(self) -> tuple[NamedLimit, ...]:
        """The limits that stand in the problem."""
        raise NotImplementedError

    @cached_property
    def _by_id(self) -> Mapping[str, NamedLimit]:
        return {limit.id: limit for limit in self.limits}

    def ask(self, changes: Changes, goal: Goal = "value", objective: str | None = None) -> Choice:
        """The choice after the changes; the same question is answered once, unknown when the time is up."""
        key = (tuple(sorted(changes.items(), key=lambda item: item[0])), goal, objective)
        if key not in self._known:
            if self.run.over:
                return Choice("unknown")
            self.asked += 1
            physical = {name: v for name, v in changes.items() if self._by_id[name].kind in _PHYSICAL}
            market = {name: v for name, v in changes.items() if name not in physical}
            question = self._moved(self.question(physical), market, objective)
            self._known[key] = self._solved(question, goal)
        return self._known[key]

    def question(self, changes: Changes) -> ChoiceProblem:
        """What the solver is asked after changes of what a replica carries."""
        raise NotImplementedError

    def _solved(self, question: ChoiceProblem, goal: Goal) -> Choice:
        return asked(question, self.run, goal)

    def _moved(self, question: ChoiceProblem, changes: Changes, objective: str | None) -> ChoiceProblem:
        """The question with limits of the market and given limits moved."""
        limits, demands = question.limits, question.demands
        if objective is not None:
            limits = replace(limits, objective=objective)  # type: ignore[arg-type]
        for name, value in changes.items():
            limit = self._by_id[name]
            if limit.kind == "stock":
                gpu = name.removeprefix("stock:")
                stock = {key: count for key, count in limits.stock_gpus.items() if key != gpu}
                limits = replace(limits, stock_gpus=stock if value is None else stock | {gpu: int(value)})
            elif limit.kind == "budget":
                limits = replace(limits, budget_usd_per_h=value)
            elif limit.kind == "max-gpus":
                limits = replace(limits, max_gpus=None if value is None else int(value))
            else:
                demands = tuple(
                    _moved_demand(demand, limit, value) if self._concerns(limit, demand.workload) else demand
                    for demand in demands
                )
        return replace(question, limits=limits, demands=demands)

    def _concerns(self, limit: NamedLimit, workload: str) -> bool:
        """A limit of one workload, or one of the fleet for a workload that states none of its own."""
        name, _, owner = limit.id.partition(":")
        if owner:
            return owner.split("/")[0] == workload
        return f"{name}:{workload}" not in self._by_id


def _moved_demand(demand: PoolDemand, limit: NamedLimit, value: Fraction | None) -> PoolDemand:
    """What a pool must carry after one change of a given limit."""
    name, _, owner = limit.id.partition(":")
    if name == "unservable":
        bucket = owner.partition("/")[2]
        pairs = zip(demand.buckets, demand.demand_rps, strict=True)
        kept = tuple(Fraction(0) if known == bucket else need for known, need in pairs)
        return replace(demand, demand_rps=kept)
    assert limit.value is not None
    if name == "demand":
        assert value is not None, "demand cannot be taken away"
        return _scaled(demand, value / limit.value)
    if name == "headroom":
        return _scaled(demand, (1 + (value or 0)) / (1 + limit.value))
    if name == "redundancy":
        return replace(demand, spares=replace(demand.spares, count=int(value or 0)))
    if name == "min_replicas":
        return replace(demand, min_replicas=int(value or 1))
    assert name == "max_utilization", name
    return replace(demand, max_utilization=Fraction(1) if value is None else value)


def _scaled(demand: PoolDemand, factor: Fraction) -> PoolDemand:
    return replace(demand, demand_rps=tuple(need * factor for need in demand.demand_rps))


class PredictedAsker(ProblemAsker):
    """Over the performance model."""

    def __init__(self, study: Study, problem: Problem, run: Run) -> None:
        """``study`` keeps candidates and their evaluation."""
        super().__init__(problem, run)
        self.study = study
        # Limits are read off today's problem; changes are of limits. So today's comes first, by itself.
        self._posed: dict[object, Posed] = {(): study.pose(problem)}

    @cached_property
    def limits(self) -> tuple[NamedLimit, ...]:
        """Latency, memory, formats, rules, market and what is given."""
        return predicted_limits(self.study, self.posed({}))

    def question(self, changes: Changes) -> ChoiceProblem:
        """What the solver is asked."""
        return self.posed(changes).question

    def posed(self, changes: Changes) -> Posed:
        """The problem posed after changes that move what a replica carries."""
        key = tuple(sorted(changes.items(), key=lambda item: item[0]))
        if key not in self._posed:
            moved = moved_power(moved_slo(self.problem, changes), changes)
            self._posed[key] = self.study.pose(moved, granted_by(changes, self._by_id))
        return self._posed[key]


class MeasuredAsker(ProblemAsker):
    """Over a table of measured workers."""

    def __init__(self, problem: Problem, table: WorkerTable, node_sizes: Mapping[str, int], run: Run) -> None:
        """``table`` and ``node_sizes`` as `measured_case` reads them."""
        super().__init__(problem, run)
        self.table, self.node_sizes = table, node_sizes
        self._cases: dict[object, MeasuredCase] = {}

    @cached_property
    def limits(self) -> tuple[NamedLimit, ...]:
        """Latency, memory, buckets, market and what is given."""
        return measured_limits(self.problem, self.table, self.question)

    def question(self, changes: Changes) -> ChoiceProblem:
        """What the solver is asked."""
        return self.case(changes).problem

    def case(self, changes: Changes) -> MeasuredCase:
        """The question with the rows behind its options."""
        key = tuple(sorted(changes.items(), key=lambda item: item[0]))
        if key not in self._cases:
            problem = moved_memory(moved_slo(self.problem, changes), changes)
            self._cases[key] = measured_case(problem, self.table, self.node_sizes)
        return self._cases[key]


def granted_by(changes: Changes, limits: Mapping[str, NamedLimit]) -> Granted:
    """What changes of memory, formats and rules lift; ``limits`` by id."""
    off, memory = set(), {}
    for name, value in changes.items():
        if name.startswith("vram:"):
            limit = limits[name].value
            assert limit is not None
            memory[name.removeprefix("vram:")] = _ANY_MEMORY if value is None else float(value / limit)
        elif name.split(":")[0] not in (*METRICS, "power"):
            off.add(name)
    return Granted(frozenset(off), memory)


def moved_slo(problem: Problem, changes: Changes) -> Problem:
    """The problem with limits on latency moved; the statistics of one metric keep their proportions."""
    workloads = tuple(_with_slo(workload, changes) for workload in problem.workloads)
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
                moved[key] = None if factor is None else exact(Fraction(limit) * factor)
    if not moved:
        return workload
    return workload.model_copy(update={"slo": workload.slo.model_copy(update=moved)})


def moved_power(problem: Problem, changes: Changes) -> Problem:
    """The problem with its limit on power moved; where there is none, unknown power may be bought too."""
    if "power" not in changes:
        return problem
    value = changes["power"]
    limit = None if value is None else exact(value)
    return problem.model_copy(update={"fleet": problem.fleet.model_copy(update={"max_power": limit})})


def moved_memory(problem: Problem, changes: Changes) -> Problem:
    """The problem with other shares of memory that may be filled."""
    workloads = []
    for workload in problem.workloads:
        name = f"vram:{workload.name}"
        if name in changes:
            value = changes[name]
            own = workload.headroom or WorkloadHeadroom()
            free = Decimal(-int(_ANY_MEMORY)) if value is None else 1 - exact(value)
            workload = workload.model_copy(update={"headroom": own.model_copy(update={"memory": free})})
        workloads.append(workload)
    return problem.model_copy(update={"workloads": tuple(workloads)})
