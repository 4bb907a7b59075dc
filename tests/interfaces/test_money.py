"""Where the money of a plan goes and whose prices it pays, from the command line."""

import pytest
import yaml

from planner.interfaces import cli

PROBLEM = {
    "name": "money",
    "workloads": [
        {
            "name": name,
            "model": "llama-3.1-8b",
            "demand": {"peak_rps": 5, **more},
            "lengths": {"input": {"fixed": 500}, "output": {"fixed": 100}},
            "slo": {"itl_p99": "80 ms"},
        }
        for name, more in (("chat", {"mean_rps": 2}), ("tools", {}))
    ],
    "fleet": {"accelerators": ["h100-sxm", "l40s"]},
    "search": {"modes": ["aggregated"], "tp": [1]},
}


@pytest.fixture
def problem(tmp_path):
    def problem(**fleet):
        path = tmp_path / "money.yaml"
        path.write_text(yaml.safe_dump(PROBLEM | {"fleet": PROBLEM["fleet"] | fleet}))
        return str(path)

    return problem


def test_a_plan_divides_its_money_and_names_its_prices(told, problem):
    plan = told("plan", problem())
    costs, total = plan["costs"], plan["cost_usd_per_hour"]
    assert set(costs["by_workload"]) == {"chat", "tools"}
    for way in ("by_workload", "by_place", "by_term"):
        assert sum(costs[way].values()) == pytest.approx(total, abs=0.005)
    assert costs["by_hour"] == [total]
    assert costs["by_term"] == {"on_demand": total}
    offers = {(pool["gpu"], pool["offer"]["provider"]): pool["offer"] for pool in plan["pools"]}
    assert {(price["gpu"], price["provider"]) for price in plan["prices_used"]} == set(offers)
    for price in plan["prices_used"]:
        offer = offers[price["gpu"], price["provider"]]
        assert price["usd_per_gpu_hour"] == pytest.approx(offer["usd_per_hour"] / offer["gpus"])
        assert price["date"]
        assert price["source"]


def test_tokens_cost_less_at_the_peak_and_a_missing_mean_is_said(told, problem):
    plan = told("plan", problem())
    costs = plan["costs"]
    assert costs["mean_is_peak"] == ["tools"]
    # Means are 2 and 5 requests/s, peaks 5 and 5, all alike.
    ratio = costs["usd_per_million_tokens_at_peak"] / plan["cost_usd_per_million_tokens"]
    assert ratio == pytest.approx(7 / 10)


def test_own_prices_are_named_as_such(told, problem):
    (price,) = told("plan", problem(prices={"h100-sxm": "2.50 USD/h"}, accelerators=["h100-sxm"]))[
        "prices_used"
    ]
    assert (price["source"], price["provider"], price["date"]) == ("problem file, fleet.prices", None, None)
    assert price["usd_per_gpu_hour"] == 2.5


def test_a_stock_without_a_price_costs_what_the_cheapest_offer_asks(told, problem):
    (price,) = told("plan", problem(stock={"h100-sxm": 64}, accelerators=["h100-sxm"]))["prices_used"]
    assert price["provider"]
    assert "skypilot" in price["source"]


def test_the_page_tells_month_and_year_first(problem, capsys):
    from planner.interfaces import cli

    assert cli.run(["plan", problem()]) == 0
    first = capsys.readouterr().out.splitlines()[:4]
    assert any(" a month, " in line for line in first), first
    assert cli.run(["plan", problem(), "--details"]) == 0
    text = capsys.readouterr().out
    cost = text[text.index("\nCost\n") :].splitlines()[2:]
    assert cost[0].split()[:2] == ["per", "month"]
    assert cost[1].split()[:2] == ["per", "year"]
    assert "at the mean rate" in text
    assert "No mean rate is stated for tools" in text
    assert "Prices: " in text


def test_marketplaces_are_bought_from_only_where_they_are_named(told, problem):
    from planner.loaders.catalog import load_catalog

    markets = {prices.id for prices in load_catalog().price_lists if prices.marketplace}
    assert "vast" in markets
    everywhere = told("plan", problem(accelerators=["rtx-4090", "l40s", "h100-sxm"]))
    assert not markets & {price["provider"] for price in everywhere["prices_used"]}
    named = told("plan", problem(accelerators=["rtx-4090", "l40s", "h100-sxm"], providers=sorted(markets)))
    assert {price["provider"] for price in named["prices_used"]} <= markets
    row = next(row for row in everywhere["gpu_types"] if row["gpu"] == "rtx-5090")
    assert row["status"] == "excluded"


def test_a_type_that_only_marketplaces_sell_says_so(told, problem):
    plan = told("plan", problem(accelerators=None))
    row = next(row for row in plan["gpu_types"] if row["gpu"] == "rtx-5090")
    assert row["status"] == "no-price"
    assert "only of marketplaces: fleet.providers may name" in row["why"]
    assert "vast" in row["why"]


def test_prices_are_old_against_a_day_that_is_said(told, problem):
    flags = ("plan", problem(accelerators=["h100-80gb-pcie"], providers=["hyperstack"]))
    plan = told(*flags)
    (price,) = plan["prices_used"]
    # Hyperstack's list says 2025 and no more; the newest list was read on 2026-11-21.
    assert (price["date"], price["dated"], price["age_days"]) == ("2025", True, 325)
    assert plan["prices_as_of"] == "2026-11-21"
    (line,) = (words for words in plan["warnings"] if "ask again" in words)
    assert "the price of h100-80gb-pcie at hyperstack is of 2025, at least 325 days before 2026-11-21" in line
    assert told(*flags) == plan
    early = told(*flags, "--as-of", "2026-03-31")
    assert early["prices_used"][0]["age_days"] == 90
    assert not any("ask again" in words for words in early["warnings"])
    late = told(*flags, "--as-of", "2026-04-01")
    assert any("at least 91 days before 2026-04-01" in words for words in late["warnings"])


def test_own_prices_have_no_age(told, problem):
    own = problem(prices={"h100-sxm": "2 USD/h"}, accelerators=["h100-sxm"])
    plan = told("plan", own, "--as-of", "2036-01-01")
    assert plan["prices_used"][0]["age_days"] is None
    assert not any("ask again" in words for words in plan["warnings"])


@pytest.mark.parametrize("day", ["tomorrow", "2026-02-30", "2026"])
def test_a_day_that_is_none_is_refused(told, problem, day):
    words = told("plan", problem(), "--as-of", day, code=2)
    assert f'--as-of: found "{day}", expected a day such as 2026-11-23' in words


def test_a_place_that_nobody_states_is_not_named(capsys, told, problem):
    path = problem(prices={"h100-sxm": "2.50 USD/h"}, accelerators=["h100-sxm"])
    assert told("plan", path)["costs"]["by_place"].keys() == {"(not stated)"}
    assert cli.run(["plan", path]) == 0
    screen = capsys.readouterr().out
    assert "a month" in screen
    assert "not stated" not in screen
    supply = [{"gpu": "h100-sxm", "term": "owned", "usd_per_gpu_h": 1, "max_gpus": 8, "region": "eu"}]
    assert cli.run(["plan", problem(supply=supply, accelerators=["h100-sxm"])]) == 0
    assert "All at eu." in capsys.readouterr().out
