"""The limits of a fleet by name, and the question after each of them moved."""

from __future__ import annotations

from fractions import Fraction

import pytest
from fleet_table import EAST, WEST, api, enumerated, fleet, line, need, option
from plan_limits import budget_row, plain, plan_limits, quota_row

from planner.explain.axis import Axis
from planner.explain.steps import step
from planner.planning.asking.asker import FleetAsker
from planner.planning.asking.condensed import condensed
from planner.planning.asking.limits import fleet_limits
from planner.planning.asking.moved import moved
from planner.planning.run import Run
from planner.schema.choice import Spares
from planner.schema.fleet import Changes, Deferrable
from planner.schema.problem import Problem

F = Fraction
LINES = [
    line("g", "owned", 0, 2, site=EAST),
    line("g", "spot", 1, None, max_share=F(1, 2), site=EAST),
    line("h", "on_demand", 3, 12, unit_gpus=4, site=WEST),
]
LIMITS = plan_limits(
    stock_gpus={"g": 5},
    quotas=(quota_row("quota:east", ("g/owned", "g/spot"), 6),),
    budgets=(
        budget_row("budget", F(20)),
        budget_row("budget:day", F(15), every_period=False),
    ),
    max_gpus=13,
    power_w=F(2000),
    changes=Changes({"g": 4}, 3),
)
CHAT = need("2.4", "4.8", spares=Spares("replicas", 1), min_replicas=2, max_utilization=F(9, 10))
CODE = need("1", "3", workload="code", max_utilization=F(9, 10))
QUESTION = fleet(
    [option("a", "g", 1, 2), option("b", "h", 4, 9), option("c", "g", 1, 1, "code")],
    LINES,
    [CHAT, CODE],
    LIMITS,
    apis=(api("code/api", 2, 6, workload="code"),),
)
PROBLEM = Problem.model_validate(
    {
        "name": "two",
        "workers": "rows.csv",
        "workloads": [
            {"name": "w", "demand": {"hourly_rps": [2, 4]}, "redundancy": 1},
            {"name": "code", "demand": {"hourly_rps": [1, 3]}, "headroom": {"capacity": "0 %"}},
        ],
        "fleet": {"headroom": {"capacity": "20 %"}, "min_replicas": 2},
    }
)


def named(question=QUESTION, problem=PROBLEM, paths=None):
    return {limit.id: limit for limit in fleet_limits(question, problem, paths or {})}


def test_every_limit_has_its_name_and_value():
    values = {name: (limit.kind, limit.value) for name, limit in named().items()}
    assert values == {
        "stock:g": ("stock", 5),
        "quota:east": ("quota", 6),
        "budget": ("budget", 20),
        "budget:day": ("budget", 15),
        "max-gpus": ("max-gpus", 13),
        "power": ("power", 2000),
        "changes": ("changes", 3),
        "supply:g/owned": ("supply", 2),
        "share:g/spot": ("share", F(1, 2)),
        "supply:h/on_demand": ("supply", 12),
        "demand:w": ("demand", 4),  # 4.8 with a fifth kept free
        "demand:code": ("demand", 3),
        "headroom": ("headroom", F(1, 5)),
        "redundancy:w": ("redundancy", 1),
        "min_replicas": ("replicas", 2),
        "max_utilization": ("utilization", F(9, 10)),
    }


def test_what_somebody_could_grant():
    granted = {name for name, limit in named().items() if limit.grantable}
    assert granted == {"stock:g", "quota:east", "budget", "budget:day", "max-gpus", "power", "changes"}


def test_without_the_problem_every_workload_states_its_own():
    found = named(problem=None)
    assert "headroom" not in found
    assert found["demand:w"].value == F("4.8")
    assert {"redundancy:w", "min_replicas:w"} <= found.keys()
    assert "min_replicas:code" not in found  # one is the least there is


def test_paths_are_those_that_the_problem_states():
    found = named(paths={"supply:g/owned": "fleet.supply.0.max_gpus"})
    assert (found["quota:east"].path, found["power"].path) == ("fleet.quota.east", "fleet.max_power")
    assert (found["supply:g/owned"].path, found["budget:day"].path) == ("fleet.supply.0.max_gpus", None)


