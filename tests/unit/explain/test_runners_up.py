"""The plans that lost."""

from fractions import Fraction

import pytest
from plan_limits import budget_row, plan_limits

from planner.explain.bought_alone import Alone
from planner.explain.runners_up import runners_up
from planner.schema.choice import Option
from planner.schema.fleet import FleetProblem, Line


def plan(name, gpu, usd, gpus=8, replicas=4, watts=100):
    option = Option(
        name, "chat", "serve", gpu, gpu, gpus // replicas, (Fraction(5, 2),), label=f"label {name}"
    )
    return Alone(option, replicas, gpus, Fraction(usd), Fraction(watts))


PLANS = [
    plan("best", "h100", 20),
    plan("other", "h100", 25),
    plan("third", "h100", 26),
    plan("a100", "a100", 30, gpus=16),
    plan("a100-dear", "a100", 40),
    plan("l40s", "l40s", 22),
]


def lost(plans=PLANS, chosen=("best",), best=20, objective="cost", limited=None, limits=None, layouts=()):
    lines = {one.option.gpu: Line(one.option.gpu, one.option.gpu, "", "spot", Fraction(1)) for one in plans}
    options = tuple(one.option for one in plans)
    problem = FleetProblem(1, options, (), tuple(lines.values()), (), limits or plan_limits())
    stops = limited or {}
    return runners_up(plans, chosen, Fraction(best), 8, objective, stops, problem, dict(layouts))


def test_one_plan_a_gpu_type_and_one_other_layout_cheapest_first():
    assert [(row.gpu, row.option) for row in lost()] == [
        ("l40s", "label l40s"),
        ("h100", "label other"),
        ("a100", "label a100"),
    ]


def test_a_layout_that_differs_only_in_its_share_of_memory_is_no_other_layout():
    layouts = {"best": "tp1", "other": "tp1", "third": "tp2"}
    assert [row.option for row in lost(layouts=layouts) if row.gpu == "h100"] == ["label third"]


def test_the_reason_compares_cost_gpus_and_rates():
    row = lost(limited={"a100": "ttft"})[-1]
    assert (row.replicas, row.gpus, row.cost_usd_per_hour) == (4, 16, 30.0)
    assert row.why == (
        "50.0 % more cost; 16 GPUs instead of 8; at 1.88 USD per GPU-hour; "
        "a replica carries 2.5 requests/s, limited by time to first token"
    )


def test_equal_plans_say_so():
    assert lost([plan("best", "h100", 20), plan("twin", "b200", 20)])[0].why.startswith("the same cost; at")


def test_a_plan_that_breaks_a_limit_says_so_and_stands_behind():
    plans = [*PLANS, plan("cheap", "t4", 10, gpus=80), plan("fits", "l4", 50)]
    rows = lost(plans, limits=plan_limits({"t4": 64}, budgets=(budget_row("budget", Fraction(45)),)))
    assert [row.gpu for row in rows] == ["l40s", "h100", "a100", "t4", "l4"]
    assert rows[3].why.startswith("80 GPUs, above the stock of 64; 50.0 % less cost; 80 GPUs instead of 8")
    assert rows[4].why.startswith("above the budget of 45.00 USD/h; 150.0 % more cost")
    (capped,) = lost([PLANS[0], PLANS[3]], limits=plan_limits(max_gpus=8))
    assert capped.why.startswith("16 GPUs, above max_gpus 8")


def test_a_plan_of_the_same_gpu_that_keeps_the_limits_comes_before_a_cheaper_one():
    plans = [PLANS[0], plan("wide", "t4", 10, gpus=80), plan("narrow", "t4", 60)]
    assert [row.option for row in lost(plans, limits=plan_limits({"t4": 64}))] == ["label narrow"]


@pytest.mark.parametrize(("objective", "text"), [("gpus", "100.0 % more GPUs"), ("power", "the same power")])
def test_other_objectives(objective, text):
    best = {"gpus": 8, "power": 100}[objective]
    assert lost([PLANS[0], PLANS[3]], best=best, objective=objective)[0].why.startswith(text)


def test_hardware_that_costs_nothing():
    rows = lost([plan("best", "h100", 0), plan("dear", "b200", 5)], best=0)
    assert rows[0].why.startswith("more cost; at 0.62 USD per GPU-hour")


def test_at_most_four_types():
    many = [PLANS[0], *(plan(f"p{i}", f"gpu{i}", 30 + i) for i in range(9))]
    assert [row.gpu for row in lost(many)] == ["gpu0", "gpu1", "gpu2", "gpu3"]
