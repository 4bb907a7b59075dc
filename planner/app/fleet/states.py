"""The limits of a fleet with their values: what binds in some hour, and how much room is left."""

from __future__ import annotations

from fractions import Fraction

from planner.app.states import limit_state
from planner.constraints.fleet_check import FleetBill, bill
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.plan import ConstraintState


def fleet_states(problem: FleetProblem, choice: FleetChoice) -> list[ConstraintState]:
    """Stock, quotas, supply, budgets, GPUs, power and changes, each in its fullest period."""
    paid = bill(problem, choice.periods)
    return [
        *_of_gpus(problem, choice, paid),
        *_of_lines(problem, choice),
        *_of_money(problem, paid),
    ]


def _of_gpus(problem: FleetProblem, choice: FleetChoice, paid: FleetBill) -> list[ConstraintState]:
    limits = problem.limits
    states = []
    for gpu, stock in limits.stock_gpus.items():
        most = max(period.gpus.get(gpu, 0) for period in paid.periods)
        states.append(limit_state(f"stock:{gpu}", Fraction(most), Fraction(stock), "GPUs", 1))
    for quota in limits.quotas:
        most = max(sum(p.bought.get(line, 0) for line in quota.lines) for p in choice.periods)
        states.append(limit_state(quota.id, Fraction(most), Fraction(quota.gpus), "GPUs", 1))
    if limits.max_gpus is not None:
        most = max(sum(period.gpus.values()) for period in paid.periods)
        states.append(limit_state("max-gpus", Fraction(most), Fraction(limits.max_gpus), "GPUs", 1))
    if limits.power_w is not None:
        watts = max(period.power_w for period in paid.periods)
        replicas = max(sum(period.counts.values()) for period in choice.periods)
        states.append(limit_state("power", watts, limits.power_w, "W", watts / max(replicas, 1)))
    if limits.changes is not None:
        today = limits.changes.today_gpus
        moved = max(
            sum(abs(period.gpus.get(gpu, 0) - today.get(gpu, 0)) for gpu in {*period.gpus, *today})
            for period in paid.periods
        )
        states.append(limit_state("changes", Fraction(moved), Fraction(limits.changes.most), "GPUs", 1))
    return states


def _of_lines(problem: FleetProblem, choice: FleetChoice) -> list[ConstraintState]:
    """Caps of the market on lines that are used."""
    states = []
    for line in problem.lines:
        most = max(period.bought.get(line.id, 0) for period in choice.periods)
        if line.max_gpus is not None and most:
            state = limit_state(
                f"supply:{line.id}", Fraction(most), Fraction(line.max_gpus), "GPUs", line.unit_gpus
            )
            states.append(state)
    return states


def _of_money(problem: FleetProblem, paid: FleetBill) -> list[ConstraintState]:
    states = []
    for budget in problem.limits.budgets:
        value = max(period.usd for period in paid.periods)
        if not budget.every_period:
            value = paid.usd / problem.periods
        step = min((line.usd_per_gpu_h * line.unit_gpus for line in problem.lines), default=Fraction(0))
        states.append(limit_state(budget.id, value, budget.usd_per_h, "USD/h", step))
    return states
