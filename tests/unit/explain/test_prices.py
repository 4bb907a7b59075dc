"""What a limit costs: instances priced by hand, steps in words, and few questions."""

from __future__ import annotations

from fractions import Fraction

import pytest
from plan_table import PlanTable, Row
from question_asker import QuestionAsker

from planner.explain.axis import Axis
from planner.explain.prices import prices
from planner.explain.steps import step
from planner.schema.choice import Choice, ChoiceProblem, Limits, Option, PoolDemand, Spares, Supply
from planner.schema.reasons import NamedLimit

F = Fraction


def named(name, kind, value, unit="", **more):
    return NamedLimit(name, kind, "", unit, None if value is None else F(value), **more)


STOCK = named("stock:g", "stock", 2, "GPUs", whole=True)
BUDGET = named("budget", "budget", 12, "USD/h")
ITL = named("itl:w", "latency", "0.02", "s")
DEMAND = named("demand:w", "demand", 4, "requests/s", grantable=False, falls=True)
SPARE = named("redundancy", "redundancy", 1, "replicas", grantable=False, falls=True, whole=True, most=F(0))


def by_id(found):
    return {
        price.id: (price.step, price.saves_usd_per_hour, price.removed_saves_usd_per_hour) for price in found
    }


def priced(limits, objective="cost"):
    """Four replicas and a spare, at 1 USD/h as far as the stock goes, else at 3; slow ones at 1."""
    supplies = tuple(
        Supply(gpu, gpu, "gpu", 1, F(usd)) for gpu, usd in (("g", "1"), ("h", "3"), ("s", "0.5"))
    )
    sizes = {"g": 1, "h": 1, "s": 2}
    options = tuple(Option(gpu, "w", "serve", gpu, gpu, size, (F(1),)) for gpu, size in sizes.items())
    spares = Spares("replicas", 1)
    question = ChoiceProblem(
        options, supplies, (PoolDemand("w", "serve", (F(4),), spares=spares),), Limits(objective=objective)
    )
    slow = {"s": {"itl:w": F("0.05")}}
    asker = QuestionAsker(question, limits, slow)
    return prices(asker, asker.ask({}, "value"))


def test_every_limit_has_its_price():
    """Two cheap ones and three dear ones cost 11."""
    found = priced([STOCK, BUDGET, ITL, DEMAND, SPARE])
    assert by_id(found) == {
        "stock:g": ("+1 GPU", 2, 6),  # three cheap and two dear cost 9, five cheap ones 5
        "budget": ("+10 %", 0, 0),
        "itl:w": ("+10 %", 0, 6),  # slow ones cost as much as cheap ones and have no stock
        "demand:w": ("-1 %", 0, 9),  # 3.96 still takes four and a spare; hardly any takes one and a spare
        "redundancy": ("-1 replica", 3, 3),
    }
    assert all(price.proved for price in found)
    assert all(price.saves_objective is None for price in found)


def test_another_objective():
    """Fewest GPUs: any five of g and h; the cheapest of these plans is today's."""
    found = priced([STOCK, ITL, DEMAND, SPARE], "gpus")
    prices_ = {price.id: price for price in found}
    assert (prices_["stock:g"].saves_usd_per_hour, prices_["stock:g"].saves_objective) == (2, 0)
    assert (prices_["redundancy"].saves_usd_per_hour, prices_["redundancy"].saves_objective) == (3, 1)
    assert (prices_["itl:w"].removed_saves_usd_per_hour, prices_["itl:w"].removed_saves_objective) == (0, 0)


def test_limits_without_a_price_take_one_question():
    rules = [named(f"rule-{number}", "rule", None) for number in range(12)]
    limits = [*rules, named("precision:w", "precision", None), named("budget", "budget", 99, "USD/h")]
    table = PlanTable([Row(5, {"g": 2}, {}), Row(6, {"g": 1}, {"rule-3": 1})], limits)
    best = table.ask({}, "value")
    table.asked.clear()
    assert {
        (price.saves_usd_per_hour, price.removed_saves_usd_per_hour) for price in prices(table, best)
    } == {(0, 0)}
    assert len(table.asked) == 1


def test_one_rule_among_many_is_found_by_halves():
    limits = [named(f"rule-{number:02}", "rule", None) for number in range(16)]
    table = PlanTable([Row(5, {"g": 2}, {}), Row(3, {"g": 1}, {"rule-03": 1})], limits)
    found = prices(table, table.ask({}, "value"))
    assert [price.id for price in found if price.removed_saves_usd_per_hour] == ["rule-03"]
    assert by_id(found)["rule-03"] == ("off", 2, 2)
    assert len(table.asked) <= 2 + 2 * 4


