"""Carbon dioxide of the electricity that all replicas take."""

import pytest
from posted_limits import EAST, WEST, F, faults, in_cp, in_mip, plan, stated, toy

from planner.constraints.plan.max_co2 import KgPerDay, MaxCo2
from planner.errors import InputError

GRAMS = KgPerDay(F(5, 4), (("east", F(100)), ("west", F(500))))
"""A small replica takes 0.1 kW x 1.25 x 24 h = 3 kWh a day: 0.3 kg in the east, 1.5 kg in the west."""
FIGURES = {"co2_g_per_kwh": {"east": 100, "west": 500}, "pue": 1.25}


def question(kg, periods=1):
    return toy(MaxCo2().row(F(kg), replicas=GRAMS, every_period=False), periods=periods)


def test_the_problem_states_it():
    assert stated(MaxCo2(), {"max_co2_kg_per_day": 6, **FIGURES}) == [
        ("max-co2", 6, "fleet.max_co2_kg_per_day")
    ]
    assert stated(MaxCo2(), FIGURES) == []


def test_a_place_without_a_figure_is_refused_by_name():
    with pytest.raises(InputError, match="g/spot at west"):
        stated(MaxCo2(), {"max_co2_kg_per_day": 6, "co2_g_per_kwh": {"east": 100}})


def test_what_one_replica_counts():
    small, large = toy().options
    assert [GRAMS(small, site) for site in (EAST, WEST)] == [F(3, 10), F(3, 2)]
    assert GRAMS(large, WEST) == F(9, 2)


def test_both_engines_get_its_row_over_the_day():
    """In units of 0.3 kg; the sum of both periods against twice the daily figure."""
    cp, mip = in_cp(question(6, 2)), in_mip(question(6, 2))
    assert mip == ["KgPerDay@0 + KgPerDay@1 <= 12", "KgPerDay@0 <= 17.2", "KgPerDay@1 <= 17.2"]
    assert cp == ["15 n[000:large] + 15 n[001:large] + place + place + 5 place + 5 place <= 40"]


def test_feasible_when_the_mean_keeps_it():
    assert faults(question(3), plan({}, small=10)) == []
    assert faults(question(9, 2), plan({}, small=2, site=WEST), plan({}, small=10, site=WEST)) == []


def test_infeasible_when_it_does_not():
    assert faults(question(3), plan({}, small=10, site=WEST)) == ["max-co2: 15 of 3 on average"]
