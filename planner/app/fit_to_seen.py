"""The fleet of a plan with its load and step times fitted to what production shows, or why that cannot be.

Free are one factor on all step times, within bounds, and the rate where none was observed. What else was seen
is held against the prediction: where it departs, the cause is not in the model, and its prices would mislead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from planner import numbers
from planner.app.deployment import (
    Deployment,
    capacity_by_role_rps,
    demand,
    no_limits,
    planned_p99_s,
    replicas_by_role,
    solved,
)
from planner.app.loaded_problem import LoadedProblem
from planner.schema.calibration import Parameter, UserFactor
from planner.schema.catalog import Judgment
from planner.schema.catalog_index import Catalog
from planner.schema.held_plan import PlanFit, Reproduced
from planner.schema.metrics import METRICS
from planner.schema.pool import Pool
from planner.schema.readings import Reading

_ANCHORS = ("itl_p50_s", "itl_mean_s", "batch_mean", "ttft_p50_s", "ttft_mean_s")
"""What the factor is fitted to, the first that was observed: tails say more of the traffic than of steps."""
_HELD = (*_ANCHORS, "itl_p99_s", "ttft_p99_s")
_GROWTH = "queue_growth_per_s"
_SIGMA_LOG = 0.1
"""Of the factor; it moves nothing, since a fitted model is asked for its mean."""
_ROUNDS = 10
_NEAR = 0.02

Seen = Mapping[str, Reading]


def fitted(at: Deployment) -> tuple[Deployment, PlanFit | None]:
    """The deployment with the load and the step times that reproduce what was seen.

    None where there is nothing to fit: no load was observed, nothing that would follow from it, or the plan
    rests on measured workers.
    """
    growing = _is_growing(at)
    seen = _seen(at, growing)
    can_move = not at.rate_is_observed and bool(demand(at, at.rate_rps))
    by_batch = can_move and "batch_mean" in seen and not growing
    if not (at.rate_is_observed or by_batch) or not (seen or growing):
        return at, None
    if at.stated("model") is None or at.pools[0].evidence == "measured":
        return at, None
    model = _Model(at)
    factor, rate = _both(model, seen) if by_batch else (_factor(model, seen, growing), at.rate_rps)
    found = model.at(factor, rate)
    held = [*_held(model, seen, factor, rate), *(_growth(model, at, factor) if growing else ())]
    missed = [one for one in held if not one.holds]
    return found, PlanFit(
        step_factor=factor,
        rate_from="batch_mean" if by_batch else "request_rate_rps",
        measures=tuple(held),
        reproduced=not missed,
        why=_why(missed, model.bounds) if missed else "",
    )


def _seen(at: Deployment, growing: bool) -> Seen:
    """What is held against the prediction; while a queue grows, first tokens wait as long as it has grown."""
    found = {name: at.known.get(name) for name in _HELD if not (growing and name.startswith("ttft"))}
    return {name: one for name, one in found.items() if isinstance(one, Reading) and one.value > 0}


def _is_growing(at: Deployment) -> bool:
    growth = at.known.get(_GROWTH)
    return isinstance(growth, Reading) and growth.low > 0


class _Model:
    """The fleet's prediction by step factor and rate."""

    def __init__(self, at: Deployment) -> None:
        # The mean is asked: a margin for what is not known has no place beside what was seen.
        self.base = replace(at, changes=at.changes | {"confidence": "50 %"}, plans={})
        self.tolerances = _tolerances(at.session.catalog)
        step = self.tolerances["step_factor"]
        self.bounds = step.low, step.high
        self._made: dict[float, Deployment] = {}

    def at(self, factor: float, rate_rps: float) -> Deployment:
        """The deployment with slower or faster steps, at a rate."""
        if factor not in self._made:
            self._made[factor] = replace(self.base, session=_slowed(self.base, factor), plans={})
        made = self._made[factor]
        return replace(made, rate_rps=rate_rps, changes=made.changes | demand(made, rate_rps))

    def look(self, factor: float, rate_rps: float) -> tuple[tuple[Pool, ...], bool]:
        """The pools at a rate, and whether their queues have an end; none where nothing can run."""
        at = self.at(factor, rate_rps)
        plan = solved(at, no_limits(at))
        if isinstance(plan, str) or not plan.pools:
            return (), False
        needed = replicas_by_role(plan).items()
        return tuple(plan.pools), all(need <= at.present.get(role, 0) for role, need in needed)

    def predicted(self, name: str, factor: float, rate_rps: float) -> float:
        """One measure. Beyond capacity the batch is full, and a first token waits without end."""
        pools, stable = self.look(factor, rate_rps)
        if not pools or (name.startswith("ttft") and not stable):
            return math.inf
        if name == "batch_mean" and not stable:
            return float(max(pool.max_batch for pool in pools))
        return _measure(pools, name)

    def use_ratio(self, factor: float) -> float:
        """The rate over what the fleet carries within its limits."""
        at = self.at(factor, self.base.rate_rps)
        plan = solved(at, {})
        if isinstance(plan, str) or not plan.pools:
            return math.inf
        return at.rate_rps / min(capacity_by_role_rps(plan, at.present).values())


