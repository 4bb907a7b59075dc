"""From which volume owning is no dearer than an outside supplier, against every volume nearby."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from fleet_table import api, enumerated, fleet, line, need, option

from planner.planning.answering.volume import break_even_volume

F = Fraction
E = F(1, 1000)


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
