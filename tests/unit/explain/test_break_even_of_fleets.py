"""What GPU types, lines of the supply and outside suppliers are worth, against every price nearby."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from fleet_table import EAST, WEST, api, enumerated, fleet, line, need, option, plans, random_fleet
from plan_limits import budget_row, plain, plan_limits

from planner.explain.break_even import api_break_even, break_even, break_evens, line_break_even
from planner.explain.threshold import Threshold
from planner.explain.variants import unlimited
from planner.schema.fleet import FleetChoice, FleetLimits

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
    found = line_break_even(question, "h/on_demand", enumerated).price
    assert (found.verdict, found.value) == ("at", 6)
    assert line_break_even(question, "g/on_demand", enumerated).price == Threshold("at", F(9, 2))


def test_a_line_that_serves_alone_is_worth_any_price():
    question = fleet([option("a", "g", 1, 1)], [line("g", "owned", 5, 4)], [need(2)])
    assert line_break_even(question, "g/owned", enumerated).price.verdict == "always"
    capped = replace(question, limits=plan_limits(budgets=(budget_row("budget", F(30)),)))
    found = line_break_even(capped, "g/owned", enumerated).price
    assert (found.verdict, found.value) == ("at", 15)


def test_a_line_that_is_of_no_use():
    lines = [line("g", "owned", 0, 4, site=EAST), line("h", "on_demand", 1, 4, site=WEST)]
    question = fleet([option("a", "g", 1, 1), option("b", "h", 1, 1)], lines, [need(2)])
    assert line_break_even(question, "h/on_demand", enumerated).price.verdict == "never"


@pytest.mark.parametrize(("seed", "periods"), [(seed, periods) for periods in (1, 2) for seed in range(4)])
def test_below_its_price_a_line_is_used_and_above_it_is_not(seed, periods):
    question = random_fleet(random.Random(seed), periods, tight=False)
    bare = FleetLimits(tuple(row for row in question.limits.rows if row.kind in ("quota", "max-gpus")))
    question = replace(question, limits=bare)
    if enumerated(question).status == "infeasible":
        return
    for one in question.lines:
        found = line_break_even(question, one.id, enumerated).price
        if found.verdict == "always":
            assert used(at_price(question, one.id, F(1000)), one.id)
        elif found.verdict == "never":
            assert not used(at_price(question, one.id, E), one.id)
        else:
            assert found.verdict == "at"
            assert used(at_price(question, one.id, found.value - E), one.id)
            assert not used(at_price(question, one.id, found.value + E), one.id)


def test_an_outside_supplier_by_hand():
    """A replica costs 4 and carries 1. Of 1.5 requests/s the supplier may take the half, or all of it."""
    lines = [line("g", "on_demand", 4, 4)]
    question = fleet([option("a", "g", 1, 1)], lines, [need("1.5")], apis=(api("w/api", 24),))
    found = api_break_even(question, "w/api", enumerated).price
    # Both replicas cost 8: one replica and a third of 24 x f, or all of it, 24 x f. Even at f = 1/2.
    assert (found.verdict, found.value) == ("at", F(1, 2))


def test_a_search_that_was_cut_still_tells_what_is_sure():
    def cut(question, goal):
        best = enumerated(question)
        bound = best.cost_usd * F(3, 4)
        return FleetChoice("feasible", best.periods, best.cost_usd, best.value, bound, F(1, 4))

    lines = [line("g", "on_demand", 4, 4, site=EAST), line("h", "on_demand", 9, 4, site=WEST)]
    question = fleet([option("a", "g", 1, 1), option("b", "h", 1, 2)], lines, [need(2)])
    found = line_break_even(question, "h/on_demand", cut).price
    # 8 without it, at least 6: up to 6 it is sure to be used.
    assert (found.verdict, found.value, found.at_least) == ("unknown", None, 6)


# -- GPU types over several hours, places and terms ----------------------------------------------------------


def using(question, periods, gpu):
    types = {one.id: one.gpu for one in question.options}
    return any(types[name] == gpu for period in periods for (name, _), n in period.counts.items() if n)


def answered(question, goal="value"):
    """The best of all plans that use what must be used."""
    musts, objective = question.limits.must_use, question.limits.objective
    best = None
    for total, periods in plans(question):
        if all(using(question, periods, gpu) for gpu in musts):
            value = total.value(objective)
            if best is None or value < best[0]:
                best = (value, total.usd, periods)
    if best is None:
        return FleetChoice("infeasible")
    value, usd, periods = best
    return FleetChoice("optimal", periods, usd, value, value, F(0))


def price_by_enumeration(question, gpu):
    """max (V - cost of everything else) / cost of the GPUs today, over all plans that use them."""
    budgets = plain(question.limits).budgets
    free = unlimited(question)
    prices = {one.id: one.usd_per_gpu_h for one in question.lines if one.gpu == gpu}
    every = list(plans(free))
    most = [total.usd for total, periods in every if not using(free, periods, gpu)]
    most += [b.usd_per_h * question.periods for b in budgets if question.periods == 1 or not b.every_period]
    if not most:
        return Threshold("always")
    best = None
    for total, periods in every:
        if not using(free, periods, gpu):
            continue
        own = sum(prices.get(name, 0) * n for period in periods for name, n in period.bought.items())
        rest = total.usd - own
        if own == 0 and rest <= min(most):
            return Threshold("always")
        if own:
            even = (min(most) - rest) / own
            best = even if best is None else max(best, even)
    if best is None or best < 0:
        return Threshold("never")
    return Threshold("at", best * min(usd for usd in prices.values() if usd))


SEEDS = [(seed, periods) for periods in (1, 2) for seed in range(8)]


@pytest.mark.parametrize(("seed", "periods"), SEEDS)
def test_the_price_of_a_gpu_type_equals_enumeration(seed, periods):
    question = random_fleet(random.Random(seed), periods, tight=False)
    question = replace(question, limits=replace(question.limits, objective="cost"))
    for gpu in ("g", "h"):
        found = break_even(question, gpu, lambda asked, goal: answered(asked)).price
        assert Threshold(found.verdict, found.value) == price_by_enumeration(question, gpu)


def pays(question, gpu, factor):
    """Some plan uses the faster GPU and is as good as the best without it."""
    options = tuple(
        replace(one, rates_rps=tuple(rate * factor for rate in one.rates_rps)) if one.gpu == gpu else one
        for one in question.options
    )
    faster = replace(question, options=options)
    values = {True: [], False: []}
    for total, periods in plans(faster):
        values[using(faster, periods, gpu)].append(total.value(question.limits.objective))
    return bool(values[True]) and (not values[False] or min(values[True]) <= min(values[False]))


@pytest.mark.parametrize(("seed", "periods"), SEEDS)
def test_the_speed_of_a_gpu_type_equals_enumeration(seed, periods):
    """Of fleets that minimize GPUs over several hours too, where no limit says what they may come to."""
    question = random_fleet(random.Random(seed), periods, tight=False)
    for gpu in ("g", "h"):
        speed = break_even(question, gpu, answered).speed
        if speed.verdict == "at":
            assert pays(question, gpu, speed.value)
            assert not pays(question, gpu, speed.value * F(200, 201))
        else:
            assert speed.verdict in ("always", "never")
            for factor in (F(1, 4), F(1), F(1000)):
                assert pays(question, gpu, factor) == (speed.verdict == "always")


def test_free_lines_beside_paid_ones_are_used_at_any_price():
    lines = [line("g", "owned", 0, 4, site=EAST), line("g", "on_demand", 5, 4, site=EAST)]
    lines.append(line("h", "on_demand", 2, 9, site=WEST))
    options = [option("a", "g", 1, 1), option("b", "h", 1, 1)]
    found = break_even(fleet(options, lines, [need(2)]), "g", answered)
    assert (found.usd_per_gpu_h, found.price) == (5, Threshold("always"))
    # Without the free ones it is as good as the other type up to the price of that.
    found = break_even(fleet(options, lines[1:], [need(3)]), "g", answered)
    assert found.price == Threshold("at", 2)


def test_a_type_is_told_with_its_lines():
    lines = [line("g", "reserved", 2, 4, site=EAST), line("g", "on_demand", 4, 4, site=EAST)]
    lines.append(line("h", "on_demand", 3, 9, site=WEST))
    question = fleet([option("a", "g", 1, 1), option("b", "h", 1, 1)], lines, [need(1)])
    names = ["g/reserved", "g/on_demand"]
    whole, *each = break_evens(question, "g", names, answered)
    assert (whole.told, whole.usd_per_gpu_h, whole.price) == ("lines", 2, Threshold("at", F(3)))
    assert [(one.line, one.price) for one in each] == [
        ("g/reserved", Threshold("at", F(3))),
        ("g/on_demand", Threshold("at", F(2))),
    ]


def test_a_supplier_or_a_line_has_no_price_where_cost_is_not_minimized():
    lines = [line("g", "on_demand", 4, 4)]
    question = fleet(
        [option("a", "g", 1, 1)], lines, [need(1)], FleetLimits(objective="gpus"), apis=(api("w/api", 24),)
    )
    assert line_break_even(question, "g/on_demand", answered) is None
    assert api_break_even(question, "w/api", answered) is None
