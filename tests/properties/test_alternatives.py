"""Alternatives and fronts equal enumeration of every plan."""

from __future__ import annotations

import dataclasses
import itertools
import random
from fractions import Fraction

import pytest
from enumeration import every_plan
from more import seeds
from one_hour import alternatives, broken, front, solve
from test_optimum import keys, random_problem

from planner.schema.choice import ChoiceProblem, Option, PoolDemand, Supply

F = Fraction
PROBLEMS = 120
MOST = 6


def gpu_and_size(option):
    return (option.gpu, option.gpus)


def option_id(option):
    return option.id


def kinds_of(problem, counts, kind):
    return frozenset(kind(option) for option in problem.options if option.id in counts)


def best_keys_by_kinds(problem, kind):
    """For every set of kinds that plans use exactly: the best key."""
    best = {}
    for plan in every_plan(problem):
        used, key = kinds_of(problem, plan.counts, kind), plan.key(problem.limits.objective)
        if used not in best or key < best[used]:
            best[used] = key
    return best


@pytest.mark.parametrize("kind", [option_id, gpu_and_size])
@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(PROBLEMS))
def test_alternatives_equal_enumeration(seed, kind):
    problem = random_problem(random.Random(seed), both_ways=0.2)
    found = alternatives(problem, MOST, kind=kind)
    left = best_keys_by_kinds(problem, kind)
    for choice in found.choices:
        used = kinds_of(problem, choice.counts, kind)
        # The objective and what is paid are settled; plans equal in both may come in any order.
        value = keys(problem, choice)[:2]
        assert value == min(left.values())[:2] == left[used][:2]
        assert broken(problem, choice) == []
        left = {kinds: key for kinds, key in left.items() if not kinds >= used}
    assert found.exhausted == (len(found.choices) < MOST)
    if found.exhausted:
        assert not left


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(40))
def test_every_alternative_is_what_its_kinds_alone_would_give(seed):
    """None of its kinds can be left out, and nothing better can be made of them."""
    problem = random_problem(random.Random(seed))
    found = alternatives(problem, MOST, kind=gpu_and_size)
    for choice in found.choices:
        used = kinds_of(problem, choice.counts, gpu_and_size)
        value = keys(problem, choice)
        assert keys_with(problem, used) == value
        for kind in used:
            less = keys_with(problem, used - {kind})
            # Of plans that are equal in everything the first ids decide.
            assert less is None or less >= value


def keys_with(problem, kinds):
    options = tuple(option for option in problem.options if gpu_and_size(option) in kinds)
    choice = solve(dataclasses.replace(problem, options=options))
    return None if choice.status == "infeasible" else keys(problem, choice)


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(25))
def test_the_first_alternative_is_the_plan(seed):
    problem = random_problem(random.Random(seed))
    found, plan = alternatives(problem, 1), solve(problem)
    if plan.status == "infeasible":
        assert found.choices == ()
    else:
        assert keys(problem, found.choices[0]) == keys(problem, plan)


def test_kinds_that_help_nobody_are_no_alternative():
    """Small replicas alone, large ones alone, and the mix that saves the idle half of a large one."""
    supply = Supply("s", "g", "gpu", 1, F(1))
    small = Option("small", "w", "serve", "s", "g", 3, (F(2),))
    large = Option("large", "w", "serve", "s", "g", 4, (F(4),))
    problem = ChoiceProblem((small, large), (supply,), (PoolDemand("w", "serve", (F(6),)),))
    found = alternatives(problem, 5)
    assert [choice.counts for choice in found.choices] == [
        {"large": 1, "small": 1},
        {"large": 2},
        {"small": 3},
    ]
    assert found.exhausted
    even = dataclasses.replace(problem, demands=(PoolDemand("w", "serve", (F(8),)),))
    assert [choice.counts for choice in alternatives(even, 5).choices] == [{"large": 2}, {"small": 4}]


AXES = [("cost", "gpus"), ("gpus", "cost"), ("cost", "power"), ("gpus", "power"), ("power", "gpus", "cost")]


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(PROBLEMS // 2))
def test_front_equals_enumeration(seed, axes):
    problem = random_problem(random.Random(seed), both_ways=0.2)
    points = {
        tuple({"cost": plan.cost, "gpus": plan.gpus, "power": plan.power}[axis] for axis in axes)
        for plan in every_plan(problem)
    }
    expected = sorted(p for p in points if not any(dominates(q, p) for q in points))
    found = front(problem, axes)
    assert found.exhausted
    assert [point(choice, axes) for choice in found.choices] == expected
    priced = dataclasses.replace(problem, limits=dataclasses.replace(problem.limits, objective="cost"))
    for choice in found.choices:
        assert broken(priced, choice) == []


def dominates(q, p):
    return q != p and all(a <= b for a, b in zip(q, p, strict=True))


def point(choice, axes):
    values = {"cost": choice.cost_usd_per_h, "gpus": sum(choice.gpus.values()), "power": choice.power_w}
    return tuple(values[axis] for axis in axes)


def test_a_front_cut_short_says_so():
    for seed in itertools.count():
        problem = random_problem(random.Random(seed))
        whole = front(problem, ("cost", "power"))
        if len(whole.choices) > 2:
            break
    cut = front(problem, ("cost", "power"), most_solves=2)
    assert len(cut.choices) <= 2
    assert not cut.exhausted
