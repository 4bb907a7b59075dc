"""The parts of the solver against hand calculations."""

from __future__ import annotations

from fractions import Fraction

import pytest
from one_hour import solve

from planner.constraints.server_losses import Stand, server_losses
from planner.constraints.shares import best_split
from planner.errors import InputError
from planner.schema.choice import ChoiceProblem, Limits, Option, PoolDemand, Spares, Supply
from planner.solver.cp.dominance import pruned
from planner.solver.cp.integers import LARGEST_SUM, cover_row, priced
from planner.solver.cp.packing import chain_rows, is_chain, maximal_patterns, whole_units

F = Fraction


def test_decimals_become_integers_without_loss():
    row = cover_row([F("2.5"), F("0.1")], F("7.3"), [4, 80])
    assert (row.weights, row.needed, row.exact) == ((25, 1), 73, True)


def test_weights_are_cut_to_the_need():
    assert cover_row([F(100), F(3)], F(7), [1, 3]).weights == (7, 3)


@pytest.mark.parametrize("step", [0, 1, 2])
def test_wide_rows_cut_off_nothing(step):
    weights, needed = [F(1, 3**40), F(1, 7**30)], F(1, 3**38) + F(1, 7**31)
    row = cover_row(weights, needed, [20, 20], step)
    assert sum(w * 20 for w in row.weights) + row.needed < LARGEST_SUM
    true = [min(weight, needed) / needed * row.needed for weight in weights]
    assert all(mine >= other for mine, other in zip(row.weights, true, strict=True))


def test_the_last_step_rounds_to_the_safe_side():
    weights, needed = [F(1, 3**40)], F(1, 3**39) + F(1, 7**41)
    row = cover_row(weights, needed, [20], 9)
    assert not row.exact
    assert F(row.weights[0], row.needed) <= weights[0] / needed


def test_prices_keep_their_cents():
    assert priced([F("2.10"), F("0.35")], [10, 10]) == ([6, 1], F(100, 35), True)


def test_the_best_split_of_two_buckets():
    """Each option is fast on one bucket: 10 + 10 carried by one replica each; swapped they carry 2."""
    split = best_split([[F(10), F(2)], [F(2), F(10)]], [F(1), F(1)], [F(10), F(10)])
    assert split.factor == 1
    assert split.shares == ((1, 0), (0, 1))


def test_prices_of_an_overloaded_pool_prove_it():
    rates, capacity, demand = [[F(4), F(1)], [F(3), F(3)]], [F(1), F(2)], [F(5), F(7)]
    split = best_split(rates, capacity, demand)
    assert split.factor < 1
    assert sum(p * d for p, d in zip(split.prices, demand, strict=True)) == 1
    bound = sum(
        c * max(p * r for p, r in zip(split.prices, row, strict=True))
        for c, row in zip(capacity, rates, strict=True)
    )
    assert bound == split.factor


def test_a_bucket_nobody_serves_carries_nothing():
    assert best_split([[F(4), F(0)]], [F(1)], [F(1), F(1)]).factor == 0


def test_patterns_of_odd_sizes():
    assert set(maximal_patterns([3, 5], 8)) == {(1, 1), (2, 0)}
    assert set(maximal_patterns([2, 3], 8)) == {(4, 0), (2, 1), (1, 2)}


def test_chains_of_sizes():
    assert is_chain([1, 2, 8])
    assert not is_chain([2, 3])
    assert chain_rows([1, 3], 8) == [((1, 3), 8), ((0, 1), 2)]


def test_too_many_patterns_are_refused():
    with pytest.raises(InputError, match="patterns"):
        maximal_patterns([1, 2, 3, 5, 7, 9, 11, 13], 72)


def test_whole_servers():
    supply = Supply("s", "g", "unit", 8)
    option = Option("o", "w", "serve", "s", "g", 12, (F(1),))
    assert whole_units(option, supply) == 2
    assert whole_units(Option("o", "w", "serve", "s", "g", 4, (F(1),), units_per_replica=1), supply) == 1


def gpu_problem(*options, **limits):
    supply = Supply("s", "g", "gpu", 1, F(1))
    made = [Option(name, "w", "serve", "s", "g", gpus, (F(rate),)) for name, gpus, rate in options]
    return ChoiceProblem(tuple(made), (supply,), (PoolDemand("w", "serve", (F(10),)),), Limits(**limits))


