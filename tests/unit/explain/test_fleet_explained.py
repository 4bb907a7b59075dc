"""Fleets over hours: their hours, why they are what they are, and what differs between two of them."""

import fleet_plans
import pytest

from planner.app.explain_plan import explain_plan
from planner.explain import hours
from planner.explain.difference import difference
from planner.explain.monitoring import targets
from planner.explain.phrases import fleet
from planner.explain.sizing.steps import steps
from planner.explain.why import why
from planner.loaders.catalog import load_catalog
from planner.report import explain_text, json_document, terminal
from planner.schema.explanation import Explanation
from planner.schema.policy import Alarms, RulesOfThumb


@pytest.fixture
def day(make_plan):
    return fleet_plans.day(make_plan)


@pytest.fixture(scope="module")
def policies():
    catalog = load_catalog(())
    return (
        RulesOfThumb.of(catalog.find("judgment", "sizing")),
        Alarms.of(catalog.find("judgment", "monitoring")),
    )


def texts(before, after):
    return [entry.text for entry in difference(before, after)]


def walked(plan, policies):
    return {step.title: step for step in steps(plan, *policies)}


def figures(step):
    return {figure.name: figure.value for figure in step.figures}


# -- hours ----


@pytest.mark.parametrize(
    ("at_s", "periods", "words"),
    [
        (0, 24, "00:00"),
        (-600, 24, "23:50"),
        (5 * 3600 + 3000, 24, "05:50"),
        (24 * 3600, 24, "00:00"),
        (30, 24, "00:00:30"),
        (25 * 3600, 168, "day 2, 01:00"),
        (-600, 4, "03:50"),
    ],
)
def test_times_of_a_cyclic_day(at_s, periods, words):
    assert hours.clock(at_s, periods) == words


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([3, 3], "3"),
        ([1, 2], "1 to 2 (1.5 on average)"),
        ([2000, 1000, 1000], "1,000 to 2,000 (1,333 on average)"),
        ([], "0"),
    ],
)
def test_counts_over_the_hours(counts, words):
    assert hours.spread(counts) == words


def test_equal_neighbors_make_one_run():
    assert list(hours.runs([2, 2, 3, 2])) == [(0, 1, 2), (2, 2, 3), (3, 3, 2)]
    assert list(hours.runs([])) == []


def test_lines_are_added_up(day):
    found = {line.line: line for line in hours.bought_lines(day)}
    assert found["h100-sxm/on_demand"].usd == 3 * 6 * 4.0
    assert found["h100-sxm/on_demand"].usd_per_gpu_h == 4.0
    assert sum(found["h100-sxm/reserved"].gpus) == 96
    # 96 GPU-hours at 2 USD and 18 at 4 USD, all at the pool's site
    assert hours.gpu_h_price(day, day.pools[0]) == pytest.approx((96 * 2 + 18 * 4) / 114)


def test_gpus_that_run_are_those_of_one_hour(make_plan, chat_plan):
    pools = [fleet_plans.pool_of(chat_plan.pools[0], id=f"chat/serve/{n}", replicas=3) for n in (1, 2)]
    counts = {"chat/serve/1": [3, 0], "chat/serve/2": [1, 3]}
    plan = make_plan(pools=pools, periods=fleet_plans.hours(counts, {}, [1.0, 1.0]))
    # 4 replicas of 2 GPUs in the first hour, though each pool has 3 in some hour
    assert hours.running_gpus(plan, plan.pools) == 8


def test_the_fleet_is_the_most_of_any_hour(day, chat_plan):
    assert fleet(day) == "up to 10 × h100-sxm"
    assert fleet(chat_plan) == "16 × h100-sxm"


# -- why ----


def test_why_looks_at_the_busiest_hour(day):
    words = why(day)
    assert words[0].startswith("chat/serve/1: 2 to 5 replicas of h100-sxm")
    # 5 replicas of 6.37 req/s; the hour is the first with 40 req/s
    assert words[1] == (
        "chat needs 44.0 req/s at 09:00 (40.0 req/s at the peak and 10 % kept free); "
        "the plan carries 31.9 req/s, with one replica less only 25.5 req/s."
    )


def test_pools_that_are_busy_in_other_hours_are_not_added_up(make_plan, chat_plan):
    pools = [fleet_plans.pool_of(chat_plan.pools[0], id=f"chat/serve/{n}", capacity_rps=10.0) for n in (1, 2)]
    counts = {"chat/serve/1": [5, 1], "chat/serve/2": [0, 2]}
    base = fleet_plans.day(make_plan)
    problem = base.inputs.problem | {"workloads": [{"name": "chat", "demand": {"hourly_rps": ["40", "20"]}}]}
    inputs = base.inputs.model_dump() | {"problem": problem}
    plan = make_plan(pools=pools, inputs=inputs, periods=fleet_plans.hours(counts, {}, [1.0, 1.0]))
    assert "the plan carries 50.0 req/s" in why(plan)[2]


