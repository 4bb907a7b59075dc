"""The plan of one option alone equals the solver's."""

import random
from fractions import Fraction

import pytest
from one_hour import one_period, solve

from planner.candidates.replica_cost import bought
from planner.explain.bought_alone import bought_alone
from planner.schema.choice import ChoiceProblem, Limits, Option, PoolDemand, Spares, Supply


def option(gpus=1, rate="1", **more):
    return Option("a", "chat", "serve", "s", "box", gpus, (Fraction(rate),), **more)


def supply(purchase="gpu", unit=8, usd=2):
    return Supply("s", "box", purchase, unit, Fraction(usd))


def demand(rps="1", **more):
    return PoolDemand("chat", "serve", (Fraction(rps),), **more)


def by_itself(one, bought_as, need):
    """The plan of one option alone, on the machine that its supply is."""
    question = one_period(ChoiceProblem((one,), (bought_as,), (need,)))
    return bought_alone(question.options[0], question.hosts[0], question.lines, need)


@pytest.mark.parametrize(
    ("rps", "rate", "more", "replicas"),
    [
        ("55000", "11000", {}, 5),  # capacity equal to demand is enough
        ("55000.001", "11000", {}, 6),
        ("1", "10", {"min_replicas": 3}, 3),
        ("10", "10", {"spares": Spares("replicas", 2)}, 3),
        ("10", "10", {"spares": Spares("per_option", 1), "min_replicas": 2}, 2),
        ("9", "10", {"max_utilization": Fraction(9, 10)}, 1),
        ("9.1", "10", {"max_utilization": Fraction(9, 10)}, 2),
    ],
)
def test_replicas_by_hand(rps, rate, more, replicas):
    assert by_itself(option(rate=rate), supply(), demand(rps, **more)).replicas == replicas


@pytest.mark.parametrize(
    ("gpus", "more", "purchase", "replicas", "bill"),
    [
        (2, {}, "gpu", 3, (6, 12)),
        (2, {}, "unit", 3, (8, 2)),  # four pairs in a server
        (2, {}, "unit", 5, (16, 4)),
        (3, {}, "unit", 3, (16, 4)),  # two in a server, two GPUs idle
        (16, {"units_per_replica": 2}, "unit", 3, (48, 12)),
        (12, {}, "unit", 2, (32, 8)),  # whole servers are taken even so
    ],
)
def test_bills_by_hand(gpus, more, purchase, replicas, bill):
    assert bought(option(gpus, **more), supply(purchase), replicas) == bill


def test_an_option_with_its_own_price():
    own = option(4, usd_per_h=Fraction(7))
    assert bought(own, supply("option"), 3) == (12, 21)


def test_lost_servers_take_all_their_replicas():
    """Ten replicas, two a server: five servers and one spare, which takes two replicas with it."""
    plan = by_itself(option(4), supply("unit"), demand("10", spares=Spares("servers", 1)))
    assert (plan.replicas, plan.gpus) == (12, 48)
    large = option(16, units_per_replica=2)
    assert by_itself(large, supply("unit"), demand("3", spares=Spares("servers", 1))).replicas == 4


def test_a_fleet_for_nothing_is_allowed():
    assert by_itself(option(), supply(usd=0), demand("3")).usd_per_h == 0


@pytest.mark.parametrize("seed", range(25))
def test_the_solver_agrees(seed):
    rng = random.Random(seed)
    purchase = rng.choice(["gpu", "unit"])
    gpus = rng.choice([1, 2, 3, 4, 8, 12, 16])
    units = -(-gpus // 8) if gpus > 8 and purchase == "unit" and rng.random() < 0.5 else None
    one = option(gpus, Fraction(rng.randint(1, 50), 7), power_w=Fraction(700 * gpus), units_per_replica=units)
    alone = purchase == "unit" and gpus * 2 > 8
    kind = rng.choice(["replicas", "per_option", "servers"] if alone else ["replicas", "per_option"])
    need = demand(
        Fraction(rng.randint(1, 200), 3),
        max_utilization=rng.choice([Fraction(1), Fraction(9, 10)]),
        min_replicas=rng.choice([1, 3]),
        spares=Spares(kind, rng.choice([0, 1, 2])),
    )
    question = ChoiceProblem(
        (one,), (supply(purchase),), (need,), Limits(objective=rng.choice(["cost", "gpus", "power"]))
    )
    answer, plan = solve(question), by_itself(one, supply(purchase), need)
    assert answer.status == "optimal"
    assert (answer.counts["a"], answer.cost_usd_per_h, answer.power_w) == (
        plan.replicas, plan.usd_per_h, plan.power_w,
    )  # fmt: skip
    assert answer.gpus == {"box": plan.gpus}


def test_rates_that_hold_for_some_numbers_of_replicas_only():
    def replicas(need):
        plans = [by_itself(one, supply(), demand(need)) for one in table]
        return [plan and plan.replicas for plan in plans]

    table = [option(rate="4", replicas_to=2), option(rate="2", replicas_from=3)]
    assert replicas("9") == [None, 5]  # three of the first would be needed: it holds for two
    assert replicas("3") == [1, 3]
