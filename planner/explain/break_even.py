"""At which price, or at which speed, something that can be bought would be worth using."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from planner.explain.break_even_price import PriceSearch
from planner.explain.break_even_speed import SpeedSearch
from planner.explain.priced_item import PricedItem, api_item, gpu_item, line_item
from planner.explain.threshold import Ask, Threshold
from planner.explain.variants import unlimited
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.reasons import Goal
from planner.solver.solve import solve_fleet

Told = Literal["price", "lines", "supplier"]
"""As a price per GPU-hour, or as a factor on the prices of several lines or of an outside supplier."""


@dataclass(frozen=True)
class BreakEven:
    """What would make something worth using, other things as they are.

    Prices of all lines of a GPU type move together, in proportion: relations between instance sizes, terms
    and providers stay. They are told by the cheapest line that is paid. Where all its lines are free today,
    they get one price per GPU.
    """

    gpu: str
    """GPU type, or the id of an outside supplier."""
    usd_per_gpu_h: Fraction
    """Price of the cheapest line today; 1 for an outside supplier."""
    price: Threshold | None
    """Highest USD per GPU-hour of that line (of a supplier: highest factor on its prices) at which an optimal
    plan uses it; exact.

    None where cost is not minimized.
    """
    speed: Threshold
    """Smallest factor on all its rates at which an optimal plan uses it, at today's prices and latencies;
    unknown but for whole GPU types."""
    line: str = ""
    """Id of the line, where it is one."""
    told: Told = "price"


def break_even(question: FleetProblem, gpu: str, ask: Ask | None = None) -> BreakEven | None:
    """Break-even price and speed of a GPU type; None where the question has no option on it.

    Args:
        question: what is asked; latencies stay as they are when the speed changes.
        gpu: the GPU type.
        ask: answers questions for a goal; `solve_fleet` when absent.
    """
    return next(iter(break_evens(question, gpu, (), ask)), None)


def break_evens(
    question: FleetProblem, gpu: str, lines: Iterable[str], ask: Ask | None = None
) -> tuple[BreakEven, ...]:
    """Of a GPU type and of some of its lines; empty where the question has no option on it.

    The speed of the type is looked for last, since that takes the most searches.
    """
    item = gpu_item(question, gpu)
    if item is None:
        return ()
    asked, cost = ask or _solve, question.limits.objective == "cost"
    without = asked(unlimited(item.left_out()) if cost else item.left_out(), "value")
    price = PriceSearch(item, asked, without).found() if cost else None
    found = [one for line in lines if (one := line_break_even(question, line, asked)) is not None]
    rival = without if not cost or _summed(question) else asked(item.left_out(), "value")
    speed = SpeedSearch(question, gpu, asked, rival).found()
    told: Told = "lines" if len(found) > 1 and item.today else "price"
    return (BreakEven(gpu, item.today, price, speed, told=told), *found)


def line_break_even(question: FleetProblem, line: str, ask: Ask | None = None) -> BreakEven | None:
    """Break-even price of one line of the supply; None where cost is not minimized.

    Raises:
        KeyError: no such line.
    """
    return _of_price(line_item(question, line), ask, line)


def api_break_even(question: FleetProblem, api: str, ask: Ask | None = None) -> BreakEven | None:
    """Break-even factor on all prices of an outside supplier; None where cost is not minimized.

    Raises:
        KeyError: no such supplier.
    """
    return _of_price(api_item(question, api), ask, told="supplier")


def _of_price(item: PricedItem, ask: Ask | None, line: str = "", told: Told = "price") -> BreakEven | None:
    if item.question.limits.objective != "cost":
        return None
    asked = ask or _solve
    price = PriceSearch(item, asked, asked(unlimited(item.left_out()), "value")).found()
    return BreakEven(item.gpu, item.today, price, Threshold("unknown"), line, told)


def _summed(question: FleetProblem) -> bool:
    """Every budget is one on the sum: whoever costs no more than the best plan without limits keeps it."""
    return question.periods == 1 or not any(row.of_money and row.every_period for row in question.limits.rows)


def _solve(question: FleetProblem, goal: Goal) -> FleetChoice:
    return solve_fleet(question, goal=goal)