def test_caps_of_single_periods_are_told_apart_from_the_mean():
    assert {name for name, limit in named().items() if limit.per_period} == {
        "stock:g",
        "quota:east",
        "budget",
        "max-gpus",
        "power",
        "supply:g/owned",
        "share:g/spot",
        "supply:h/on_demand",
    }
    one = fleet(QUESTION.options, LINES, [need(1), need(1, workload="code")], LIMITS)
    assert not any(limit.per_period for limit in fleet_limits(one, None, {}))


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("stock:g", "+1 GPU", 6),
        ("supply:h/on_demand", "+4 GPUs", 16),
        ("max-gpus", "+1 GPU", 14),
        ("budget", "+1 USD/h", 21),
        ("share:g/spot", "+1 % of the GPUs", "0.51"),
        ("changes", "+1 GPU", 4),
        ("power", "+10 %", 2200),
        ("demand:w", "-1 %", "3.96"),
    ],
)
def test_a_step_is_what_somebody_would_ask_for(name, text, value):
    found = step(Axis(named()[name]))
    assert (found.text, found.value) == (text, F(value))


def test_a_step_reaches_the_next_server():
    question = fleet(QUESTION.options[1:2], LINES[2:], [need(1)], plan_limits(stock_gpus={"h": 6}))
    assert step(Axis(fleet_limits(question, None, {})[0])).value == 8


def test_a_bucket_that_nothing_serves():
    question = fleet([option("a", "g", 1, 0)], LINES[:1], [need(1)])
    assert next(limit.id for limit in fleet_limits(question, None, {})) == "unservable:w/all"
    widest = fleet([option("a", "g", 1, 1)], LINES[:1], [need(1)])
    assert "unservable:w/all" not in {limit.id for limit in fleet_limits(question, None, {}, widest)}
    after = moved(question, named(question, None), {"unservable:w/all": None})
    assert after.demands[0].demand_rps == ((0,),)


def test_work_that_may_wait_is_told_on_average():
    waiting = need(6, 6, deferrable=Deferrable((F(1, 2), F(1, 2)), 2))
    question = fleet([option("a", "g", 1, 1)], LINES[:1], [waiting])
    assert named(question, None)["demand:w"].value == 3


# -- moved ---------------------------------------------------------------------------------------------------


def changed(name, value):
    return moved(QUESTION, named(), {name: None if value is None else F(value)})


def test_the_market_moves():
    today = {row.id: row.most for row in LIMITS.rows}
    for name, value in (("stock:g", 7), ("quota:east", 8), ("budget", 30), ("max-gpus", 14), ("power", 9)):
        assert {row.id: row.most for row in changed(name, value).limits.rows} == today | {name: value}
    for name in today:
        after = changed(name, None).limits
        assert [row.id for row in after.rows] == [other for other in today if other != name]
    assert changed("changes", 5).limits.changes == Changes({"g": 4}, 5)
    assert changed("changes", None).limits.changes is None


def test_the_supply_moves():
    assert [one.max_gpus for one in changed("supply:h/on_demand", 16).lines] == [2, None, 16]
    assert [one.max_gpus for one in changed("supply:g/owned", None).lines] == [None, None, 12]
    assert [one.max_share for one in changed("share:g/spot", "0.6").lines] == [None, F("0.6"), None]


def test_demand_moves_all_periods_and_what_suppliers_are_paid():
    after = changed("demand:code", "1.5")
    assert after.demands[1].demand_rps == ((F(1, 2),), (F(3, 2),))
    assert after.demands[0] == QUESTION.demands[0]
    assert after.apis[0].usd_per_h == ((1,), (3,))


def test_headroom_moves_the_fleet_and_nothing_else():
    after = changed("headroom", 0)
    assert after.demands[0].demand_rps == ((2,), (4,))
    assert after.demands[1] == QUESTION.demands[1]  # states its own
    assert after.apis == QUESTION.apis


def test_the_rest_that_is_given():
    assert [d.spares.count for d in changed("redundancy:w", 0).demands] == [0, 0]
    # Code needs one replica only: a limit of the fleet never tightens a workload.
    assert [d.min_replicas for d in changed("min_replicas", 1).demands] == [1, 1]
    assert [d.max_utilization for d in changed("max_utilization", None).demands] == [1, 1]


