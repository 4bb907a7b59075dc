"""A plan kept while demand, speed and prices change, by hand; a toy planner solves again by trying all."""

from fractions import Fraction

import pytest

from planner.explain.robustness import robust_variant, scaled, scenarios
from planner.schema.choice import Coupling, Option, Share
from planner.schema.fleet import (
    Api,
    Deferrable,
    FleetChoice,
    FleetDemand,
    FleetProblem,
    Host,
    Line,
    PeriodChoice,
    Site,
    StartCharge,
)

F = Fraction


def problem(**more):
    """Day 100, night 40; owned GPUs at 1 USD/h (6 at most), on-demand ones at 3; 10 requests/s each."""
    return FleetProblem(
        2,
        (Option("a", "chat", "serve", "box", "box", 1, (F(10),), ttft_s=F(1), transfer_s=F(1, 10)),),
        (Host("box", "box"),),
        (Line("box/owned", "box", "box", "owned", F(1), max_gpus=6),
         Line("box/od", "box", "box", "on_demand", F(3))),
        (FleetDemand("chat", "serve", ((F(100),), (F(40),))),),
        **more,
    )  # fmt: skip


def solve(asked):
    """The cheapest: as many replicas as the demand takes, owned first."""
    periods = []
    for needs in asked.demands[0].demand_rps:
        count = -(-needs[0] // asked.options[0].rates_rps[0])
        owned = min(6, count) if asked.lines[0].usd_per_gpu_h <= asked.lines[1].usd_per_gpu_h else 0
        bought = {"box/owned": owned, "box/od": count - owned}
        periods.append(
            PeriodChoice({("a", Site()): count}, bought, (Share("chat", "serve", "all", "a", F(1)),))
        )
    return FleetChoice("optimal", tuple(periods))


def test_the_scenarios_by_hand():
    """The plan: 10 by day (6 + 12 USD), 4 by night (4 USD): 11 USD/h on average."""
    found = {one.name: one for one in scenarios(problem(), solve(problem()), solve)}
    table = {
        name: (one.carried_share, one.fixed_usd_per_hour, one.best_usd_per_hour)
        for name, one in found.items()
    }
    assert table == {
        "demand -20 %": (1.0, 11.0, 8.0),  # 8 and 4 (3.2): 6 + 6, 4
        "demand +20 %": (pytest.approx(100 / 120), 11.0, 14.5),  # 12 and 5: 6 + 18, 5
        "speed -15 %": (0.85, 11.0, 14.5),  # 100 / 8.5 = 11.8: 12; 40 / 8.5 = 4.7: 5
        "speed +15 %": (1.0, 11.0, 9.5),  # 8.7: 9; 3.5: 4: 6 + 9, 4
        "demand +20 %, speed -15 %": (pytest.approx(0.85 / 1.2), 11.0, 19.5),  # 14.1: 15; 5.6: 6
        "owned price -20 %": (1.0, 10.0, 10.0),
        "owned price +20 %": (1.0, 12.0, 12.0),
        "on-demand price -20 %": (1.0, pytest.approx(9.8), pytest.approx(9.8)),
        "on-demand price +20 %": (1.0, pytest.approx(12.2), pytest.approx(12.2)),
    }
    assert found["demand +20 %"].workload == "chat"
    assert found["demand -20 %"].workload == ""
    assert found["owned price -20 %"].prices == {"owned": 0.8}
    assert {one.status for one in found.values()} == {"optimal"}


def test_headroom_absorbs_a_change():
    """With 20 % headroom in the demand, 20 % more than expected still is carried whole."""
    found = {one.name: one for one in scenarios(problem(), solve(problem()), headroom={"chat": F(1, 5)})}
    more = found["demand +20 %"]
    assert more.carried_share == pytest.approx(100 / 120)
    assert more.carried_without_headroom == 1
    assert (more.best_usd_per_hour, more.status) == (None, "unknown")


def test_the_robust_variant_and_its_premium():
    """15 by day, 6 by night: 6 + 27 and 6 USD, 19.5 USD/h: 8.5 more than 11."""
    found = robust_variant(problem(), solve)
    assert (found.usd_per_hour, found.premium_usd_per_hour) == (19.5, 8.5)
    assert found.premium_share == pytest.approx(8.5 / 11)
    assert found.gpus == {"box": 15}
    assert (found.demand, found.speed, found.status) == (1.2, 0.85, "optimal")


def test_no_robust_variant():
    found = robust_variant(problem(), lambda asked: FleetChoice("infeasible"), choice=solve(problem()))
    assert (found.status, found.usd_per_hour, found.premium_usd_per_hour) == ("infeasible", None, None)
    one, *_ = scenarios(problem(), solve(problem()), lambda asked: FleetChoice("infeasible"))
    assert (one.status, one.best_usd_per_hour) == ("infeasible", None)


def test_scaling_touches_everything_that_hangs_on_it():
    asked = problem(
        apis=(Api("api", "chat", ((F(5),), (F(2),))),),
        starts=(StartCharge(("box/od",), F(3, 4)),),
    )
    found = scaled(asked, F(2), F(1, 2), {"on_demand": F(3)})
    assert found.demands[0].demand_rps == ((200,), (80,))
    (option,) = found.options
    assert (option.rates_rps, option.ttft_s, option.transfer_s) == ((5,), 2, F(1, 5))
    assert [line.usd_per_gpu_h for line in found.lines] == [1, 9]
    assert found.apis[0].usd_per_h == ((10,), (4,))
    assert found.starts[0].usd_per_gpu == F(9, 4)
    assert scaled(asked) == asked
    assert [line.usd_per_gpu_h for line in scaled(asked, price_factor=F(2)).lines] == [2, 6]


def test_work_that_may_wait_grows_too():
    waiting = FleetDemand("chat", "serve", ((F(10),), (F(10),)), deferrable=Deferrable((F(1), F(1)), 2))
    asked = FleetProblem(2, problem().options, problem().hosts, problem().lines, (waiting,))
    (demand,) = scaled(asked, F(2)).demands
    assert (demand.demand_rps, demand.deferrable) == (((20,), (20,)), waiting.deferrable)


@pytest.mark.parametrize("factors", [(F(0),), (F(1), F(-1)), (F(1), F(1), {"spot": F(0)})])
def test_factors_are_above_zero(factors):
    with pytest.raises(ValueError, match="above zero"):
        scaled(problem(), *factors)


def test_slower_replicas_may_break_the_first_token():
    """1 s + 0.1 s at the limit of 1.2 s: at 85 % speed it takes 1.29 s."""
    options = (
        Option("p", "chat", "prefill", "box", "box", 1, (F(10),), ttft_s=F(1), transfer_s=F(1, 10)),
        Option("d", "chat", "decode", "box", "box", 1, (F(10),), transfer_s=F(1, 20)),
    )
    asked = FleetProblem(
        1,
        options,
        problem().hosts,
        problem().lines,
        tuple(FleetDemand("chat", role, ((F(5),),)) for role in ("prefill", "decode")),
        couplings=(Coupling("chat", F("1.2")),),
    )
    counts = {("p", Site()): 1, ("d", Site()): 1}
    plan = FleetChoice("optimal", (PeriodChoice(counts, {"box/owned": 2}),))
    late = {one.name: one.late for one in scenarios(asked, plan)}
    assert late["speed -15 %"] == ("chat",)
    assert late["speed +15 %"] == ()
    assert late["demand +20 %"] == ()
