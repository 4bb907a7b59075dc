"""The simplest plan within a tolerance equals that of a program written a second time."""

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from day_toy import EAST, WEST, day
from fleet_direct import Direct
from fleet_random import small_fleet
from more import seeds
from test_day_programs import longer

from planner.constraints.fleet_check import broken
from planner.constraints.plan.places import counted
from planner.schema.fleet import FleetChoice
from planner.schema.limit_rows import DayRow
from planner.solver.rebuy import with_replicas
from planner.solver.simple_counts import counts_of
from planner.solver.simplest import simplest
from planner.solver.solve import solve_fleet

SEED = 70_000


def ask(question, goal, limit_s, *, brief=True, start=None):
    return solve_fleet(question, goal=goal, time_limit_s=limit_s, brief=brief, start=start)


def aims(problem):
    sites = counted(problem.lines)
    return [
        DayRow(name, name, "", "", 0, name, each=False, sites=sites if name == "places" else ())
        for name in ("pools", "changes", "places")
    ]


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(16))
def test_the_simplest_plan_equals_a_program_written_a_second_time(seed):
    r = random.Random(SEED + seed)
    problem = longer(r, small_fleet(SEED + seed))
    problem = replace(problem, limits=replace(problem.limits, objective="cost"))
    tolerance = Fraction(r.choice([0, 2, 5, 20]), 100)
    expected = Direct(problem).simplest(float(tolerance), aims(problem))
    best = solve_fleet(problem, goal="value", time_limit_s=60)
    if expected is None:
        assert best.status == "infeasible"
        return
    found = simplest(problem, best, tolerance, ask, 120)
    assert found.proved
    assert list(found.counts.values()) == expected
    assert broken(problem, found.choice) == []
    assert best.value <= found.choice.value <= best.value * (1 + tolerance)


def test_what_cannot_be_missed_is_not_asked_of_fewer_options():
    """A question without a plan has none with fewer options; looks at the others are not all taken again."""
    asked = []

    def watched(question, goal, limit_s, *, brief=True, start=None):
        found = ask(question, goal, limit_s, brief=brief, start=start)
        if goal == "good":
            asked.append((frozenset(option.id for option in question.options), found.status))
        return found

    hopeless = 0
    for seed in range(8):
        r = random.Random(SEED + seed)
        problem = longer(r, small_fleet(SEED + seed))
        best = solve_fleet(problem, goal="value", time_limit_s=60)
        if best.value is None:
            continue
        simplest(problem, best, Fraction(1, 5), watched, 120)
        without = [names for names, status in asked if status == "infeasible"]
        for place, (names, _) in enumerate(asked):
            assert not any(names < more for more, status in asked[:place] if status == "infeasible")
        hopeless += len(without)
        asked.clear()
    assert hopeless


def test_the_cheapest_plan_that_was_seen_is_told():
    """The search begins at a plan that is not the best: with one pool less a cheaper one is seen."""
    problem = day()
    dear = with_replicas(problem, [{("small", EAST): 3, ("large", WEST): 1}] * 6)
    found = simplest(problem, dear, Fraction(1, 20), ask, 60)
    assert found.cheapest.value == found.choice.value < dear.value
    assert found.counts["pools"] == 1


def test_where_answers_stay_open_few_are_asked():
    """What no plan goes without is not asked of all options, one after the other."""
    asked = []

    def silent(question, goal, limit_s, *, brief=True, start=None):
        asked.append(goal)
        return FleetChoice("unknown")

    problem, names = day(), [f"small-{number}" for number in range(6)]
    small = next(option for option in problem.options if option.id == "small")
    problem = replace(problem, options=tuple(replace(small, id=name) for name in names))
    best = with_replicas(problem, [{(name, EAST): 3} for name in names])
    simplest(problem, best, Fraction(1, 20), silent, 60)
    assert asked.count("good") == len(names)
    assert asked.count("any") < len(names)


def test_of_many_options_few_are_looked_at_in_vain():
    """The least used first; of few options all are looked at."""
    asked = []

    def silent(question, goal, limit_s, *, brief=True, start=None):
        asked.append((goal, frozenset(option.id for option in question.options)))
        return FleetChoice("unknown")

    problem, names = day(), [f"small-{number:02d}" for number in range(70)]
    small = next(option for option in problem.options if option.id == "small")
    options = tuple(
        replace(
            small,
            id=name,
            ttft_s=Fraction(number),
            rates_rps=tuple(rate * (1 + Fraction(number, 1000)) for rate in small.rates_rps),
        )
        for number, name in enumerate(names)
    )
    problem = replace(problem, options=options)
    used = names[:20]
    counts = [{(name, EAST): 1 + (hour + place) % 2 for place, name in enumerate(used)} for hour in range(6)]
    counts[0][used[7], EAST] = 0
    best = with_replicas(problem, counts)
    simplest(problem, best, Fraction(1, 20), silent, 60)
    looks = [left for goal, left in asked if goal == "good"]
    assert len(looks) == 12
    assert looks[0] == frozenset(used) - {used[7]}


def test_the_plan_is_within_the_tolerance_of_the_cheapest_one_that_was_seen():
    """A cheaper plan of as many pools is seen while a simpler one is looked for, in vain."""
    problem = day()
    dear = with_replicas(problem, [{("small", EAST): 3, ("large", WEST): 1}] * 6)
    cheap = with_replicas(problem, [*[{("small", EAST): 3}] * 5, {("small", EAST): 3, ("large", WEST): 1}])
    assert cheap.value * Fraction(21, 20) < dear.value

    def once(question, goal, limit_s, *, brief=True, start=None):
        plain = goal == "any" and not any(row.counts == "pools" for row in question.limits.day)
        return cheap if plain else FleetChoice("unknown")

    found = simplest(problem, dear, Fraction(1, 20), once, 60)
    assert found.choice.value == found.cheapest.value == cheap.value
    assert found.counts == counts_of(problem, cheap)
    assert not found.proved
