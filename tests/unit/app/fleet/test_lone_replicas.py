"""The bound of a fleet whose lone replicas carry what they carry alone: valid, and the best there is."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import pytest

from planner.planning.answering import lone_replicas
from planner.planning.answering.lone_replicas import bound_of_lone_replicas
from planner.schema.choice import Option, Spares
from planner.schema.fleet import Api, FleetDemand, FleetLimits, FleetProblem, Host, Line
from planner.schema.limit_rows import DayRow
from planner.solver.solve import solve_fleet

HOUR_USD = {"small": 2, "large": 5}


def fleet(rates, needs, api_usd=None, start_h=0, **demand):
    options = tuple(
        Option(name, "w", "serve", name, name, 1, (Fraction(rate),), start_h=Fraction(start_h))
        for name, rate in rates.items()
    )
    hosts = tuple(Host(name, name) for name in rates)
    lines = tuple(Line(name, name, name, "on_demand", Fraction(HOUR_USD[name])) for name in rates)
    rows = tuple((Fraction(need),) for need in needs)
    apis = ()
    if api_usd is not None:
        apis = (Api("api", "w", tuple((Fraction(api_usd) * need,) for (need,) in rows)),)
    asked = FleetDemand("w", "serve", rows, **demand)
    day = DayRow("layouts:w", "layouts", "layouts", "layouts", 1, "layouts", "w")
    return FleetProblem(len(needs), options, hosts, lines, (asked,), FleetLimits(day=(day,)), apis=apis)


def alone(monkeypatch, rates):
    """What a replica carries alone, by option."""
    known = {name: None if rate is None else Fraction(rate) for name, rate in rates.items()}
    monkeypatch.setattr(lone_replicas, "rate_of_pool_rps", lambda case, option, replicas: known[option.id])


def bound_of(question):
    case = SimpleNamespace(question=question)
    return bound_of_lone_replicas(case, lambda asked: solve_fleet(asked, goal="value"))


def cheapest_usd(rates, lone, needs, api_usd):
    """By enumeration, hour by hour, starts and limits on layouts left out."""
    total = Fraction(0)
    for need in needs:
        found = []
        for counts in product(range(need + 1), repeat=len(rates)):
            real = lone if sum(counts) == 1 else rates
            carried = sum(n * Fraction(rate) for n, rate in zip(counts, real.values(), strict=True))
            usd = sum(n * HOUR_USD[name] for n, name in zip(counts, rates, strict=True))
            left = max(need - carried, Fraction(0))
            if not left or api_usd is not None:
                found.append(usd + left * (api_usd or 0))
        total += min(found)
    return total


@pytest.mark.parametrize("seed", range(24))
def test_the_bound_is_the_best_by_enumeration(monkeypatch, seed):
    draw = random.Random(seed)
    rates = {"small": draw.randint(2, 4), "large": draw.randint(5, 9)}
    lone = {name: Fraction(rate * draw.randint(2, 4), 4) for name, rate in rates.items()}
    needs = [draw.randint(1, 12) for _ in range(3)]
    api_usd = draw.choice([None, 1, 3])
    alone(monkeypatch, lone)
    question = fleet(rates, needs, api_usd)
    found, best = bound_of(question), cheapest_usd(rates, lone, needs, api_usd)
    if all(lone[name] == rate for name, rate in rates.items()):
        assert found is None
        return
    assert found == pytest.approx(best, rel=1e-6)


def test_what_replicas_are_alone_is_asked_of_pools_that_may_be_alone(monkeypatch):
    alone(monkeypatch, {"small": 1, "large": 9})
    asked = []

    def solve(question):
        asked.append(question)
        return SimpleNamespace(lower_bound=Fraction(7))

    case = SimpleNamespace(question=fleet({"small": 3, "large": 9}, [4, 2], start_h=1, mix=False))
    assert bound_of_lone_replicas(case, solve) == 7
    (question,) = asked
    told = [(o.id, float(o.rates_rps[0]), o.replicas_from, o.replicas_to) for o in question.options]
    assert told == [("small alone", 1.0, 1, 1), ("small", 3.0, 2, None), ("large", 9.0, 1, None)]
    # To go from one replica to two is neither a start nor a change.
    assert [float(o.start_h) for o in question.options] == [0, 0, 0]
    assert question.limits.day == ()
    assert question.demands[0].mix

    spared = fleet({"small": 3, "large": 9}, [4, 2], spares=Spares("replicas", 1))
    assert bound_of_lone_replicas(SimpleNamespace(question=spared), solve) is None
    alone(monkeypatch, {"small": None, "large": 9})
    assert bound_of_lone_replicas(case, solve) is None
    assert len(asked) == 1
