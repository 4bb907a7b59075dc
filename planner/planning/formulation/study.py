"""A problem that is answered again and again: what does not change is computed once."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from planner.candidates.demand import spares
from planner.candidates.market import left_aside, power_counts
from planner.candidates.market import lots as market_lots
from planner.candidates.options import Placed, options, supplies
from planner.candidates.space import STAGES_RULE, WHOLE_SERVERS, rule_is_off
from planner.constraints import planning_rules
from planner.constraints.registry import admitted, verdicts
from planner.errors import Fault, InputError, input_error
from planner.loaders.set_path import line_of
from planner.loaders.yaml_source import Document
from planner.performance.division import LARGEST_ROOM
from planner.performance.pool_sizes import in_pool
from planner.performance.split import Split
from planner.planning.formulation.demands import limits as market_limits
from planner.planning.formulation.demands import pool_demand, refuse_unsupported, roles
from planner.planning.formulation.shape import places_matter
from planner.planning.workload.case import Case, Enumerated, Evaluated, Selected, prepare
from planner.planning.workload.evaluate import enumerated, evaluated, selected
from planner.planning.workload.memory_shares import with_shares
from planner.planning.workload.prefill_decode import disaggregated_options, split_evaluated
from planner.schema.candidates import BoolArray, Lot
from planner.schema.catalog_index import Catalog
from planner.schema.choice import ChoiceProblem, Coupling, Option
from planner.schema.evaluation import Evaluation
from planner.schema.problem import Problem
from planner.schema.rules import PlanningRule
from planner.schema.workload import Workload

_PARTS = ("api", "demand", "fleet", "objective", "redundancy", "start", "tier", "workload", "workloads")
_LISTS = {"tier": "tiers", "workload": "workloads"}
"""Of a part with a name, the list that it stands in."""
_INDEX = re.compile(r"\[(\d+)\]")
_NOT_PHYSICS = ("min_replicas", "redundancy")
_RATES = ("peak_rps", "mean_rps", "hourly_rps")
_AHEAD = 64.0
"""Pools up to that ratio of loads are evaluated together: the largest sizes count for all beyond them, so it
costs little more than one load."""
_Full = tuple[object, float, object]
"""The key of candidates, the factor on memory, and what else their evaluation depends on."""


@dataclass(frozen=True)
class Granted:
    """What an explanation lifts: constraints that no candidate is judged by, and memory of every GPU."""

    off: frozenset[str] = frozenset()
    """Ids of rules, ``precision:W`` and ``context:W``."""
    memory_factor: Mapping[str, float] = field(default_factory=dict)
    """Times the memory of every GPU, by workload."""
    weight_bits: Mapping[str, int] = field(default_factory=dict)
    """Bits that weights must have at least, by workload: the one thing that is asked for, not lifted."""

    def of(self, workload: str) -> frozenset[str]:
        """The ids as the candidates of one workload know them."""
        mine = {name.removesuffix(f":{workload}") for name in self.off if name.endswith(f":{workload}")}
        return frozenset(mine | {name for name in self.off if ":" not in name})


NOTHING = Granted()


@dataclass(frozen=True, eq=False)
class Formulation:
    """A problem in the solver's terms, with everything that its ids stand for."""

    problem: Problem
    lots: tuple[Lot, ...]
    rules: tuple[PlanningRule, ...]
    aside: Mapping[str, str]
    """Accelerators of the problem that are not considered, each with the fact that is not known."""
    cases: Mapping[str, Case]
    evaluated: Mapping[str, Evaluated | None]
    disaggregated: Mapping[str, Split | None]
    """Prefill and decode candidates, where they are searched."""
    found: Mapping[str, tuple[Option, Placed]]
    question: ChoiceProblem

    @property
    def evaluations(self) -> int:
        """Operating points that were evaluated."""
        parts = [part for part in self.evaluated.values() if part is not None]
        disaggregated = [split for split in self.disaggregated.values() if split is not None]
        return sum(part.evaluation.capacities.evaluations for part in parts) + sum(
            split.evaluations for split in disaggregated
        )


