"""Pages about fleets over hours, made by hand."""

import fleet_plans
import pytest

from planner.explain.phrases import api_sentence
from planner.report import fleet_hours_text, plan_text, terminal
from planner.schema.fleet_plan import ApiTaken, Order

TITLES = ("Purchases", "The hours", "Orders", "Tiers", "Outside suppliers", "Who could be served")


def page(plan, width=100, **options):
    return terminal.render(plan_text.view(plan), width=width, **options)


def part(plan, title, **options):
    """The lines of one section."""
    lines = page(plan, **options).splitlines()
    start = lines.index(title) + 1
    return lines[start : lines.index("", start)]


def flat(plan, **options):
    return " ".join(page(plan, **options).split())


@pytest.fixture
def day(make_plan):
    return fleet_plans.day(make_plan)


def test_the_headline_names_the_most_the_mean_and_the_money(day):
    # 21 hours of 4 GPUs and 3 of 10; 21 x 8 USD and 3 x 32 USD
    assert (
        "Rent up to 10 × h100-sxm (4.75 on average) over 24 hours: 11.00 USD/h on average, 264.00 USD a day, "
        "the cheapest fleet."
    ) in flat(day)


def test_a_fleet_of_one_size_is_bought_without_up_to(make_plan):
    periods = fleet_plans.hours({"chat/serve/1": [2, 2]}, {"h100-sxm": [4, 4]}, [8.0, 8.0])
    plan = make_plan(periods=periods, gpus={"h100-sxm": 4}, cost_usd_per_hour=8.0)
    assert "Buy 4 × h100-sxm over 2 hours: 8.00 USD/h on average" in flat(plan)


def test_purchases_are_told_by_line(day):
    rows = [line.split() for line in part(day, "Purchases")]
    assert rows[0] == ["line", "place", "one", "GPU", "least", "mean", "most", "a", "day"]
    assert rows[1][:2] == ["h100-sxm/on_demand", "cloud/eu"]
    assert rows[1][2:] == ["4.00", "USD/h", "0", "0.750", "6", "72.00", "USD"]
    assert rows[2][2:] == ["2.00", "USD/h", "4", "192.00", "USD"]


def test_starts_and_suppliers_stand_below_the_lines(make_plan):
    periods = fleet_plans.hours(
        {"chat/serve/1": [2, 2]},
        {"h100-sxm": [4, 4]},
        [10.0, 12.0],
        start_usd=[1.0, 0.0],
        api_usd=[0.0, 3.0],
    )
    plan = make_plan(periods=periods, supply=fleet_plans.supply("h100-sxm/owned", [4, 4], 2.0))
    rows = {line[2:20].strip(): line.split()[-2:] for line in part(plan, "Purchases")}
    assert rows["starting GPUs"] == ["12.00", "USD"]
    assert rows["outside suppliers"] == ["36.00", "USD"]


def test_the_day_is_one_mark_an_hour(day):
    lines = part(day, "The hours")
    assert lines[0].split() == ["0", "6", "12", "18", "least", "mean", "most"]
    assert lines[1].split() == ["chat/serve/1", "222222222555222222222222", "2", "2.38", "5", "replicas"]
    assert lines[3].split()[:2] == ["cost", "▒▒▒▒▒▒▒▒▒███▒▒▒▒▒▒▒▒▒▒▒▒".replace("▒", "░")]


def test_the_day_reads_in_a_log_without_unicode(day):
    text = page(day, width=80, unicode=False)
    assert text.isascii()
    assert "?" not in text
    assert "222222222555222222222222" in text
    assert "---------###------------" in text
    assert max(map(len, part(day, "The hours", width=80, unicode=False))) <= 80


def test_a_week_stays_short(make_plan):
    week = fleet_plans.day(make_plan, hour_count=168)
    lines = part(week, "The hours")
    # 168 hours, 4 a mark; from 9 to 12 o'clock the most is 5
    assert lines[1].split()[1] == "225222" * 7
    assert lines[0].split()[:7] == [f"d{number}" for number in range(1, 8)]
    assert "One mark is 4 hours, the most of them." in flat(week)
    assert len(page(week).splitlines()) <= len(page(fleet_plans.day(make_plan)).splitlines()) + 14
    assert max(map(len, page(week).splitlines())) <= 100


