"""From admitted candidates to the solver's options."""

import random
from fractions import Fraction

import numpy as np
import pytest
from candidate_samples import bits, evaluation, lot
from one_hour import solve
from step_samples import FP8, accelerator, configuration

from planner.candidates.options import Placed, micro_rps, options, supplies
from planner.candidates.subset import by_part, subset
from planner.schema.catalog import AcceleratorPower
from planner.schema.choice import ChoiceProblem, Limits, PoolDemand, Spares

POWERED = accelerator(power=AcceleratorPower(tdp="700 W", source="sample"))


def all_of(found):
    return np.ones(len(found.candidates), dtype=bool)


def test_an_option_says_what_a_replica_takes_and_carries():
    items = (configuration(accelerator=POWERED, tp=2),)
    found = options(evaluation(items, rates=[1.25]), [lot()], np.ones(1, dtype=bool), True)
    ((name, (option, placed)),) = found.items()
    assert name == option.id == "chat: box motor bf16+kv-bf16 tp2 chunk2048 batch8 @ fleet/box"
    assert placed == Placed("chat", 0, 0)
    assert (option.pool, option.supply, option.gpu, option.gpus) == (("chat", "serve"), "fleet/box", "box", 2)
    assert option.rates_rps == (Fraction(5, 4),)
    assert option.power_w == 1400
    assert option.units_per_replica is None


@pytest.mark.parametrize(
    ("rate", "micro"),
    [
        (1.0, 1_000_000),
        (0.1234567, 123_456),
        (1e-6, 0),
        (1.1e-6, 1),
        (9e-7, 0),
        (123456.7890129, 123456789012),
    ],
)
def test_rates_are_rounded_down(rate, micro):
    # 1e-6 as a float is just below a millionth.
    assert micro_rps(rate) == micro


def test_rounding_never_promises_more():
    rng = random.Random(5)
    for _ in range(2000):
        rate = rng.choice([rng.random(), rng.randint(1, 10**9) / 10**6, rng.random() * 1e4])
        assert Fraction(micro_rps(rate), 10**6) <= Fraction(rate) < Fraction(micro_rps(rate) + 1, 10**6)


def test_what_is_refused_or_carries_nothing_is_no_option():
    found = evaluation(rates=[1.0, 0.0, 1e-9])
    assert len(options(found, [lot()], all_of(found), True)) == 1
    assert not options(found, [lot()], bits(3, 1, 2), True)
    none = evaluation(rates=[1.0, 1.0, 1.0], max_batch=np.array([0, 0, 0]))
    assert not options(none, [lot()], all_of(none), True)


def test_the_best_of_equal_room_stays_and_equal_rates_follow_preferences():
    items = (configuration(), configuration(weights=FP8), configuration(kv=FP8))
    best = evaluation(items, rates=[1.0, 3.0, 2.0])
    ((option, placed),) = options(best, [lot()], all_of(best), True).values()
    assert (placed.configuration, option.rates_rps) == (1, (Fraction(3),))
    equal = evaluation(items, rates=[2.0, 2.0, 2.0 + 1e-9], penalties=np.array([1, 0, 2]))
    ((option, placed),) = options(equal, [lot()], all_of(equal), True).values()
    assert (placed.configuration, option.slack) == (1, 0.0)


def test_every_candidate_has_its_option_when_asked():
    items = (configuration(), configuration(weights=FP8), configuration(kv=FP8))
    found = evaluation(items, rates=[1.0, 3.0, 2.0])
    chosen = options(found, [lot()], bits(3, 0, 1), True, every=True)
    assert {placed.configuration: option.rates_rps[0] for option, placed in chosen.values()} == {0: 1, 1: 3}


def test_each_lot_and_size_keeps_its_own():
    found = evaluation(
        placed_configuration=np.array([0, 1, 2, 0]),
        placed_lot=np.array([0, 0, 0, 1]),
        placed_units=np.zeros(4, dtype=np.int64),
    )
    lots = [lot(), lot("other", usd="3")]
    chosen = options(found, lots, all_of(found), True)
    assert {(option.supply, option.gpus) for option, _ in chosen.values()} == {
        ("fleet/box", 1), ("fleet/box", 2), ("fleet/box", 4), ("fleet/other", 1),
    }  # fmt: skip
    assert list(chosen) == sorted(chosen)


