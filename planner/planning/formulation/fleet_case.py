"""A fleet problem formulated: the question with everything that its ids stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from planner.candidates.measured import measured_case
from planner.loaders.traces import named_trace
from planner.performance.measured_view import ONE_BUCKET, shares_of
from planner.planning.formulation.hours import arriving_rps, periods_of, with_rates
from planner.planning.formulation.length_class import LengthClasses
from planner.planning.formulation.length_classes import by_class
from planner.planning.formulation.links import by_place, links_of, measured_over_link, over_link
from planner.planning.formulation.market import shadow
from planner.planning.formulation.question import fleet_question
from planner.planning.formulation.starting import starts_are_paid, with_starts
from planner.planning.formulation.study import NOTHING, Formulation, Granted, Study
from planner.planning.formulation.suppliers import apis_of
from planner.planning.formulation.tokens import RequestTokens, at_one_rps, stated_tokens
from planner.schema.catalog_index import Catalog
from planner.schema.choice import ChoiceProblem, Option
from planner.schema.fleet import FleetProblem, Site
from planner.schema.problem import Problem
from planner.schema.workers import MeasuredCase, WorkerTable
from planner.schema.workload import Workload


@dataclass(frozen=True, eq=False)
class FleetCase:
    """One fleet question."""

    problem: Problem
    """As the user states it, with its tiers settled."""
    question: FleetProblem
    peaks_rps: Mapping[str, Fraction]
    """Rate of the busiest hour, by workload; of work that may wait its mean. Without headroom."""
    means_rps: Mapping[str, Fraction]
    """Mean rate, by workload."""
    tokens: Mapping[str, Mapping[str, RequestTokens] | None]
    """By workload and bucket; None where nobody states lengths."""
    carried: Mapping[str, Fraction]
    """By workload, what really comes over what replicas are sized for: without headroom, and with one period
    at the mean rate."""
    formulation: Formulation | None = None
    """Behind predicted options."""
    measured: MeasuredCase | None = None
    """Behind options of a table."""
    warnings: tuple[str, ...] = field(default=())
    classes: Mapping[str, LengthClasses] = field(default_factory=dict)
    """Of predicted workloads with several length classes."""
    mixed: Mapping[tuple[str, str], Fraction] = field(default_factory=dict)
    """By workload and configuration the factor by which rates are lowered where length classes mix."""
    linked: Mapping[str, Formulation] = field(default_factory=dict)
    """Behind predicted options that work over a link between places, by the name of both."""
    settled: FleetProblem | None = None
    """The question with more demand in hours in which small pools carry less, where that was answered."""
    alone: frozenset[str] = frozenset()
    """Workloads whose pools serve one length class each."""

    def behind(self, option: Option) -> Formulation | None:
        """The formulated problem that a predicted option comes from; None for one of a table."""
        return self.linked.get(option.place, self.formulation)


def predicted_fleet(
    study: Study, problem: Problem, today_gpus: Mapping[str, int], granted: Granted = NOTHING
) -> FleetCase:
    """The fleet over the performance model.

    Raises:
        InputError: as `Study.pose`, and suppliers or work by the token without lengths.
    """

    def written(workload: Workload) -> float:
        return study.case(at_one_rps(workload), problem).traffic.output_mean_tokens

    rated = shadow(with_rates(problem, written))
    classed = by_class(study, rated, granted)
    formulation = classed.formulation
    peaks = {name: case.peak_rps for name, case in formulation.cases.items()}
    means = {name: case.mean_rps for name, case in formulation.cases.items()}
    tokens: dict[str, Mapping[str, RequestTokens] | None] = {}
    for name, case in formulation.cases.items():
        found = case.traffic
        cached = found.input_mean_tokens - min(found.prefill_mean_tokens, found.input_mean_tokens)
        one = RequestTokens(found.input_mean_tokens, cached, found.output_mean_tokens)
        tokens[name] = classed.tokens(name) or {ONE_BUCKET: one}
    places = {
        lot.id: Site(lot.offer.provider, lot.offer.region)
        for lot in formulation.lots
        if lot.offer is not None
    }
    carried = _carried(problem, peaks, means)
    slices = {lot.id: (lot.whole, lot.slices) for lot in formulation.lots if lot.slices > 1}
    arriving = _arriving(problem, written)
    linked = [study.formulate(over_link(rated, link), granted) for link in links_of(problem)]
    if starts_are_paid(problem):
        formulation, linked = (
            with_starts(formulation, study.catalog),
            [with_starts(one, study.catalog) for one in linked],
        )
    question = _question(
        study.catalog, problem, formulation.question, peaks, carried, tokens, places, today_gpus, slices,
        arriving, [one.question for one in linked],
    )  # fmt: skip
    return FleetCase(
        problem,
        question,
        peaks,
        means,
        tokens,
        carried,
        formulation=formulation,
        warnings=classed.remarks,
        classes=classed.classes,
        linked=by_place(question, problem, linked),
    )


def measured_fleet(
    study: Study,
    problem: Problem,
    table: WorkerTable,
    node_sizes: Mapping[str, int],
    today_gpus: Mapping[str, int],
) -> FleetCase:
    """The fleet over a table of measured workers.

    Raises:
        InputError: as `measured_case`, and suppliers or work by the token without lengths.
    """
    tokens: dict[str, Mapping[str, RequestTokens] | None] = {}
    for workload in problem.workloads:
        named = workload.lengths.trace if workload.lengths is not None else None
        trace = named_trace(named, study.folder) if named is not None else None
        tokens[workload.name] = stated_tokens(workload, shares_of(table, workload), trace)

    def written(workload: Workload) -> float | None:
        found = tokens[workload.name]
        if found is None:
            return None
        shares = shares_of(table, workload)
        return sum(found[name].output_tokens * float(share) for name, share in shares.items())

    rated = shadow(with_rates(problem, written))
    case = measured_case(rated, _priced_by_supply(problem, table), node_sizes)
    peaks = {}
    for demand in case.problem.demands:
        workload = next(w for w in problem.workloads if w.name == demand.workload)
        headroom = Fraction(problem.fleet.headroom_of(workload).capacity)
        peaks[demand.workload] = sum(demand.demand_rps, Fraction(0)) / (1 + headroom)
    means = {name: _stated_mean(problem, name, peak) for name, peak in peaks.items()}
    carried = _carried(problem, peaks, means)
    arriving = _arriving(problem, written)
    linked = [measured_over_link(problem, case.problem, link, study.catalog) for link in links_of(problem)]
    question = _question(
        study.catalog, problem, case.problem, peaks, carried, tokens, {}, today_gpus, None, arriving, linked
    )
    lines = case.warnings
    if problem.search.length_classes != "one":
        lines = (*lines, "search.length_classes is not read: the classes are the buckets of the table")
    if problem.fleet.memory_share is not None:
        lines = (*lines, "fleet.memory_share is not read: the table says what its workers fill")
    return FleetCase(problem, question, peaks, means, tokens, carried, measured=case, warnings=lines)


def _priced_by_supply(problem: Problem, table: WorkerTable) -> WorkerTable:
    """Rows of GPUs that the supply names have its prices, not their own."""
    named = problem.fleet.supplied
    rows = tuple(replace(row, usd_per_hour=None) if row.gpu in named else row for row in table.rows)
    return replace(table, rows=rows)


def _stated_mean(problem: Problem, name: str, peak_rps: Fraction) -> Fraction:
    demand = next(w for w in problem.workloads if w.name == name).demand
    if demand.mean_rps is not None:
        return Fraction(demand.mean_rps)
    if demand.hourly_rps is not None:
        return sum(map(Fraction, demand.hourly_rps), Fraction(0)) / len(demand.hourly_rps)
    return peak_rps


def _arriving(problem: Problem, output_tokens: Callable[[Workload], float | None]) -> dict[str, Fraction]:
    """Mean rates of work that may wait, before any rounding."""
    rates = {workload.name: arriving_rps(workload, output_tokens) for workload in problem.workloads}
    return {name: rate for name, rate in rates.items() if rate is not None}


def _carried(
    problem: Problem, peaks_rps: Mapping[str, Fraction], means_rps: Mapping[str, Fraction]
) -> dict[str, Fraction]:
    found = {}
    for workload in problem.workloads:
        headroom = Fraction(problem.fleet.headroom_of(workload).capacity)
        name = workload.name
        # With one period the fleet is sized at the peak, and suppliers are paid at the mean.
        part = means_rps[name] / peaks_rps[name] if periods_of(problem) == 1 else Fraction(1)
        found[name] = part / (1 + headroom)
    return found


def _question(
    catalog: Catalog,
    problem: Problem,
    question: ChoiceProblem,
    peaks_rps: Mapping[str, Fraction],
    carried: Mapping[str, Fraction],
    tokens: Mapping[str, Mapping[str, RequestTokens] | None],
    places: Mapping[str, Site],
    today_gpus: Mapping[str, int],
    slices: Mapping[str, tuple[str, int]] | None = None,
    arriving: Mapping[str, Fraction] | None = None,
    linked: Sequence[ChoiceProblem] = (),
) -> FleetProblem:
    found = fleet_question(
        catalog, problem, question, peaks_rps, places, (), today_gpus, slices, arriving, linked,
        paid_starts=starts_are_paid(problem),
    )  # fmt: skip
    return replace(found, apis=apis_of(catalog, problem, found.demands, carried, tokens))
