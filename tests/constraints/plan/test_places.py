"""Places of a workload."""

from day_toy import WEST, F, best, day, faults
from posted_limits import LINES, stated

from planner.constraints.plan.places import Places, counted

ONE = day(Places().row(1, "chat", sites=counted(day().lines), switch=True))


def test_the_problem_states_it():
    row = ("places:chat", 1, "fleet.mix_places")
    others = ("places:code", 1, "fleet.mix_places")
    lines = day().lines
    assert stated(Places(), {"mix_places": False}, lines) == [row, others]
    assert stated(Places(), {"mix_places": True}, lines) == stated(Places(), lines=lines) == []


def test_owned_gpus_are_no_second_place():
    assert counted(LINES) == ((WEST, "q/west"),)
    assert stated(Places(), {"mix_places": False}, LINES) == []


def test_spares_by_zone_or_provider_win():
    fleet = {"mix_places": False, "redundancy": {"zones": 1}}
    assert stated(Places(), fleet, day().lines) == []
    assert [row[0] for row in stated(Places(), fleet, day().lines, redundancy=1)] == [
        "places:chat",
        "places:code",
    ]


def test_both_engines_get_it():
    assert best(day()) == F(21, 2)
    assert best(ONE) == 12


def test_feasible_when_all_stand_together():
    assert faults(ONE, "ssssss") == faults(ONE, "LLLLLL") == []


def test_infeasible_when_they_stand_apart():
    assert faults(ONE, "sLsLsL") == ["places:chat: 2 of 1"]
