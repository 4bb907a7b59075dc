"""What a line of the supply or an outside supplier is worth, against every price and volume nearby."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from fleet_table import EAST, WEST, api, enumerated, fleet, line, need, option, random_fleet

from planner.app.fleet.worth import api_worth, break_even_volume, line_worth
from planner.schema.fleet import Budget, FleetChoice, FleetLimits

F = Fraction
E = F(1, 1000)


def at_price(question, name, usd):
    """The best plan with a line at a price."""
    lines = tuple(replace(one, usd_per_gpu_h=usd) if one.id == name else one for one in question.lines)
    return enumerated(replace(question, lines=lines))


def used(choice, name):
    return any(period.bought.get(name, 0) for period in choice.periods)


def test_a_line_by_hand():
    """Two replicas on g cost 6; h carries both in one GPU."""
    lines = [line("g", "on_demand", 3, 4, site=EAST), line("h", "on_demand", 9, 4, site=WEST)]
    question = fleet([option("a", "g", 1, 1), option("b", "h", 1, 2)], lines, [need(2)])
    found = line_worth(question, "h/on_demand", enumerated)
    assert (found.verdict, found.price, found.today) == ("at", 6, 9)
    assert line_worth(question, "g/on_demand", enumerated).price == F(9, 2)


def test_a_line_that_serves_alone_is_worth_any_price():
    question = fleet([option("a", "g", 1, 1)], [line("g", "owned", 5, 4)], [need(2)])
    assert line_worth(question, "g/owned", enumerated).verdict == "always"
    capped = replace(question, limits=FleetLimits(budgets=(Budget("budget", F(30)),)))
    found = line_worth(capped, "g/owned", enumerated)
    assert (found.verdict, found.price) == ("at", 15)


def test_a_line_that_is_of_no_use():
    lines = [line("g", "owned", 0, 4, site=EAST), line("h", "on_demand", 1, 4, site=WEST)]
    question = fleet([option("a", "g", 1, 1), option("b", "h", 1, 1)], lines, [need(2)])
    assert line_worth(question, "h/on_demand", enumerated).verdict == "never"


@pytest.mark.parametrize(("seed", "periods"), [(seed, periods) for periods in (1, 2) for seed in range(4)])
def test_below_its_price_a_line_is_used_and_above_it_is_not(seed, periods):
    question = random_fleet(random.Random(seed), periods, tight=False)
    bare = FleetLimits(quotas=question.limits.quotas, max_gpus=question.limits.max_gpus)
    question = replace(question, limits=bare)
    if enumerated(question).status == "infeasible":
        return
    for one in question.lines:
        found = line_worth(question, one.id, enumerated)
        if found.verdict == "always":
            assert used(at_price(question, one.id, F(1000)), one.id)
        elif found.verdict == "never":
            assert not used(at_price(question, one.id, E), one.id)
        else:
            assert found.verdict == "at"
            assert used(at_price(question, one.id, found.price - E), one.id)
            assert not used(at_price(question, one.id, found.price + E), one.id)


def test_an_outside_supplier_by_hand():
    """A replica costs 4 and carries 1. Of 1.5 requests/s the supplier may take the half, or all of it."""
    lines = [line("g", "on_demand", 4, 4)]
    question = fleet([option("a", "g", 1, 1)], lines, [need("1.5")], apis=(api("w/api", 24),))
    found = api_worth(question, "w/api", enumerated)
    # Both replicas cost 8: one replica and a third of 24 x f, or all of it, 24 x f. Even at f = 1/2.
    assert (found.verdict, found.price) == ("at", F(1, 2))


def test_a_search_that_was_cut_still_tells_what_is_sure():
    def cut(question):
        best = enumerated(question)
        bound = best.cost_usd * F(3, 4)
        return FleetChoice("feasible", best.periods, best.cost_usd, best.value, bound, F(1, 4))

    lines = [line("g", "on_demand", 4, 4, site=EAST), line("h", "on_demand", 9, 4, site=WEST)]
    question = fleet([option("a", "g", 1, 1), option("b", "h", 1, 2)], lines, [need(2)])
    found = line_worth(question, "h/on_demand", cut)
    # 8 without it, at least 6: up to 6 it is sure to be used.
    assert (found.verdict, found.price, found.at_least) == ("unknown", None, 6)


# -- volume --------------------------------------------------------------------------------------------------


def owned_or_rented(replica_usd, bill_usd, *rps, **more):
    lines = [line("g", "owned", replica_usd, 4)]
    return fleet([option("a", "g", 1, 2)], lines, [need(*rps, **more)], apis=(api("w/api", *bill_usd),))


def test_the_volume_at_which_owning_pays_by_hand():
    """A replica at 4 USD carries 2; the supplier takes 3 USD for a request/s. Even at 4/3 requests/s."""
    found = break_even_volume(owned_or_rented(4, [3], 1), "w", enumerated)
    assert (found.verdict, found.usd_per_h) == ("at", 4)
    assert float(found.factor) == pytest.approx(4 / 3, rel=1e-5)


def test_a_second_replica_moves_the_volume_on():
    """At 1.9 USD a request/s the first replica is full too early: 4 USD are 2.1 requests/s."""
    found = break_even_volume(owned_or_rented(4, [F("1.9")], 1), "w", enumerated)
    # Every full replica serves 2 for 4 USD, the supplier for 3.8: owning never pays.
    assert found.verdict == "never"
    two = break_even_volume(owned_or_rented(4, [F("2.1")], 1, min_replicas=2), "w", enumerated)
    assert float(two.factor) == pytest.approx(8 / 2.1, rel=1e-5)


def test_owning_that_costs_nothing_pays_always():
    assert break_even_volume(owned_or_rented(0, [3], 1), "w", enumerated).verdict == "always"


def test_a_workload_without_supplier_is_no_question():
    question = fleet([option("a", "g", 1, 1)], [line("g", "owned", 5, 4)], [need(2)])
    with pytest.raises(KeyError):
        break_even_volume(question, "w", enumerated)


@pytest.mark.parametrize("seed", range(4))
def test_below_the_volume_the_supplier_is_cheaper(seed):
    """Two periods and another workload beside it."""
    rng = random.Random(seed)
    rates = rng.choice([(1, 3), (2, 2), (3, 1)])
    usd = rng.randint(2, 5)
    lines = [line("g", "owned", rng.randint(1, 4), 3), line("g", "on_demand", rng.randint(3, 6), 3)]
    options = [option("a", "g", 1, 2), option("z", "g", 1, 2, "other")]
    demands = [need(*rates), need(1, 2, workload="other")]
    apis = (api("w/api", *(usd * rate for rate in rates)),)
    question = fleet(options, lines, demands, apis=apis)
    found = break_even_volume(question, "w", enumerated)
    alone = enumerated(fleet(options[1:], lines, demands[1:])).cost_usd

    def owned_usd(factor):
        scaled = need(*(F(rate) * factor for rate in rates))
        return enumerated(fleet(options, lines, [scaled, demands[1]])).cost_usd - alone

    def rented_usd(factor):
        return usd * sum(rates) * factor

    if found.verdict == "at":
        assert owned_usd(found.factor) <= rented_usd(found.factor)
        assert float(found.usd_per_h * 2) == pytest.approx(float(owned_usd(found.factor) + alone))
        steps = [found.factor * F(part, 6) for part in range(1, 6)] + [found.factor - E]
        assert all(owned_usd(step) > rented_usd(step) for step in steps)
    else:
        assert found.verdict == "never"
        for step in (F(part, 2) for part in range(1, 5)):
            scaled = need(*(F(rate) * step for rate in rates))
            choice = enumerated(fleet(options, lines, [scaled, demands[1]]))
            assert choice.status == "infeasible" or choice.cost_usd - alone > rented_usd(step)
