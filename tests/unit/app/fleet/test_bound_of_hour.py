"""The bound of one hour whose replicas carry what they carry at the size of their pool."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import pytest

from planner.planning.answering import bound_of_hour
from planner.planning.answering.bound_of_hour import answers_at_real_sizes, least_of
from planner.schema.choice import Spares
from planner.schema.fleet import FleetChoice, FleetLimits
from planner.schema.limit_rows import DayRow
from planner.solver.solve import solve_fleet
from tests.unit.app.fleet.test_lone_replicas import HOUR_USD, fleet

ALL = ("w", "serve", 0)


def rate_among(rate, replicas):
    """A pool that pools waits: half of the rate alone, all of it among many."""
    return Fraction(rate) * (1 - Fraction(1, 2 * replicas))


@pytest.fixture(autouse=True)
def sizes(monkeypatch):
    """Real rates by the number of replicas alike."""

    def real(case, option, replicas):
        return rate_among(option.rates_rps[0], replicas)

    monkeypatch.setattr(bound_of_hour, "rate_of_pool_rps", real)


def carries(counts, rates):
    """What replicas carry, each as one of so many like itself."""
    whole = sum(n * rate for n, rate in zip(counts, rates, strict=True))
    return sum(
        n * rate_among(rate, max(int(whole / rate), 1)) for n, rate in zip(counts, rates, strict=True) if n
    )


def cheapest_usd(rates, need):
    """By enumeration."""
    found = [
        sum(n * HOUR_USD[name] for n, name in zip(counts, rates, strict=True))
        for counts in product(range(2 * need + 2), repeat=len(rates))
        if carries(counts, tuple(rates.values())) >= need
    ]
    return min(found)


def mixed(rates, need, **demand):
    """A question of one hour without limits on its layouts."""
    return replace(fleet(rates, [need], **demand), limits=FleetLimits())


def answers(question, factor):
    case = SimpleNamespace(question=question)
    return answers_at_real_sizes(case, {ALL: factor}, lambda asked: solve_fleet(asked, goal="value"))


@pytest.mark.parametrize("seed", range(40))
def test_no_plan_costs_less_whatever_the_factor(seed):
    draw = random.Random(seed)
    rates = {"small": draw.randint(2, 4), "large": draw.randint(5, 9)}
    need = draw.randint(1, 14)
    best, question = cheapest_usd(rates, need), mixed(rates, need)
    bounds = [least_of(answers(question, Fraction(100 + 10 * k, 100))) for k in range(12)]
    assert all(bound <= best for bound in bounds)
    assert max(bounds) >= solve_fleet(question, goal="value").value


def test_of_forty_fleets_most_are_proved():
    proved = open_ = 0
    for seed in range(40):
        draw = random.Random(1000 + seed)
        rates = {"small": draw.randint(2, 4), "large": draw.randint(5, 9)}
        need = draw.randint(1, 14)
        best, question = cheapest_usd(rates, need), mixed(rates, need)
        planned = solve_fleet(question, goal="value").value
        if planned == best:
            continue
        bounds = [least_of(answers(question, Fraction(100 + 10 * k, 100))) for k in range(12)]
        proved, open_ = proved + (max(bounds) == best), open_ + (max(bounds) < best)
    assert proved > 3 * open_


def test_pools_with_spares_or_several_lengths_are_left_to_the_planned_rates():
    spared = mixed({"small": 3, "large": 9}, 4, spares=Spares("replicas", 1))
    assert answers(spared, Fraction(2)) == []
    # Prefill at several places carries a share at each of them; at one place it is one sum.
    question = mixed({"small": 3, "large": 9}, 4)
    demands = tuple(replace(demand, role="prefill") for demand in question.demands)
    options = tuple(option.but(role="prefill") for option in question.options)
    at_places = replace(question, demands=demands, options=options, places={"p": (), "q": ()})
    case = SimpleNamespace(question=at_places)
    factors = {("w", "prefill", 0): Fraction(2)}
    assert answers_at_real_sizes(case, factors, lambda _: FleetChoice("unknown")) == []
    row = DayRow("places:w", "places", "places", "places", 1, "places", "w")
    case = SimpleNamespace(question=replace(at_places, limits=FleetLimits(day=(row,))))
    assert len(answers_at_real_sizes(case, factors, lambda _: FleetChoice("unknown"))) == 2
    assert least_of([]) is None
    known = FleetChoice("optimal", lower_bound=Fraction(3))
    assert least_of([known, FleetChoice("unknown")]) is None
    assert least_of([known, FleetChoice("infeasible")]) == 3