def test_long_lists_of_orders_are_cut(make_plan):
    orders = [
        {"period": t, "line": "h100-sxm/on_demand", "gpus": 1 if t % 2 else -1, "lead_s": 0.0}
        for t in range(40)
    ]
    lines = part(fleet_plans.day(make_plan, hour_count=168, orders=orders), "Orders")
    assert len([line for line in lines if "h100-sxm" in line]) == 16
    assert "24 more moments: planner schedule PLAN" in lines[-1]


def test_orders_are_told_when_they_have_to_go_out(day):
    rows = [" ".join(line.split()) for line in part(day, "Orders")]
    assert rows[1:3] == [
        "08:50 order 6 × h100-sxm/on_demand 09:00",
        "12:00 give back 6 × h100-sxm/on_demand",
    ]


def test_an_order_for_the_first_hour_goes_out_the_day_before():
    orders = [
        Order(period=0, line="a/b/owned", gpus=2, lead_s=0.0),
        Order(period=0, line="h100/on_demand#2", gpus=3, lead_s=600.0),
        Order(period=0, line="a100/spot", gpus=1, lead_s=600.0),
    ]
    rows = list(fleet_hours_text.order_rows(orders, 24))
    assert rows == [
        ("00:00", "switch on 2 × a/b/owned", ""),
        ("23:50", "order 3 × h100/on_demand#2 and 1 × a100/spot", "00:00"),
    ]
    assert next(iter(fleet_hours_text.order_rows(orders[1:], 168)))[0] == "day 7, 23:50"


@pytest.mark.parametrize(
    ("values", "per_mark", "exact", "drawn"),
    [
        ([0, 3, 9], 1, True, "·39"),
        ([0, 1, 10], 1, True, "·░█"),
        ([0, 25, 26, 50, 75, 100], 1, False, "·░▒▒▓█"),
        ([1, 2, 3, 4, 5], 2, True, "245"),
        ([0, 0], 1, True, "··"),
        ([0.0, 0.0], 1, False, "··"),
    ],
)
def test_strips(values, per_mark, exact, drawn):
    assert fleet_hours_text.strip(values, per_mark, exact) == drawn


def test_work_that_waits_has_a_row(make_plan):
    periods = fleet_plans.hours(
        {"chat/serve/1": [2, 2]}, {"h100-sxm": [4, 4]}, [8.0, 8.0], work=[{"batch": 0.0}, {"batch": 4.0}]
    )
    lines = part(make_plan(periods=periods), "The hours")
    assert lines[2].split() == ["batch", "(may", "wait)", "·█", "0", "2", "4", "req/s", "done"]


def test_the_utilization_trap_is_told_in_money(make_plan):
    trap = {
        "mean_utilization": 0.4,
        "peak_utilization": 0.8,
        "usd_per_million_output_tokens_at_peak": 1.0,
        "usd_per_million_output_tokens": 2.0,
        "flat_usd_per_hour": 16.5,
        "text": "",
    }
    rows = [
        " ".join(line.split()) for line in part(fleet_plans.day(make_plan, utilization_trap=trap), "Cost")
    ]
    assert "utilization of the busiest hour 80 %" in rows
    assert "output tokens if every hour were so busy 1.00 USD a million (-50 %)" in rows
    assert "dearest hour's fleet all day 16.50 USD/h (+50 %)" in rows
    assert "in the cheapest and the dearest hour 8.00 USD and 32.00 USD" in rows


