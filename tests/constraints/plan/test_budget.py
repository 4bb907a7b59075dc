"""Money in every hour, or on average."""

import pytest
from posted_limits import F, faults, in_cp, in_mip, plan, stated, toy

from planner.constraints.plan.budget import Budget

HOURLY, DAILY = toy(Budget().of(F(20)), periods=2), toy(Budget().of(F(20), "day", False), periods=2)


@pytest.mark.parametrize(
    ("budget", "rows"),
    [
        ("20 USD/h", [("budget", 20, "fleet.budget")]),
        ({"per_hour": "20 USD/h"}, [("budget", 20, "fleet.budget.per_hour")]),
        ({"per_day": 48}, [("budget", 2, None)]),
        (
            {"per_hour": "9 USD/h", "per_month": 730},
            [("budget", 9, "fleet.budget.per_hour"), ("budget:month", 1, None)],
        ),
    ],
)
def test_the_problem_states_it(budget, rows):
    assert stated(Budget(), {"budget": budget}) == rows


def test_both_engines_get_a_row_for_every_hour_or_one_for_all():
    hours = [
        " + ".join((f"buy[g/owned@{t}]", f"2 buy[g/spot@{t}]", f"6 buy[h/on_demand@{t}]")) for t in (0, 1)
    ]
    assert in_cp(HOURLY) == in_mip(HOURLY) == [f"{hour} <= 20" for hour in hours]
    day = " + ".join(
        f"{n} buy[{line}@{t}]".removeprefix("1 ")
        for n, line in ((1, "g/owned"), (2, "g/spot"), (6, "h/on_demand"))
        for t in (0, 1)
    )
    assert in_cp(DAILY) == in_mip(DAILY) == [f"{day} <= 40"]


def test_feasible_when_it_suffices():
    dear, cheap = plan({"g/spot": 10}), plan({"g/spot": 1})
    assert faults(HOURLY, dear, cheap) == []
    assert faults(DAILY, plan({"g/spot": 19}), cheap) == []


def test_infeasible_when_one_hour_or_the_mean_is_dearer():
    cheap = plan({"g/spot": 1})
    assert faults(HOURLY, plan({"g/spot": 11}), cheap) == ["period 0: budget: 22 of 20"]
    assert faults(DAILY, plan({"g/spot": 20}), cheap) == ["budget:day: 21 of 20 on average"]