class Study:
    """Poses variants of one problem; candidates and their evaluation are kept between them."""

    def __init__(
        self,
        catalog: Catalog,
        rules: Sequence[PlanningRule],
        folder: Path,
        where: str = "problem",
        by_power: bool = False,
        ahead: bool = False,
        document: Document | None = None,
    ) -> None:
        """Nothing is computed yet.

        Args:
            catalog: what names stand for.
            rules: planning rules.
            folder: where the files lie that problems name.
            where: name of the problem in messages.
            by_power: plans are compared by their power, whatever the problem minimizes.
            ahead: many loads are asked about, so what a replica carries in larger pools is computed at once.
            document: the file of the problem, whose lines messages tell; None: it has none.
        """
        self.catalog, self.rules, self.folder, self.where = catalog, tuple(rules), folder, where
        self.by_power, self._ahead, self.document = by_power, ahead, document
        self._cases: dict[object, Case] = {}
        self._enumerated: dict[object, Enumerated] = {}
        self._selected: dict[object, Selected] = {}
        self._shared: dict[_Full, Selected] = {}
        self._evaluated: dict[object, Evaluated] = {}
        self._apart: dict[object, Split | None] = {}

    @cached_property
    def for_many_loads(self) -> Study:
        """The same for questions about one problem at many loads."""
        return Study(self.catalog, self.rules, self.folder, self.where, self.by_power, True, self.document)

    def placed(self, problems: InputError) -> InputError:
        """The same faults, each once; those of a part of the problem name its file, line and path too."""
        return InputError(dict.fromkeys(self._placed(fault) for fault in problems.faults))

    def _placed(self, fault: Fault) -> Fault:
        head, _, name = fault.where.partition(" ")
        if fault.where in (self.where, "problem"):
            owner = ""
        elif head.split("[")[0] in _PARTS:
            owner = f"{_LISTS.get(head, head)}.{name}" if name else head
        else:
            return fault
        path = _INDEX.sub(r".\1", f"{owner}.{fault.key}").strip(".")
        where = self.where if self.document is None else line_of(self.document, path)
        return replace(fault, where=where, key=path)

    def formulate(self, problem: Problem, granted: Granted = NOTHING) -> Formulation:
        """The question that a problem asks, without the constraints that are lifted.

        Raises:
            InputError: nothing can be bought, or something that this version does not search.
        """
        refuse_unsupported(problem, self.catalog.engine, self.where)
        lots, aside = self._market(problem)
        cases = {workload.name: self.case(workload, problem) for workload in problem.workloads}
        parts = {name: self.evaluated(case, problem, lots, granted) for name, case in cases.items()}
        wanted = roles(problem)
        disaggregated = {name: self.split(case, problem, lots, granted) for name, case in cases.items()}
        found: dict[str, tuple[Option, Placed]] = {}
        for name, part in parts.items():
            split = disaggregated[name]
            if part is not None and "serve" in wanted:
                found |= self._options(part, lots, problem, granted)
            if split is not None:
                whole = self.takes_whole_servers(cases[name], problem, granted)
                least = granted.weight_bits.get(name, 0)
                found |= disaggregated_options(
                    split, lots, self.active(problem), whole, granted.of(name), least
                )
        question = ChoiceProblem(
            options=tuple(option for option, _ in found.values()),
            supplies=supplies(lots),
            demands=tuple(
                pool_demand(case.workload, problem, case.peak_rps, Fraction(case.headroom.capacity), role)
                for case in cases.values()
                for role in wanted
            ),
            limits=market_limits(problem, tuple(lots), self.catalog.accelerator),
            couplings=tuple(Coupling(name, LARGEST_ROOM) for name in cases) if "prefill" in wanted else (),
        )
        return Formulation(
            problem, lots, self.active(problem), aside, cases, parts, disaggregated, found, question
        )

    def _market(self, problem: Problem) -> tuple[tuple[Lot, ...], Mapping[str, str]]:
        """What can be bought, and the accelerators left aside with the fact that is not known.

        Raises:
            InputError: nothing is left.
        """
        find = self.catalog.accelerator
        every = market_lots(problem.fleet, find, self.catalog.price_lists, places_matter(problem))
        by_power = self.by_power or power_counts(problem)
        aside = left_aside(problem.fleet, find, every, by_power)
        lots = tuple(lot for lot in every if lot.name not in aside)
        if lots:
            return lots, aside
        named = f" among {', '.join(aside)}" if aside else ""
        if every:
            raise input_error(
                self.where,
                "fleet",
                f"no accelerator with a rated power{named}, and power is limited or compared",
                "an accelerator whose catalog entry states power.tdp",
            )
        raise input_error(
            self.where,
            "fleet",
            f"no accelerator with a price{named}",
            "a price list, or fleet.prices for what you can buy",
        )

    def active(self, problem: Problem) -> tuple[PlanningRule, ...]:
        """The planning rules that the problem leaves on."""
        return planning_rules.active(self.rules, problem.search.rules_off)

    def case(self, workload: Workload, problem: Problem) -> Case:
        """A workload made ready."""
        fleet = problem.fleet
        stated = (
            fleet.headroom.model_dump_json(),
            fleet.memory_share,
            fleet.routing and fleet.routing.policy,
            fleet.max_utilization,
        )
        key = (workload.model_dump_json(), problem.confidence, *stated)
        if key not in self._cases:
            self._cases[key] = prepare(workload, problem, self.folder, self.catalog)
        return self._cases[key]

    def evaluated(
        self, case: Case, problem: Problem, lots: Sequence[Lot], granted: Granted = NOTHING
    ) -> Evaluated | None:
        """The candidates of a workload that formats, shape and rules admit, evaluated; None without any."""
        off = granted.of(case.workload.name)
        key = (self._key(case, problem, lots, off), tuple(sorted(off)))
        found = self._enumerate(key, case, problem, lots, off)
        return self._evaluate(key, ~found.barred(off), found, case, problem, granted)

    def split(
        self, case: Case, problem: Problem, lots: Sequence[Lot], granted: Granted = NOTHING
    ) -> Split | None:
        """Prefill and decode candidates of a workload, evaluated; None where they are not searched."""
        if "prefill" not in roles(problem):
            return None
        off = granted.of(case.workload.name)
        key = (self._key(case, problem, lots, off), tuple(sorted(off)))
        found = self._enumerate(key, case, problem, lots, off)
        keep = ~found.barred(off)
        if not keep.any():
            return None
        factor = granted.memory_factor.get(case.workload.name, 1.0)
        full = self._full(key, case, factor)
        if full not in self._apart:
            rules, sized = self.active(problem), replace(case, need_rps=self._need_rps(case))
            part = self._selection(full, keep, found, case)
            self._apart[full] = split_evaluated(sized, part, problem, rules, self.catalog, off, factor)
        known = self._apart[full]
        if known is None:
            return None
        sides = [replace(side, evaluation=_in_pool(side.evaluation, case, problem)) for side in known.sides]
        return replace(known, sides=tuple(sides))

    def everything(self, case: Case, problem: Problem, lots: Sequence[Lot]) -> Evaluated | None:
        """All candidates, those too that formats, shape or a rule exclude."""
        key = (self._key(case, problem, lots, ("*",)), ("*",))
        found = self._enumerate(key, case, problem, lots, ("*",))
        return self._evaluate(key, np.ones(len(found.candidates), dtype=bool), found, case, problem, NOTHING)

    def _enumerate(
        self, key: Any, case: Case, problem: Problem, lots: Sequence[Lot], off: Collection[str]
    ) -> Enumerated:
        shared = key[0]
        if shared not in self._enumerated:
            rules = self.active(problem)
            stages = [name for name in off if name == STAGES_RULE]
            self._enumerated[shared] = enumerated(
                case, problem, lots, rules, self.catalog, everything=bool(off), off=stages
            )
        return self._enumerated[shared]

    def _evaluate(
        self, key: Any, keep: Any, found: Enumerated, case: Case, problem: Problem, granted: Granted
    ) -> Evaluated | None:
        if not keep.any():
            return None
        factor = granted.memory_factor.get(case.workload.name, 1.0)
        full = self._full(key, case, factor)
        if full not in self._evaluated:
            rules, sized = self.active(problem), replace(case, need_rps=self._need_rps(case))
            part = self._selection(full, keep, found, case)
            self._evaluated[full] = evaluated(sized, found, part, problem.search, rules, factor)
        known = self._evaluated[full]
        evaluation = replace(known.evaluation, workload=case.workload, limits_s=case.limits_s)
        return replace(known, case=case, evaluation=_in_pool(evaluation, case, problem))

    def _full(self, key: object, case: Case, factor: float) -> _Full:
        """What the evaluation of candidates depends on: their key, and what a case asks of them."""
        limits, bursts = tuple(case.limits_s.items()), str(case.workload.demand.burstiness)
        return key, factor, (limits, bursts, self._need_rps(case))

    def _selection(self, full: _Full, keep: BoolArray, found: Enumerated, case: Case) -> Selected:
        """The candidates that rules admit, in either serving mode, with the shares of memory to try."""
        key, factor, _ = full
        if key not in self._selected:
            self._selected[key] = selected(found, keep)
        if full not in self._shared:
            self._shared[full] = with_shares(case, self._selected[key], factor)
        return self._shared[full]

    def _need_rps(self, case: Case) -> float:
        """The rate up to which pools are evaluated: that of the case, or the next power of `_AHEAD`."""
        if not self._ahead or not 0.0 < case.need_rps < math.inf:
            return case.need_rps
        return float(_AHEAD ** math.ceil(math.log(case.need_rps, _AHEAD)))

    def _key(self, case: Case, problem: Problem, lots: Sequence[Lot], off: Collection[str]) -> object:
        """What the candidates of a workload depend on, rates, limits and prices aside."""
        left_out: dict[str, Any] = dict.fromkeys(_NOT_PHYSICS, True)
        left_out |= {"slo": True, "demand": dict.fromkeys(_RATES, True)}
        return (
            case.workload.model_dump_json(exclude=left_out),
            case.length_class,
            (case.routing, case.prefill_routing),
            frozenset(name.split("_")[0] for name in case.limits_s),
            problem.confidence,
            (case.headroom.memory, case.memory_shares),
            case.headroom.capacity if case.traffic.reuse is not None else None,
            (str(problem.fleet.network), problem.fleet.network_latency),
            problem.search.model_dump_json(),
            tuple((lot.id, lot.accelerator.id, lot.unit_gpus, lot.group_limit_gpus) for lot in lots),
            bool(off),
            STAGES_RULE in off,
        )

    def _options(
        self, part: Evaluated, lots: Sequence[Lot], problem: Problem, granted: Granted
    ) -> dict[str, tuple[Option, Placed]]:
        """Every option of a workload that no constraint excludes."""
        whole = self.takes_whole_servers(part.case, problem, granted)
        kept = spares(part.case.workload, problem.fleet)
        bits = granted.weight_bits.get(part.case.workload.name, 0)
        mask = self.admitted(part, problem, granted) & part.evaluation.candidates.has_weight_bits(bits)
        return options(part.evaluation, lots, mask, whole, spares=kept)

    def admitted(self, part: Evaluated, problem: Problem, granted: Granted = NOTHING) -> BoolArray:
        """Candidates of a workload that no constraint excludes, the lifted ones aside."""
        off = granted.of(part.case.workload.name)
        judged = verdicts(part.evaluation, self.active(problem))
        return admitted(tuple(verdict for verdict in judged if verdict.id.split(":")[0] not in off))

    def takes_whole_servers(self, case: Case, problem: Problem, granted: Granted = NOTHING) -> bool:
        """A replica larger than one server takes whole servers."""
        off = granted.of(case.workload.name)
        return not rule_is_off(WHOLE_SERVERS, (*problem.search.rules_off, *off))


def _in_pool(evaluation: Evaluation, case: Case, problem: Problem) -> Evaluation:
    """With what replicas carry in a pool that carries the busiest hour."""
    least = case.workload.min_replicas or problem.fleet.min_replicas
    return in_pool(evaluation, case.need_rps, least)