def test_a_tier_shows_what_every_setting_costs(make_plan):
    tier = {
        "name": "support",
        "kind": "routing",
        "setting": "careful",
        "stages": [{"workload": "small", "share": 0.5}, {"workload": "large", "share": 0.505}],
        "costs_usd_per_hour": {"as stated": 50.0, "careful": 40.0, "no router": None},
        "advice": ["the router pays"],
    }
    rows = [" ".join(line.split()) for line in part(make_plan(tiers=[tier]), "Tiers")]
    assert rows[0] == "support (routing), careful: 50 % to small and 50.5 % to large of its requests"
    assert rows[2:] == [
        "as stated 50.00 USD/h +25 %",
        "careful 40.00 USD/h taken",
        "no router no plan",
        "• The router pays.",
    ]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"share": 0.34, "break_even_factor": 3.1},
            "carries 34 % of chat for 1.20 USD/h; owning pays from 3.10 times this volume.",
        ),
        ({"share": 0.34}, "carries 34 % of chat for 1.20 USD/h."),
        ({"share": 0.0, "break_even_factor": 0.5}, "is not used; owning pays from 0.500 times this volume."),
        (
            {"share": 1.0, "text": "owning never pays"},
            "carries 100 % of chat for 1.20 USD/h; owning never pays.",
        ),
    ],
)  # fmt: skip
def test_suppliers_in_words(fields, sentence):
    api = ApiTaken(**{"id": "chat/api/x", "workload": "chat", "usd_per_hour": 1.2} | fields)
    assert api_sentence(api) == f"chat/api/x {sentence}"


def test_a_plan_of_suppliers_alone_buys_no_gpus(make_plan):
    api = {"id": "chat/api/api", "workload": "chat", "share": 1.0, "usd_per_hour": 2.0}
    plan = make_plan(pools=[], gpus={}, api=[api], cost_usd_per_hour=2.0)
    assert "Rent no GPUs; chat/api/api takes every request for 2.00 USD/h: the cheapest fleet." in flat(plan)
    periods = fleet_plans.hours({}, {}, [1.0, 3.0], utilization=[None, None])
    plan = make_plan(pools=[], gpus={}, api=[api], cost_usd_per_hour=2.0, periods=periods)
    assert (
        "Rent no GPUs; chat/api/api takes every request for 2.00 USD/h on average, 48.00 USD a day"
        in flat(plan)
    )
    assert "Pools" not in page(plan).splitlines()
    assert "% of capacity" not in page(plan)


def test_a_shortage_says_who_is_served_how_far(no_plan):
    rows = [
        {"workload": "chat", "priority": 1, "share": 1.0},
        {"workload": "batch", "priority": 0, "share": 0.25},
    ]
    lines = part(
        no_plan.model_validate(no_plan.model_dump(by_alias=True) | {"shortage": rows}), "Who could be served"
    )
    assert [line.split() for line in lines[1:3]] == [["chat", "1", "100", "%"], ["batch", "last", "25", "%"]]


def test_routing_has_one_row_a_bucket(make_plan):
    routing = [
        {"workload": "chat", "bucket": "short", "pool": "chat/serve/1", "share": 0.25},
        {"workload": "chat", "bucket": "long", "pool": "chat/serve/2", "share": 1.0},
        {"workload": "chat", "bucket": "short", "pool": "chat/api/x", "share": 0.75},
    ]
    rows = [" ".join(line.split()) for line in part(fleet_plans.day(make_plan, routing=routing), "Routing")]
    assert rows[1:3] == ["chat short api/x 75 %, serve/1 25 %", "chat long serve/2 100 %"]
    assert "planner routes PLAN --period N" in rows[-1]


def test_equal_pools_share_their_lines(make_plan, chat_plan):
    twin = [fleet_plans.pool_of(chat_plan.pools[0], id=f"chat/serve/{n}", site=f"p/{n}") for n in (1, 2)]
    periods = fleet_plans.hours({"chat/serve/1": [1, 2]}, {"h100-sxm": [4, 4]}, [8.0, 8.0])
    text = flat(make_plan(periods=periods, pools=twin))
    assert text.count("weights 33.2 GiB") == 1
    assert "chat/serve/1 and chat/serve/2 on h100-sxm" in text
    assert text.count("calibrated numbers") == 1


def test_pools_of_a_fleet_show_their_range_and_site(day):
    text = flat(day)
    assert "2–5 replicas × 2 GPUs" in text
    assert "11.00 USD/h on average" in text
    assert "Loads are those of the hour in which a pool has the most replicas." in text


def test_plans_for_one_rate_have_none_of_it(chat_plan, two_pools, no_plan):
    for plan in (chat_plan, two_pools, no_plan):
        lines = page(plan).splitlines()
        assert not [title for title in TITLES if title in lines]
        assert "on average" not in page(plan)