def test_limits_that_save_only_together():
    """Without either rule alone nothing is better: each is free, though both together are not."""
    limits = [named("rule-a", "rule", None), named("rule-b", "rule", None)]
    table = PlanTable([Row(5, {"g": 2}, {}), Row(3, {"g": 1}, {"rule-a": 1, "rule-b": 1})], limits)
    found = prices(table, table.ask({}, "value"))
    assert by_id(found) == {"rule-a": ("off", 0, 0), "rule-b": ("off", 0, 0)}


@pytest.mark.parametrize("status", ["feasible", "unknown"])
def test_a_search_that_was_cut_proves_no_price(status):
    table = PlanTable([Row(5, {"g": 2}, {}), Row(3, {"g": 1}, {"x": F(2)})], [named("x", "latency", 1, "s")])
    best = table.ask({}, "value")
    worse = Choice("unknown") if status == "unknown" else table.choice(Row(9, {"g": 9}, {}), status, "cost")
    table.ask = lambda changes, goal="value", objective=None: worse
    (price,) = prices(table, best)
    assert (price.saves_usd_per_hour, price.removed_saves_usd_per_hour, price.proved) == (0, 0, False)


@pytest.mark.parametrize(
    ("limit", "text", "value"),
    [
        (STOCK, "+1 GPU", 3),
        (BUDGET, "+10 %", "13.2"),
        (ITL, "+10 %", "0.022"),
        (DEMAND, "-1 %", "3.96"),
        (SPARE, "-1 replica", 0),
        (named("headroom", "headroom", "0.2", falls=True, most=F(0)), "-1 % of demand", "0.19"),
        (named("headroom", "headroom", "0.004", falls=True, most=F(0)), "-0.4 % of demand", 0),
        (named("max_utilization", "utilization", "0.9", most=F(1)), "+1 % of capacity", "0.91"),
        (named("vram:w", "memory", "0.96", most=F(1)), "+4.17 %", 1),
        (named("rule-a", "rule", None), "off", None),
        (named("precision:w", "precision", None), "any format", None),
        (named("unservable:w/long", "service", None), "not served", None),
    ],
)
def test_steps(limit, text, value):
    found = step(Axis(limit))
    assert (found.text, found.value) == (text, None if value is None else F(value))


@pytest.mark.parametrize(
    ("bound", "status", "saved"),
    [("9", "optimal", 4), ("9", "feasible", 3), ("5", "feasible", 0), (None, "feasible", 0)],
)
def test_a_search_that_was_cut_shows_what_is_sure(bound, status, saved):
    """Today 10, of which the bound is sure; one step looser a plan of 6 was found."""
    today = Choice(status, {"o": 1}, cost_usd_per_h=F(10), value=F(10), lower_bound=bound and F(bound))
    looser = Choice("feasible", {"o": 1}, cost_usd_per_h=F(6), value=F(6), lower_bound=F(1))
    table = PlanTable([Row(5, {"g": 2}, {})], [STOCK])
    table.ask = lambda changes, goal="value", objective=None: looser
    (price,) = prices(table, today)
    assert (price.saves_usd_per_hour, price.removed_saves_usd_per_hour, price.proved) == (saved, saved, False)


def test_a_limit_that_states_its_step():
    servers = named("supply:g/spot", "supply", 16, "GPUs", whole=True, step=F(8))
    money = named("budget", "budget", 12, "USD/h", step=F(1))
    share = named("share:g/spot", "share", "0.5", "fraction", most=F(1))
    assert [step(Axis(limit)).text for limit in (servers, money, share)] == [
        "+8 GPUs", "+1 USD/h", "+1 % of the GPUs",
    ]  # fmt: skip


@pytest.mark.parametrize(("exact", "saved", "proved"), [(True, 1e-8, True), (False, 0, True)])
def test_last_digits_of_floats_are_no_saving(exact, saved, proved):
    today = Choice("optimal", {"o": 1}, cost_usd_per_h=F(10), value=F(10), lower_bound=F(10))
    usd = F(10) - F(1, 10**8)
    looser = Choice("optimal", {"o": 1}, cost_usd_per_h=usd, value=usd, lower_bound=usd, exact=exact)
    table = PlanTable([Row(5, {"g": 2}, {})], [STOCK])
    table.ask = lambda changes, goal="value", objective=None: looser
    (price,) = prices(table, today)
    assert price.saves_usd_per_hour == pytest.approx(saved)
    assert price.proved is proved