def test_work_that_waits_has_no_peak(make_plan, policies):
    base = fleet_plans.day(make_plan)
    problem = base.inputs.problem | {
        "workloads": [{"name": "chat", "demand": {"tokens_per_day": "1000"}, "class": "batch"}]
    }
    periods = fleet_plans.hours(
        {"chat/serve/1": [1, 2]}, {"h100-sxm": [4, 4]}, [1.0, 1.0], work=[{"chat": 1.0}, {"chat": 3.0}]
    )
    plan = fleet_plans.day(
        make_plan,
        inputs=base.inputs.model_dump() | {"problem": problem},
        periods=periods,
        supply=[],
        orders=[],
    )
    assert why(plan)[1:] == ("chat may wait: 2.00 req/s on average are done, 1.00 to 3.00 req/s in an hour.",)
    assert walked(plan, policies)["Fleet"].verdict[0].startswith("It may wait")


def test_suppliers_take_the_rest(make_plan):
    api = {"id": "chat/api/api", "workload": "chat", "share": 0.4, "usd_per_hour": 2.0}
    words = why(fleet_plans.day(make_plan, api=[api]))
    assert words[1].endswith("the plan carries 31.9 req/s, chat/api/api the rest.")
    assert words[2] == "chat/api/api carries 40 % of chat for 2.00 USD/h."


# -- sizing steps ----


def test_steps_tell_hours_and_the_price_of_a_gpu_hour(day, policies):
    found = walked(day, policies)
    assert figures(found["Hardware"])["price of a GPU"] == pytest.approx(264 / 114)
    assert figures(found["Routing"])["llama-3.3-70b"] == 10
    assert figures(found["Fleet"])["replicas"] == "2 to 5 (2.38 on average)"
    assert figures(found["Fleet"])["GPUs, h100-sxm"] == "4 to 10 (4.75 on average)"
    assert "of them idle" not in figures(found["Fleet"])
    assert figures(found["Cost of ownership"])["an hour, on average"] == pytest.approx(11.0)
    assert found["Workload"].verdict[0].startswith("Sized for 40.0 req/s.")


def test_steps_name_the_setting_of_a_tier(make_plan, policies):
    tier = {
        "name": "t",
        "kind": "routing",
        "setting": "as stated",
        "stages": [{"workload": "chat", "share": 0.3}],
        "costs_usd_per_hour": {"as stated": 11.0, "no router": 20.0},
    }
    base = fleet_plans.day(make_plan)
    inputs = base.inputs.model_dump() | {"problem": base.inputs.problem | {"tiers": [{"name": "t"}]}}
    plan = fleet_plans.day(make_plan, tiers=[tier], inputs=inputs)
    found = walked(plan, policies)
    assert found["Routing"].verdict == ("Tier t runs as stated at 11.00 USD/h; no router 20.00 USD/h.",)
    # the 40 req/s of the problem are the whole tier's
    assert "Sized for 40" not in " ".join(found["Workload"].verdict)
    assert all("needs" not in sentence for sentence in why(plan))


# -- monitoring ----


def test_targets_are_by_pool_and_so_by_generation(make_plan, chat_plan, policies):
    pools = [
        fleet_plans.pool_of(chat_plan.pools[0], id=f"chat/serve/{gpu}", gpu=gpu, ttft_s={"p99": at})
        for gpu, at in (("h100-sxm", 1.0), ("a100-sxm", 1.4))
    ]
    found = targets(fleet_plans.day(make_plan, pools=pools), policies[1])
    first = {target.gpu: target.expected for target in found if target.metric == "ttft_p99_s"}
    assert first == {"h100-sxm": 1.0, "a100-sxm": 1.4}
    assert all(target.pool.endswith(target.gpu) for target in found)


def test_the_page_says_which_hour_is_meant(day, chat_plan, policies):
    def page(plan):
        told = Explanation(plan=plan, targets=targets(plan, policies[1]))
        return terminal.render(explain_text.view(told))

    words = "The peak of a pool is its hour with the most replicas"
    assert words in page(day)
    assert words not in page(chat_plan)


# -- differences ----


def test_equal_fleets_do_not_differ(day):
    assert texts(day, day) == []


