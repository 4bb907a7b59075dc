"""The sections on losses, on the way from today's fleet and on changes, at 80 columns."""

import pytest

from planner.report import terminal
from planner.report.fleet_reasons_text import scenarios_section, survives_section
from planner.report.move_text import move_section
from planner.schema.fleet_answers import (
    CarriedAfter,
    ChangeStep,
    Excess,
    Move,
    RobustVariant,
    Scenario,
    Survival,
)


def page(view):
    text = terminal.render(view, width=80)
    assert all(len(line) <= 80 for line in text.splitlines())
    return text


def words(view):
    return " ".join(page(view).split())


def loss(kind="zone", name="dc1/eu/a", share=1.0, workloads=None, **more):
    carried = [CarriedAfter(workload="chat", share=share, share_without_headroom=min(1.0, share * 1.2))]
    settings = {
        "loss": kind,
        "name": name,
        "period": 0,
        "lost_gpus": 8,
        "lost_replicas": 4,
        "carried": workloads or carried,
        "share": share,
        "share_without_headroom": min(1.0, share * 1.2),
        "survives": share == 1,
    }
    return Survival(**(settings | more))


def has_line(text, line):
    return line.split() in [one.split() for one in text.splitlines()]


def test_nothing_to_say_is_no_section():
    assert survives_section(()) is None
    assert move_section(None) is None
    assert scenarios_section(()) is None


def test_losses_with_their_shares():
    text = page(survives_section([loss("replica", "chat/serve"), loss(share=0.75)]))
    assert "Survives" in text
    assert has_line(text, "one replica any pool yes 100 % 100 %")
    assert has_line(text, "zone dc1/eu/a no 75 % 90 %")
    assert "hour" not in text.splitlines()[2]


def test_pools_that_survive_share_a_line_and_others_have_their_own():
    alike = page(survives_section([loss("replica", "chat/serve"), loss("replica", "code/serve")]))
    assert alike.count("one replica") == 1
    text = page(survives_section([loss("replica", "chat/serve"), loss("replica", "code/serve", 0.5)]))
    assert text.count("one replica") == 1
    assert has_line(text, "one replica code/serve no 50 % 60 %")


def test_the_worst_hour_is_named_where_hours_differ():
    text = page(survives_section([loss(share=0.5, period=14), loss(name="dc1/eu/b", period=3)]))
    assert has_line(text, "zone dc1/eu/a 14 no 50 % 60 %")
    assert has_line(text, "zone dc1/eu/b yes 100 % 100 %")


def test_who_is_hit_and_who_could_help():
    hit = [
        CarriedAfter(workload="chat", share=0.5, share_without_headroom=0.6, supplier_could_help=True),
        CarriedAfter(workload="batch", share=0.25, share_without_headroom=0.25, may_wait=True),
        CarriedAfter(workload="code", share=1, share_without_headroom=1),
    ]
    text = words(survives_section([loss("spot", "all spot GPUs", 0.6, hit, is_lower_bound=True)]))
    assert "all spot GPUs 8 GPUs no ≥ 60 % ≥ 72 %" in text
    assert "chat 50 %, an outside supplier could take the rest; batch 25 %, may wait." in text
    assert "code" not in text
    assert "not every choice of replicas to drop was tried" in text


@pytest.mark.parametrize("share", [0.9996, 0.99999999])
def test_nearly_all_is_not_all(share):
    assert has_line(page(survives_section([loss(share=share)])), "zone dc1/eu/a no 99.9 % 100 %")


def step(number, gpu, before, after, **more):
    return ChangeStep.model_validate({"step": number, "gpu": gpu, "from": before, "to": after, **more})


def test_the_way_with_what_it_costs_and_what_gives():
    move = Move(
        steps=(
            step(1, "h100-sxm", 0, 1024, share=1.0),
            step(2, "l40s", 16, 16, retasked=8, share=0.9),
            step(3, "a100-sxm", 2048, 0, share=1.0),
        ),
        period=3,
        excess=(Excess(id="stock:h100-sxm", most=16, needed=24, unit="GPUs"),),
        double_gpu_h=12.5,
        double_usd=50,
        hours=240.25,
    )
    text = page(move_section(move))
    assert has_line(text, "1 h100-sxm 0 1,024 add 1,024 100 %")
    assert has_line(text, "2 l40s 16 16 8 get other work 90 %")
    assert has_line(text, "3 a100-sxm 2,048 0 remove 2,048 100 %")
    flat = words(move_section(move))
    assert "Do it in hour 3" in flat
    assert "stock:h100-sxm has to give for a while: 24 GPUs instead of 16 GPUs (8 GPUs more)." in flat
    assert "12.5 GPU-hours twice, 50.00 USD." in flat
    assert "10.0 days" in flat
    assert "never falls below" in flat


def test_a_way_that_falls_short_and_one_without_rates():
    text = words(move_section(Move(steps=(step(1, "a", 4, 4, retasked=2),), keeps_demand=False)))
    assert "Capacity falls below the demand" in text
    assert "carried" not in text.split("•")[0]
    assert "Assumed" in words(move_section(Move(steps=(step(1, "a", 0, 4),), assumed="equal parts")))


def test_no_change_says_so():
    assert "Nothing changes" in words(move_section(Move(steps=())))


def scenario(name="demand +20 %", **more):
    settings = {
        "name": name,
        "carried_share": 0.8333333,
        "carried_without_headroom": 1.0,
        "workload": "chat",
        "fixed_usd_per_hour": 40.0,
        "best_usd_per_hour": 48.0,
        "status": "optimal",
    }
    return Scenario(**(settings | more))


def test_changes_beside_the_best_plan():
    cases = [
        scenario(),
        scenario("speed -15 %", status="feasible", late=("chat",)),
        scenario("demand +20 %, speed -15 %", best_usd_per_hour=None, status="infeasible"),
        scenario("spot price +20 %", best_usd_per_hour=None, status="unknown"),
    ]
    text = page(scenarios_section(cases))
    assert has_line(text, "demand +20 % 83.3 % 100 % 40.00 USD/h 48.00 USD/h")
    assert has_line(text, "speed -15 % 83.3 % 100 % 40.00 USD/h ≤ 48.00 USD/h")
    assert has_line(text, "spot price +20 % 83.3 % 100 % 40.00 USD/h")
    assert "no plan" in text
    assert "the first token of chat comes later" in words(scenarios_section(cases))


def test_the_safer_fleet_and_its_premium():
    robust = RobustVariant(
        demand=1.2,
        speed=0.85,
        status="optimal",
        usd_per_hour=60,
        premium_usd_per_hour=20,
        premium_share=0.5,
        gpus={"h100-sxm": 24},
    )
    text = words(scenarios_section((), robust))
    assert "demand +20 % and speed -15 % costs 60.00 USD/h, 20.00 USD/h more than this plan, +50 %" in text
    assert "24 × h100-sxm" in text
    none = words(scenarios_section((), RobustVariant(demand=1.2, speed=0.85, status="infeasible")))
    assert "no plan" in none