def test_copies_of_a_small_replica_replace_a_large_one():
    problem = gpu_problem(("small", 2, 5), ("large", 4, 10), ("better", 4, 11))
    assert [option.id for option in pruned(problem)] == ["better", "small"]


def test_of_two_equal_options_the_first_id_stays():
    assert [option.id for option in pruned(gpu_problem(("b", 2, 5), ("a", 2, 5)))] == ["a"]


def test_a_stated_stock_keeps_other_gpus_apart():
    """A cheaper GPU with a stock does not replace the dearer one without."""
    supplies = (Supply("s", "g", "gpu", 1, F(1)), Supply("t", "h", "gpu", 1, F(2)))
    options = (
        Option("cheap", "w", "serve", "s", "g", 1, (F(5),)),
        Option("dear", "w", "serve", "t", "h", 1, (F(5),)),
    )
    demand = (PoolDemand("w", "serve", (F(20),)),)
    assert len(pruned(ChoiceProblem(options, supplies, demand))) == 1
    limited = ChoiceProblem(options, supplies, demand, Limits({"g": 3}))
    assert len(pruned(limited)) == 2
    assert solve(limited).counts == {"cheap": 3, "dear": 1}


def test_no_answer_in_no_time_is_not_infeasible():
    choice = solve(gpu_problem(("a", 1, 3), ("b", 3, 10)), time_limit_s=0.0)
    assert choice.status == "unknown"


def test_what_nobody_serves_is_named():
    problem = gpu_problem(("a", 1, 0))
    choice = solve(problem)
    assert (choice.status, choice.in_the_way) == ("infeasible", ("unservable:w/all",))


def test_limits_in_the_way_are_named():
    choice = solve(gpu_problem(("a", 1, 3), max_gpus=3, stock_gpus={"g": 3}))
    assert (choice.status, choice.in_the_way) == ("infeasible", ("stock:g", "max-gpus"))


def test_spares_in_servers_take_all_replicas_of_a_server():
    """Two replicas carry the load: one more server of one replica, or of four that go together."""
    supply = Supply("s", "g", "unit", 8, F(8))
    demand = (PoolDemand("w", "serve", (F(10),), spares=Spares("servers", 1)),)
    big = Option("big", "w", "serve", "s", "g", 8, (F(5),))
    assert solve(ChoiceProblem((big,), (supply,), demand)).counts == {"big": 3}
    small = Option("small", "w", "serve", "s", "g", 2, (F(5),))
    assert solve(ChoiceProblem((small,), (supply,), demand)).counts == {"small": 6}
    loose = Supply("s", "g", "gpu", 1, F(8))
    with pytest.raises(InputError, match=r"redundancy\.servers: found g that is not bought by the server"):
        solve(ChoiceProblem((small,), (loose,), demand))


def test_what_fits_into_servers_is_lost_with_them():
    """Of 3, 3 and 2 GPUs in servers of 8: one holds all kinds; 5 and 3 do not stand with another 3."""
    three, two, five = (Stand("s", size, 8) for size in (3, 2, 5))
    assert server_losses([2, 1], [three, two], 1) == ((2, 1),)
    assert server_losses([1, 2], [five, three], 1) == ((0, 2), (1, 1))
    assert server_losses([1, 2], [five, three], 2) == ((1, 2),)
    assert server_losses([3, 3], [Stand("s", 8, 8), Stand("t", 4, 8)], 1) == ((0, 2), (1, 0))
    assert server_losses([5], [two], 3_000_000) == ((5,),)


def test_real_rates_are_proved_quickly_and_exactly():
    """Rates with 52-bit denominators: the row is rounded, the answer is still exact."""
    options = [
        (f"o{g}-{k}", g, F(0.7310585786300049 * g**0.93 * (1 + 0.013 * k)))
        for g in (1, 2, 4, 8)
        for k in range(6)
    ]
    choice = solve(gpu_problem(*options))
    assert choice.status == "optimal"
    assert choice.exact


def test_capacity_that_equals_demand_exactly_is_enough_for_real_rates():
    rate = F(1, 3**30)
    supply = Supply("s", "g", "gpu", 1, F(1))
    option = Option("o", "w", "serve", "s", "g", 1, (rate,))
    for need, replicas in ((7 * rate, 7), (7 * rate + F(1, 3**60), 8)):
        problem = ChoiceProblem((option,), (supply,), (PoolDemand("w", "serve", (need,)),))
        assert solve(problem).counts == {"o": replicas}
