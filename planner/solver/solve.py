"""From a choice problem to a proved choice."""

from __future__ import annotations

import time
from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from planner.constraints.choice_check import bill, broken
from planner.schema.choice import Choice, ChoiceProblem, Limits, LossShares, Option, Pool, Share
from planner.solver.covers import Pooled, by_pool
from planner.solver.dominance import pruned

if TYPE_CHECKING:
    from planner.solver.model import FleetModel, Money
    from planner.solver.search import Outcome, Point


def solve(
    problem: ChoiceProblem, *, time_limit_s: float | None = None, seed: int = 0, workers: int = 1
) -> Choice:
    """The cheapest replicas that carry every demand within all limits.

    Status ``optimal`` is proved; ``feasible`` was cut by the time limit and carries its bound and gap;
    ``unknown`` was cut before any answer; ``infeasible`` is confirmed by a second search without presolve.

    Raises:
        InputError: a form of spares or packing that cannot be sized exactly.
    """
    deadline_s = None if time_limit_s is None else time.monotonic() + time_limit_s
    unserved = _unservable(problem)
    if unserved:
        return Choice("infeasible", in_the_way=unserved)
    # Imported here: ortools takes a second to load, which commands without a search need not pay.
    from planner.solver.model import FleetModel, refuse_unsupported
    from planner.solver.search import Search

    refuse_unsupported(problem)
    model = FleetModel(problem, _pools(problem)).build()
    _warm(model)
    search = Search(model, deadline_s, seed, workers)
    objective, further = _objectives(model)
    outcome = search.minimize(objective)
    if outcome.point is None:
        if outcome.status == "infeasible":
            return Choice("infeasible", in_the_way=_limit_ids(problem.limits), exact=model.exact)
        return Choice("unknown", exact=model.exact)
    point, settled = outcome.point, False
    if outcome.status == "optimal":
        assert outcome.value is not None
        search.hold(objective, outcome.value)
        point, settled = search.settle_ties(point, further)
    return _answer(problem, model, outcome, point, settled)


def _unservable(problem: ChoiceProblem) -> tuple[str, ...]:
    """Buckets with demand that no option serves."""
    best: dict[Pool, list[bool]] = {}
    for option in problem.options:
        able = best.setdefault(option.pool, [False] * len(option.rates_rps))
        best[option.pool] = [old or rate > 0 for old, rate in zip(able, option.rates_rps, strict=True)]
    ids = []
    for demand in problem.demands:
        able = best.get(demand.pool, [False] * len(demand.demand_rps))
        for name, served, need in zip(demand.buckets, able, demand.demand_rps, strict=True):
            if need > 0 and not served:
                ids.append(f"unservable:{demand.workload}/{name}")
    return tuple(dict.fromkeys(ids))


def _pools(problem: ChoiceProblem) -> list[Pooled]:
    grouped: dict[Pool, list[Option]] = defaultdict(list)
    for option in pruned(problem):
        grouped[option.pool].append(option)
    return by_pool(problem.demands, grouped)


def _warm(model: FleetModel) -> None:
    """The strongest row of the relaxation, where a pool has several buckets."""
    from planner.solver.warm import relaxed_cover

    supplies = {supply.id: supply for supply in model.problem.supplies}
    for pool in model.pools:
        if pool.demand.mix and len(pool.needs) > 1:
            cover = relaxed_cover(pool, supplies, model.problem.limits)
            if cover is not None:
                model.post_cover(pool, cover)


def _objectives(model: FleetModel) -> tuple[Any, list[Any]]:
    """The objective, and those that settle ties: cost, GPUs bought, number of different options."""
    distinct = lambda: sum(model.is_used(o) for pool in model.pools for o in pool.options)  # noqa: E731
    if model.problem.limits.objective == "gpus":
        return model.gpus, [model.cost.expr, distinct]
    if model.problem.limits.objective == "power":
        return model.power.expr, [model.cost.expr, model.gpus, distinct]
    return model.cost.expr, [model.gpus, distinct]


def _limit_ids(limits: Limits) -> tuple[str, ...]:
    ids = [f"stock:{gpu}" for gpu in sorted(limits.stock_gpus)]
    if limits.budget_usd_per_h is not None:
        ids.append("budget")
    if limits.max_gpus is not None:
        ids.append("max-gpus")
    return tuple(ids)


def _answer(
    problem: ChoiceProblem, model: FleetModel, outcome: Outcome, point: Point, settled: bool
) -> Choice:
    shares: list[Share] = []
    after_loss: list[LossShares] = []
    for pool in model.pools:
        counts = [point.counts.get(option.id, 0) for option in pool.options]
        shares.extend(pool.shares(counts))
        after_loss.extend(pool.loss_shares(counts))
    total = bill(problem, point.counts, point.units)
    value = {
        "cost": total.cost_usd_per_h,
        "gpus": Fraction(sum(total.gpus.values())),
        "power": total.power_w,
    }[problem.limits.objective]
    money = {"cost": model.cost, "power": model.power}.get(problem.limits.objective)
    bound = (
        value
        if outcome.status == "optimal" and (money is None or money.exact)
        else _bound(outcome, money, value)
    )
    choice = Choice(
        status="optimal" if outcome.status == "optimal" else "feasible",
        counts=dict(sorted(point.counts.items())),
        units=dict(sorted(point.units.items())),
        shares=tuple(shares),
        loss_shares=tuple(after_loss),
        gpus=total.gpus,
        cost_usd_per_h=total.cost_usd_per_h,
        power_w=total.power_w,
        value=value,
        lower_bound=bound,
        gap=(value - bound) / value if value else Fraction(0),
        exact=model.exact and (money is None or money.exact),
        ties_settled=settled,
    )
    faults = broken(problem, choice)
    if faults:
        raise RuntimeError("the solver's answer breaks " + "; ".join(faults))
    return choice


def _bound(outcome: Outcome, money: Money | None, value: Fraction) -> Fraction:
    """The proved bound, back from the integer grid; rounding up of prices is taken off."""
    if outcome.bound is None:
        return Fraction(0)
    if money is None:
        return min(value, Fraction(outcome.bound))
    return max(Fraction(0), min(value, outcome.bound / money.grid - money.excess))
