"""How sure a cost is: the chosen layouts sized for step times one standard deviation off, and runners-up."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from planner.planning.documents.pool_document import PoolCase
from planner.planning.documents.pools import FleetPool
from planner.planning.documents.resizing import Layout, capacity_ratios, layouts, need_of
from planner.planning.formulation.fleet_case import FleetCase
from planner.planning.workload.resized import Sizing, serving_ratios
from planner.schema.catalog import Calibration
from planner.schema.compared import RunnerUp
from planner.schema.fleet import FleetChoice
from planner.schema.safety import CostError

FASTER, SLOWER = (Sizing(NormalDist().cdf(z_score)) for z_score in (-1.0, 1.0))
"""Step times one standard deviation below and above their median."""
_NONE = Fraction(0)
_ALIKE = 1e-9


@dataclass(frozen=True, eq=False)
class Spread:
    """The error of a plan's cost, with what comparisons with other plans need."""

    error: CostError
    by_gpu: Mapping[str, float]
    """What the errors of each accelerator add to the logarithm of the cost."""


def cost_spread(
    case: FleetCase,
    choice: FleetChoice,
    pools: Sequence[FleetPool],
    cases: Sequence[PoolCase],
    calibration: Calibration,
) -> Spread | None:
    """The range of a plan's cost; None for tables of measured workers.

    Equation: ``sigma = ln(C(+1) / C(-1)) / 2`` with ``C(z) = sum of cost / ratio(z)`` over the layouts, where
    ``ratio`` is what one replica carries over what it carries in the plan.

    Args:
        case: the question.
        choice: its answer.
        pools: of the answer.
        cases: what is behind each pool.
        calibration: spreads of step times.
    """
    if case.formulation is None or not pools:
        return None
    mine = layouts(case, choice, pools, cases)
    faster, slower = (capacity_ratios(case, pools, cases, how, calibration) for how in (FASTER, SLOWER))
    if not all(ratio > 0.0 for ratio in slower.values()):
        # Slower by so much, a layout does not keep its limits at any load: there is no such fleet.
        return None
    plan = choice.cost_usd / case.question.periods
    fixed = plan - _bought_usd_per_h(case, choice, mine, dict.fromkeys(mine, 1.0))
    low, high = (fixed + _bought_usd_per_h(case, choice, mine, ratios) for ratios in (faster, slower))
    quick, slow = (_smooth_usd(mine, ratios) for ratios in (faster, slower))
    sigma = _sigma_log(sum(quick.values()), sum(slow.values()))
    whole = math.sqrt(sum(quick.values()) * sum(slow.values()))
    parts = {
        gpu: _sigma_log(quick[gpu], slow[gpu]) * math.sqrt(quick[gpu] * slow[gpu]) / whole if whole else 0.0
        for gpu in quick
    }
    return Spread(
        CostError(low_usd_per_hour=float(low), high_usd_per_hour=float(high), sigma_log=sigma), parts
    )


def _smooth_usd(mine: Mapping[str, Layout], ratios: Mapping[str, float]) -> dict[str, float]:
    """Cost by type of GPU if parts of replicas could be bought."""
    found: dict[str, float] = defaultdict(float)
    for name, layout in mine.items():
        found[layout.gpu] += float(layout.usd_per_replica_h * sum(layout.busy)) / ratios[name]
    return found


def _sigma_log(quick: float, slow: float) -> float:
    """Half the logarithm of what costs more at slower steps."""
    return math.log(slow / quick) / 2.0 if quick > 0.0 else 0.0


def _bought_usd_per_h(
    case: FleetCase, choice: FleetChoice, mine: Mapping[str, Layout], ratios: Mapping[str, float]
) -> Fraction:
    """What the layouts' GPUs cost where a replica carries so much, in units of what is sold.

    Replicas beyond the plan's bare need (spares) stay as many as they are.
    """
    needs: dict[str, list[Fraction]] = {}
    for name, layout in mine.items():
        before = needs.setdefault(layout.host, [_NONE] * len(layout.counts))
        sized = zip(layout.counts, layout.needed(), layout.needed(ratios[name]), strict=True)
        counts = [now + max(0, count - least) for count, least, now in sized]
        needs[layout.host] = [
            gpus + layout.own_gpus * count for gpus, count in zip(before, counts, strict=True)
        ]
    units = {line.host: line.unit_gpus for line in case.question.lines}
    prices = _usd_per_gpu_h(case, choice)
    total = _NONE
    for host, gpus in needs.items():
        units_h = sum(math.ceil(one / units[host]) for one in gpus)
        total += prices[host] * units[host] * units_h / len(gpus)
    return total


def _usd_per_gpu_h(case: FleetCase, choice: FleetChoice) -> dict[str, Fraction]:
    """By host: what the plan pays for an hour of a GPU, over all periods and lines."""
    usd: dict[str, Fraction] = defaultdict(Fraction)
    hours: dict[str, int] = defaultdict(int)
    for period in choice.periods:
        for line in case.question.lines:
            count = period.bought.get(line.id, 0)
            usd[line.host] += line.usd_per_gpu_h * count
            hours[line.host] += count
    return {host: usd[host] / count for host, count in hours.items() if count}


def with_errors(
    case: FleetCase,
    runners: Sequence[RunnerUp],
    spread: Spread | None,
    usd_per_hour: float,
    calibration: Calibration,
) -> tuple[RunnerUp, ...]:
    """Runners-up with the error of their cost over that of the plan.

    Equation: ``sqrt((s - p_a)^2 + sum of p_b^2)``, s the runner-up's on its accelerator a, p_a and p_b the
    plan's parts on that and on others: errors of unlike accelerators are independent, those on one are common
    to all layouts (see `planner.schema.calibration.UserFactor`).

    Args:
        case: the question.
        runners: plans of one option of aggregated serving.
        spread: of the plan.
        usd_per_hour: what the plan costs.
        calibration: spreads of step times.
    """
    by_cost = case.question.limits.objective == "cost"
    if spread is None or case.formulation is None or not runners or not by_cost or usd_per_hour <= 0.0:
        return tuple(runners)
    placed = {
        option.label: place for option, place in case.formulation.found.values() if place.role == "serve"
    }
    known = [runner for runner in runners if runner.option in placed]
    part = case.formulation.evaluated[placed[known[0].option].workload] if known else None
    if part is None:
        return tuple(runners)
    indices = [placed[runner.option].configuration for runner in known]
    search = case.formulation.problem.search
    need = need_of(part.case, case.problem.fleet, FASTER)
    faster, slower = (
        serving_ratios(part, indices, how, need, calibration, search) for how in (FASTER, SLOWER)
    )
    found = {}
    for runner, quick, slow in zip(known, faster, slower, strict=True):
        if slow <= 0.0:
            continue
        others = {gpu: part for gpu, part in spread.by_gpu.items() if gpu != runner.gpu}
        common = spread.by_gpu.get(runner.gpu, 0.0)
        error = math.hypot(_sigma_log(slow, quick) - common, *others.values())
        # The same layout elsewhere errs alike: what floats leave is no error.
        error = error if error > _ALIKE else 0.0
        apart = abs(math.log(runner.cost_usd_per_hour / usd_per_hour))
        found[runner.option, runner.gpu] = runner.model_copy(
            update={"error": error, "within_error": apart < error}
        )
    return tuple(found.get((runner.option, runner.gpu), runner) for runner in runners)