def test_purchases_differ_by_line(make_plan, day):
    other = fleet_plans.day(
        make_plan,
        supply=[
            *fleet_plans.supply("h100-sxm/reserved", [6] * 24, 2.0, provider="cloud", region="eu"),
            *fleet_plans.supply("h100-sxm/spot", [0, 8] * 12, 1.0, provider="cloud", region="us"),
        ],
    )
    assert texts(day, other) == [
        "Buys 6 × reserved h100-sxm at cloud/eu instead of 4.",
        "Buys up to 8 × spot h100-sxm at cloud/us (4 on average); before, none.",
        "Buys no on-demand h100-sxm at cloud/eu; before, up to 6 (0.75 on average).",
    ]
    entries = {entry.what: (entry.before, entry.after) for entry in difference(day, other)}
    assert entries["supply:h100-sxm/reserved/cloud/eu"] == (4.0, 6.0)
    assert entries["supply:h100-sxm/spot/cloud/us"] == (None, 4.0)


def test_replicas_differ_by_hour(make_plan, day):
    counts = [2] * 20 + [3] * 4
    periods = fleet_plans.hours({"chat/serve/1": counts}, {"h100-sxm": [10] * 24}, [8.0] * 24)
    other = fleet_plans.day(make_plan, periods=periods)
    assert texts(day, other) == [
        "chat/serve/1 (h100-sxm, cloud/eu) has 2 to 3 replicas (2.17 on average) "
        "instead of 2 to 5 (2.38 on average)."
    ]
    shifted = [*day.periods[1:], day.periods[0]]
    moved = [hour.model_dump() | {"period": t} for t, hour in enumerate(shifted)]
    assert texts(day, fleet_plans.day(make_plan, periods=moved)) == [
        "chat/serve/1 (h100-sxm, cloud/eu) has its replicas in other hours: still 2 to 5 (2.38 on average)."
    ]


def test_pools_are_matched_by_site_first(make_plan, chat_plan):
    def at(*sites):
        pools = [
            fleet_plans.pool_of(chat_plan.pools[0], id=f"chat/serve/{n}", site=site, replicas=replicas)
            for n, (site, replicas) in enumerate(sites, 1)
        ]
        return make_plan(pools=pools)

    assert texts(at(("p/eu", 4), ("p/us", 2)), at(("p/us", 3), ("p/eu", 4))) == [
        "chat/serve/1 (h100-sxm, p/us) has 3 replicas instead of 2."
    ]
    assert texts(at(("p/eu", 4)), at(("p/us", 4))) == [
        "chat/serve/1 (h100-sxm, p/us) is bought at p/us instead of at p/eu."
    ]


def test_hours_suppliers_and_tiers_differ(make_plan, day):
    def tier(setting):
        return {"name": "t", "kind": "routing", "setting": setting, "stages": []}

    def api(share):
        return {"id": "chat/api/api", "workload": "chat", "share": share, "usd_per_hour": 1.0}

    before = fleet_plans.day(make_plan, tiers=[tier("as stated")], api=[api(0.5)])
    after = fleet_plans.day(make_plan, tiers=[tier("careful")], api=[api(0.0)])
    assert texts(before, after) == [
        "chat/api/api carries none of chat instead of 50 %.",
        "Tier t runs careful instead of as stated.",
    ]
    week = fleet_plans.day(make_plan, hour_count=168)
    assert "Plans 168 hours instead of 24." in texts(day, week)


def test_lines_of_supply_are_named_in_the_inputs(make_plan, day):
    def stated(*lines):
        problem = day.inputs.problem | {"fleet": {"supply": list(lines)}}
        return fleet_plans.day(make_plan, inputs=day.inputs.model_dump() | {"problem": problem})

    spot = {"gpu": "h100", "term": "spot", "usd_per_gpu_h": "1"}
    owned = {"gpu": "h100", "term": "owned", "usd_per_gpu_h": "2"}
    assert texts(stated(spot, owned), stated(spot, owned | {"usd_per_gpu_h": "3"})) == [
        "fleet.supply.1.usd_per_gpu_h is 3; before, 2."
    ]
    assert texts(stated(spot, owned), stated(spot))[0].startswith("fleet.supply.h100/owned is not set")
    assert texts(stated(spot, spot), stated(spot))[0].startswith("fleet.supply.h100/spot#2 is not set")


# -- from the command's side ----


def test_a_solved_fleet_is_explained(tmp_path):
    import planner

    plan = planner.load(fleet_plans.tiny(tmp_path)).solve()
    path = tmp_path / "plan.json"
    path.write_bytes(json_document.encode(json_document.of_plan(plan)))
    for options in ({}, {"steps": True}, {"candidate": "h100"}, {"candidate": "a100/on_demand"}):
        terminal.render(explain_text.view(explain_plan(path, **options)))
    told = explain_plan(path, candidate="h100")
    # Alone, the a100 carry 2 x (2/5 + 2/1) and 6/5 + 6/1 replicas: 3 and 8 GPUs, 5.50 USD/h against 4.00.
    without = "Without it the best plan costs 5.50 USD per hour, 37.5 % more than the plan."
    assert told.answer == ("The plan uses it: chat/serve/2, 1 replica.", without)