def _tolerances(catalog: Catalog) -> Mapping[str, Parameter]:
    entry = catalog.find("judgment", "priced-actions")
    assert isinstance(entry, Judgment)
    return entry.parameters


def _slowed(at: Deployment, factor: float) -> LoadedProblem:
    """The same problem with a factor on the steps of every accelerator of the fleet."""
    old, catalog = at.session, at.session.catalog
    calibration = catalog.calibration
    factors = [_user_factor(catalog, pool, factor) for pool in {pool.gpu: pool for pool in at.pools}.values()]
    changed = calibration.model_copy(update={"user_factors": (*factors, *calibration.user_factors)})
    entries = {**catalog.by_folder["calibration"], catalog.calibration_id: changed}
    slower = replace(catalog, by_folder={**catalog.by_folder, "calibration": entries})
    return LoadedProblem(old.stated, old.values, old.folder, slower, old.rules, old.where, old.inside)


def _user_factor(catalog: Catalog, pool: Pool, factor: float) -> UserFactor:
    """Beside a factor of the user's own benchmarks for the same configuration it multiplies that one."""
    of_pool = {"models": pool.model, "accelerators": pool.gpu, "engines": pool.engine}
    names = tuple(getattr(catalog.find(kind, name), "id", name) for kind, name in of_pool.items())
    for known in catalog.calibration.user_factors:
        if (known.model, known.accelerator, known.engine) == names and known.weights in (None, pool.weights):
            weights = {"weights": pool.weights, "step_factor": known.step_factor * factor}
            return known.model_copy(update=weights)
    return UserFactor(
        model=names[0],
        accelerator=names[1],
        engine=names[2],
        weights=pool.weights,
        step_factor=factor,
        sigma_log=_SIGMA_LOG,
        ttft_sigma_log=_SIGMA_LOG,
        rows=1,
        source="observation",
    )


def _measure(pools: tuple[Pool, ...], name: str) -> float:
    """A measure of the fleet: of latencies the largest of its pools, running requests per replica."""
    if name == "batch_mean":
        of = [pool for pool in pools if pool.role != "prefill"]
        running = sum((pool.concurrency or 0.0) * pool.replicas for pool in of)
        return running / sum(pool.replicas for pool in of)
    metric, statistic, _ = name.split("_")
    if statistic == "p99":
        return planned_p99_s(pools, f"{metric}_s") or math.inf
    return max(float(getattr(pool, f"{metric}_s").get(statistic, 0.0)) for pool in pools)


def _factor(model: _Model, seen: Seen, growing: bool) -> float:
    """The factor at the observed rate."""
    anchor = next((name for name in _ANCHORS if name in seen), None)
    if anchor is not None:
        rate = model.base.rate_rps
        return _solve(lambda factor: model.predicted(anchor, factor, rate), seen[anchor].value, model.bounds)
    if growing and model.use_ratio(1.0) <= 1.0:
        return _solve(model.use_ratio, 1.0 + 2 * _NEAR, model.bounds)
    return 1.0