@pytest.mark.parametrize(
    ("purchase", "whole", "gpus", "units"),
    [("unit", True, 16, 2), ("gpu", True, 16, None), ("unit", False, 12, None), ("gpu", False, 12, None)],
)
def test_a_replica_larger_than_a_server_takes_whole_servers(purchase, whole, gpus, units):
    found = evaluation((configuration(tp=3, pp=4),), placed_units=np.array([2]))
    ((option, _),) = options(found, [lot(purchase=purchase)], np.ones(1, dtype=bool), whole).values()
    assert (option.gpus, option.units_per_replica) == (gpus, units)


def test_supplies_carry_exact_prices():
    one, node = supplies([lot(usd="2.1"), lot("node", purchase="unit", usd="16.8")])
    assert (one.id, one.gpu, one.purchase, one.unit_gpus, one.usd_per_unit_h) == (
        "fleet/box", "box", "gpu", 8, Fraction(21, 10),
    )  # fmt: skip
    assert (node.purchase, node.usd_per_unit_h) == ("unit", Fraction(84, 5))


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_lost_against_solving_over_every_candidate(seed):
    """Each candidate as an evaluation of its own, so that none can drop another."""
    rng = random.Random(seed)
    pool = [configuration(tp=tp, batched_tokens=chunk) for tp in (1, 2, 4, 8) for chunk in (512, 1024, 2048)]
    items = tuple(rng.sample(pool, 8))
    rates = [round(rng.uniform(0.3, 0.8) * item.tp, 2) for item in items]
    lots = [lot(purchase=rng.choice(["gpu", "unit"]), usd=str(rng.randint(2, 20)))]
    demand = PoolDemand(
        "chat",
        "serve",
        (Fraction(rng.randint(1, 24), 2),),
        min_replicas=rng.choice([1, 2]),
        spares=Spares("replicas", rng.choice([0, 1])),
    )
    limits = Limits(objective=rng.choice(["cost", "gpus"]), max_gpus=rng.choice([None, 24]))

    def value(chosen):
        question = ChoiceProblem(tuple(chosen), supplies(lots), (demand,), limits)
        answer = solve(question)
        return answer.status, answer.value, answer.cost_usd_per_h, sum(answer.gpus.values())

    whole = evaluation(items, rates=rates)
    best = [option for option, _ in options(whole, lots, all_of(whole), True).values()]
    every = []
    for item, rate in zip(items, rates, strict=True):
        alone = evaluation((item,), rates=[rate])
        every += [option for option, _ in options(alone, lots, np.ones(1, dtype=bool), True).values()]
    assert len(best) < len(every)
    assert value(best) == value(every)


def test_a_subset_renumbers_its_places():
    found = evaluation(
        placed_configuration=np.array([0, 1, 2, 2]),
        placed_lot=np.array([0, 0, 0, 1]),
        placed_units=np.array([0, 0, 1, 2]),
        placed_part=bits(4, 3),
    ).candidates
    part = subset(found, bits(3, 0, 2))
    assert part.names == (found.names[0], found.names[2])
    assert part.placed_configuration.tolist() == [0, 1, 1]
    assert part.placed_lot.tolist() == [0, 0, 1]
    assert part.placed_units.tolist() == [0, 1, 2]
    assert part.placed_part.tolist() == [False, False, True]
    assert all(column.shape == (2,) for column in part.structural.values())
    assert len(subset(found, bits(3))) == 0


def test_candidates_on_both_kinds_of_place_become_two_where_a_rule_tells_them_apart():
    """Candidate 0 is sold on both, 1 on whole servers and 2 on parts of servers."""
    found = evaluation(
        placed_configuration=np.array([0, 0, 1, 2]),
        placed_lot=np.array([0, 1, 0, 1]),
        placed_units=np.array([0, 0, 1, 2]),
        placed_part=bits(4, 1, 3),
    ).candidates
    told, rows = by_part(found, bits(3, 0, 1, 2))
    assert rows.tolist() == [0, 1, 2, 0]
    assert told.names == (*found.names, found.names[0])
    assert told.attributes["part_of_server"].tolist() == [False, False, True, True]
    places = zip(told.placed_configuration.tolist(), told.placed_lot.tolist(), strict=True)
    assert sorted(places) == [(0, 0), (1, 0), (2, 1), (3, 1)]
    assert by_part(found, bits(3, 1, 2))[0] is found
