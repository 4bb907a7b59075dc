"""Ratios next to a plan's: what they cost, and whether they will do."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from planner.explain.prefill_decode import prefill_decode_steps
from planner.schema.choice import ChoiceProblem, Coupling, Limits, Option, PoolDemand, Spares, Supply
from planner.solver.solve import solve

NEEDED = (Fraction(10),)


def option(name, role, gpus, rate, supply="s"):
    return Option(
        id=name,
        workload="w",
        role=role,
        supply=supply,
        gpu="g",
        gpus=gpus,
        rates_rps=(Fraction(rate),),
        ttft_s=Fraction(0) if role == "prefill" else None,
        transfer_s=Fraction(0),
    )


def question(purchase="gpu", spares=0, limits=None, unit=8):
    """Prefill of 2 GPUs carries 4 a second, decode of 4 GPUs carries 6: three and two carry ten."""
    return ChoiceProblem(
        options=(option("p", "prefill", 2, 4), option("d", "decode", 4, 6)),
        supplies=(Supply("s", "g", purchase, unit, Fraction(3)),),
        demands=tuple(
            PoolDemand("w", role, NEEDED, spares=Spares("replicas", spares)) for role in ("prefill", "decode")
        ),
        limits=limits or Limits(),
        couplings=(Coupling("w", Fraction(1)),),
    )


def steps(problem):
    return prefill_decode_steps(problem, solve(problem))


def test_one_step_either_side_by_hand():
    found = steps(question())
    assert [(s.prefill, s.decode, s.replicas, s.gpus) for s in found] == [
        (1, -1, "4:1", "8:4"),
        (1, 0, "4:2", "8:8"),
        (-1, 1, "2:3", "4:12"),
        (0, 1, "3:3", "6:12"),
    ]
    assert [s.feasible for s in found] == [False, True, False, True]
    # 3 x 2 + 2 x 4 GPUs at 3 USD are 42 USD.
    assert [s.cost_usd_per_hour for s in found] == [36.0, 48.0, 48.0, 54.0]
    assert found[0].text == "+1 prefill, -1 decode: decode carries 60 % of the demand with its headroom"
    assert found[1].text == "+1 prefill: 48.00 USD/h (+6.00 USD/h)"
    assert found[2].text == "-1 prefill, +1 decode: prefill carries 80 % of the demand with its headroom"


def test_a_step_may_be_free_where_servers_are_bought_whole():
    found = steps(question("unit"))
    # 14 GPUs in two servers of eight: one prefill replica more fits.
    assert [s.cost_usd_per_hour for s in found if s.feasible] == [6.0, 9.0]


def test_spares_are_lost_first():
    found = steps(question(spares=1))
    assert found[0].replicas == "5:2"
    assert not found[0].feasible
    assert "decode carries 60 % of the demand with its headroom after losses" in found[0].text


def test_limits_of_the_market_forbid_a_step():
    limits = Limits(stock_gpus={"g": 14}, max_gpus=14, budget_usd_per_h=Fraction(42))
    found = steps(question(limits=limits))
    assert [s.feasible for s in found] == [False] * 4
    assert found[1].text == (
        "+1 prefill: 16 of 14 g in stock; 16 of 14 GPUs; 48.00 USD/h is above the budget"
    )


def test_no_replica_is_no_ratio():
    problem = replace(question(), options=(option("p", "prefill", 2, 4), option("d", "decode", 4, 20)))
    found = steps(problem)
    assert found[0].replicas == "4:0"
    assert found[0].cost_usd_per_hour is None
    assert found[0].text == "+1 prefill, -1 decode: decode needs 1 replica"


def test_nothing_is_said_of_workloads_served_together():
    serve = replace(question().demands[0], role="serve")
    together = replace(question(), options=(option("s", "serve", 1, 5),), demands=(serve,), couplings=())
    assert steps(together) == ()
    both = replace(
        question(),
        options=(*question().options, option("s", "serve", 1, 5)),
        demands=(serve, *question().demands),
    )
    assert solve(both).ways == {"w": "aggregated"}
    assert steps(both) == ()


def test_nothing_is_said_where_buckets_share_replicas():
    problem = question()
    demands = tuple(
        replace(demand, demand_rps=(Fraction(5), Fraction(5)), buckets=("a", "b"))
        for demand in problem.demands
    )
    options = tuple(replace(o, rates_rps=o.rates_rps * 2) for o in problem.options)
    assert steps(replace(problem, demands=demands, options=options)) == ()