def test_several_changes_at_once():
    after = moved(QUESTION, named(), {"demand:w": F(2), "headroom": F(0), "power": None})
    assert after.demands[0].demand_rps == ((1,), (2,))
    assert plain(after.limits).power_w is None


# -- answers -------------------------------------------------------------------------------------------------


def test_all_periods_in_one_choice():
    """One replica at night, three by day, at 1 USD and 100 W each; three more GPUs cost 2 USD once."""
    lines = [line("g", "on_demand", 1, 8, site=EAST)]
    limits = plan_limits(
        stock_gpus={"g": 8}, budgets=(budget_row("budget", F(9)), budget_row("budget:day", F(9), False)),
        max_gpus=9, power_w=F(900), quotas=(quota_row("quota:east", ("g/on_demand",), 9),),
        changes=Changes({"g": 3, "h": 1}, 9),
    )  # fmt: skip
    question = fleet([option("a", "g", 1, 1)], lines, [need(1, 3)], limits)
    choice = condensed(question, fleet_limits(question, None, {}), enumerated(question))
    assert (choice.counts, choice.gpus, choice.cost_usd_per_h, choice.power_w) == ({"a": 3}, {"g": 3}, 2, 300)
    assert choice.value == 4
    assert choice.taken == {
        "stock:g": 3,
        "quota:east": 3,
        "budget": 3,
        "budget:day": 2,
        "max-gpus": 3,
        "power": 300,
        "changes": 3,  # at night two of g are given back, and h
        "supply:g/on_demand": 3,
    }


def test_the_same_question_is_asked_once_and_a_known_answer_never():
    asked = []

    def solver(question, goal, limit_s):
        asked.append((plain(question.limits).stock_gpus, goal, limit_s))
        return enumerated(question)

    question = fleet([option("a", "g", 1, 1)], LINES[:1], [need(1)], plan_limits(stock_gpus={"g": 2}))
    limits = fleet_limits(question, None, {})
    asker = FleetAsker(lambda changes: question, limits, Run(), known=enumerated(question), solver=solver)
    assert asker.ask({}).status == "optimal"
    assert asker.ask({"stock:g": F(0)}).status == "infeasible"
    assert asker.ask({"stock:g": F(0)}).status == "infeasible"
    assert asked == [({"g": 0}, "value", None)]


def test_limits_of_replicas_go_to_whoever_poses_the_question():
    formulation = []

    def formulate(changes):
        formulation.append(dict(changes))
        return fleet([option("a", "g", 1, 4 if changes else 1)], LINES[:1], [need(3)])

    slow = Axis(named()["power"]).limit.__class__("itl:w", "latency", "", "s", F(1, 50))
    limits = (slow, *fleet_limits(formulate({}), None, {}))
    asker = FleetAsker(formulate, limits, Run(), solver=lambda question, goal, limit_s: enumerated(question))
    assert asker.ask({}).status == "infeasible"
    assert asker.ask({"itl:w": F(1, 10)}).counts == {"a": 1}
    assert asker.ask({"itl:w": F(1, 10), "supply:g/owned": F(0)}).status == "infeasible"
    assert formulation == [{}, {}, {"itl:w": F(1, 10)}]


def test_every_question_gets_a_part_of_the_time():
    """Today's optimum a quarter, the others an eighth of what is left; the search ends before the rest."""
    question = fleet([option("a", "g", 1, 1)], LINES[:1], [need(1)])
    times = []

    def solver(question, goal, limit_s):
        times.append(limit_s)
        return enumerated(question)

    limits = fleet_limits(question, None, {})
    late = FleetAsker(lambda changes: question, limits, Run(time_limit_s=0), solver=solver)
    assert late.ask({}).status == "unknown"
    early = FleetAsker(lambda changes: question, limits, Run(time_limit_s=1000), solver=solver)
    assert early.ask({}).status == "optimal"
    early.ask({"supply:g/owned": F(3)})
    early.ask({"supply:g/owned": F(4)}, "any")
    early.ask({"supply:g/owned": F(4)}, "value", "gpus")
    assert [round(limit_s) for limit_s in times] == [250, 125, 75, 75]