def _solve(value: Callable[[float], float], target: float, bounds: tuple[float, float]) -> float:
    """The factor at which a rising measure meets its target, within bounds: secants, else bisection."""
    (low, high), factor, tried = bounds, 1.0, set[float]()
    for _ in range(_ROUNDS):
        got = value(factor)
        if 0 < got < math.inf and abs(math.log(target / got)) <= _NEAR:
            break
        tried.add(factor)
        low, high = (low, factor) if got > target else (factor, high)
        if low >= high:
            break
        guess = factor * target / got if 0 < got < math.inf else low
        factor = min(max(guess, low), high)
        if factor in tried:
            factor = math.sqrt(low * high)
    return factor


def _both(model: _Model, seen: Seen) -> tuple[float, float]:
    """Factor and rate: steps by the gaps between tokens, the rate by the running requests (Little's law)."""
    anchor = next((name for name in ("itl_p50_s", "itl_mean_s") if name in seen), None)
    factor, rate, target = 1.0, model.base.rate_rps, seen["batch_mean"].value
    stable, endless = 0.0, math.inf
    for _ in range(_ROUNDS):
        if not model.look(factor, rate)[1]:
            endless = rate
            rate = math.sqrt(stable * endless) if stable else rate / 2
            continue
        stable = rate
        more = target / max(model.predicted("batch_mean", factor, rate), 1e-9)
        slower = 1.0 if anchor is None else seen[anchor].value / model.predicted(anchor, factor, rate)
        if max(abs(math.log(more)), abs(math.log(slower))) <= _NEAR:
            return factor, rate
        # The same requests run at a lower rate where each takes longer.
        rate *= more / slower
        if slower != 1.0:
            factor = min(max(factor * slower, model.bounds[0]), model.bounds[1])
            stable, endless = 0.0, math.inf
        elif rate >= endless:
            rate = math.sqrt(stable * endless)
    # A batch as good as full is that of a fleet at its end, or beyond it.
    ends = [
        (one, model.predicted("batch_mean", factor, one)) for one in (stable, endless) if 0 < one < math.inf
    ]
    return factor, min(ends, key=lambda end: abs(math.log(target / end[1])))[0] if ends else rate


def _held(model: _Model, seen: Seen, factor: float, rate: float) -> Iterator[Reproduced]:
    for name, reading in seen.items():
        middle = "first_token_within" if name.startswith("ttft") else "reproduced_within"
        within = model.tolerances["tail_within" if "_p99" in name else middle].value
        got = model.predicted(name, factor, rate)
        holds = reading.low / (1 + within) <= got <= reading.high * (1 + within)
        shown = got if math.isfinite(got) else None
        yield Reproduced(metric=name, seen=reading.value, predicted=shown, within_ratio=within, holds=holds)


def _growth(model: _Model, at: Deployment, factor: float) -> Iterator[Reproduced]:
    """A queue grows where the rate is beyond what the fleet carries."""
    growth = at.known[_GROWTH]
    assert isinstance(growth, Reading)
    use = model.use_ratio(factor)
    more = at.rate_rps * max(0.0, 1 - 1 / use)
    yield Reproduced(metric=_GROWTH, seen=growth.value, predicted=more, within_ratio=1.0, holds=use > 1.0)


def _why(missed: list[Reproduced], bounds: tuple[float, float]) -> str:
    """The measure that is furthest off, in words."""

    def off(one: Reproduced) -> float:
        return abs(math.log(one.seen / one.predicted)) if one.predicted else math.inf

    worst = max(missed, key=off)
    unit = METRICS[worst.metric].unit
    got = "without end" if worst.predicted is None else numbers.quantity(worst.predicted, unit)
    return (
        f"{worst.metric}: predicted {got}, seen {numbers.quantity(worst.seen, unit)}, with step times taken "
        f"{bounds[0]:g} to {bounds[1]:g} times the model's"
    )
