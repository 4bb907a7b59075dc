"""Plans of small fleets over measured workers, from file to document."""

import copy
import json

import pytest
from fleet_files import FLEET, TABLE, faults_of, planned, values, written

from planner.app.session import Session
from planner.errors import InputError
from planner.loaders.problem import load_problem_document
from planner.report import json_document


def test_every_number_adds_up_by_hand(tmp_path):
    plan = planned(tmp_path, FLEET)
    assert plan.status == "optimal"
    assert len(plan.periods) == 4
    assert faults_of(plan, FLEET) == []


def test_the_order_of_the_file_does_not_matter(tmp_path):
    turned = copy.deepcopy(FLEET)
    turned["workloads"].reverse()
    turned["fleet"]["supply"].reverse()
    header, *rows = [line + "\n" for line in TABLE.splitlines()]
    (tmp_path / "other").mkdir()
    first = planned(tmp_path, FLEET)
    second = planned(tmp_path / "other", turned, "".join([header, *reversed(rows)]))
    assert second.objective.value == first.objective.value
    assert sorted((p.option, p.site, p.replicas) for p in first.pools) == sorted(
        (p.option, p.site, p.replicas) for p in second.pools
    )


@pytest.mark.parametrize(
    "looser",
    [
        {"quota": {"eu": 16}},
        {"quota": {}},
        {"supply": [line | {"max_gpus": 64} for line in FLEET["fleet"]["supply"]]},
        {"supply": [*FLEET["fleet"]["supply"], {"gpu": "h100", "term": "spot", "usd_per_gpu_h": 1.5}]},
    ],
)
def test_more_to_choose_from_never_costs_more(tmp_path, looser):
    least = planned(tmp_path, FLEET).objective.value
    assert planned(tmp_path, values(**looser)).objective.value <= least + 1e-9


def test_without_mixing_the_layout_stays_all_day(tmp_path):
    """At night two small replicas are cheaper, by day one large: without mixing one of them serves both."""
    table = "option,gpu,gpus,max_rps\nlarge,h100,4,10\nsmall,a100,1,2\n"
    lines = [
        {"gpu": "h100", "term": "on_demand", "usd_per_gpu_h": 2},
        {"gpu": "a100", "term": "on_demand", "usd_per_gpu_h": 2},
    ]
    demand = {"hourly_rps": [2, 10]}
    problem = {
        "name": "day", "workers": "workers.csv", "workloads": [{"name": "w", "demand": demand}],
        "fleet": {"headroom": {"capacity": "0 %"}, "supply": lines},
    }  # fmt: skip
    mixed = planned(tmp_path, problem, table)
    assert (mixed.objective.value, {pool.option for pool in mixed.pools}) == (10.0, {"large", "small"})
    one = planned(tmp_path, problem | {"search": {"mix": False}}, table)
    assert (one.objective.value, [pool.option for pool in one.pools]) == (12.0, ["small"])
    assert [hour.replicas for hour in one.periods] == [{"w/serve/1": 1}, {"w/serve/1": 5}]


def test_reserved_gpus_are_one_number_paid_every_hour(tmp_path):
    lines = [
        {"gpu": "h100", "term": "reserved", "usd_per_gpu_h": 2.5},
        {"gpu": "h100", "term": "on_demand", "usd_per_gpu_h": 4.3},
    ]
    problem = values(supply=lines, quota={}) | {"workers": "workers.csv"}
    problem["fleet"]["accelerators"] = ["h100"]
    plan = planned(tmp_path, problem)
    reserved = {row.period: row.gpus for row in plan.supply if row.term == "reserved"}
    assert len(reserved) == 4
    assert len(set(reserved.values())) == 1
    assert faults_of(plan, problem) == []


def test_a_start_costs_its_share_of_an_on_demand_hour(tmp_path):
    problem = values(start_cost="50 %")
    plan = planned(tmp_path, problem)
    assert faults_of(plan, problem) == []
    # Lines at one site are charged together; there is one on-demand price at each.
    charged = 0.0
    for site, price in (("eu", 4.3), ("us", 2.0)):
        count = [
            sum(
                row.gpus
                for row in plan.supply
                if row.period == t and row.region == site and row.term in ("on_demand", "spot")
            )
            for t in range(4)
        ]
        charged += sum(max(0, count[t] - count[t - 1]) for t in range(4)) * price * 0.5
    assert sum(period.start_usd for period in plan.periods) == pytest.approx(charged)
    assert plan.objective.value > planned(tmp_path, FLEET).objective.value


def test_work_that_may_wait_fills_the_night(tmp_path):
    problem = values(supply=[{"gpu": "h100", "term": "reserved", "usd_per_gpu_h": 2.0}], quota={})
    problem["fleet"]["accelerators"] = ["h100"]
    problem["workloads"][1] = {
        "name": "code",
        "class": "batch",
        "demand": {"requests_per_day": 172800, "deadline": "4 h"},
    }
    waits = planned(tmp_path, problem)
    # 2 requests/s on average; what is done adds up to what arrives.
    done = [period.work["code"] for period in waits.periods]
    assert sum(done) == pytest.approx(4 * 2 * 1.2)
    problem["workloads"][1]["demand"]["deadline"] = "1 h"
    assert waits.objective.value <= planned(tmp_path, problem).objective.value
    problem["workloads"][1] = {"name": "code", "demand": {"peak_rps": 2}}
    at_once = planned(tmp_path, problem)
    assert waits.objective.value <= at_once.objective.value


def test_an_outside_supplier_takes_what_it_does_cheaper(tmp_path):
    problem = copy.deepcopy(FLEET)
    problem["workloads"][1]["lengths"] = {"input": {"fixed": 1000}, "output": {"fixed": 100}}
    problem["api"] = [{"workload": "code", "usd_per_million_input": 0.5, "usd_per_million_output": 1.5}]
    plan = planned(tmp_path, problem)
    assert faults_of(plan, problem) == []
    taken = plan.api[0]
    # One request costs 0.00065 USD; 5.5 requests/s on average would be 12.87 USD/h.
    requests = sum(
        route.share * [2, 6, 10, 4][period.period]
        for period in plan.periods
        for route in period.routing
        if route.pool == taken.id
    )
    assert taken.usd_per_hour == pytest.approx(requests / 4 * 3600 * 0.00065)
    assert plan.objective.value <= planned(tmp_path, FLEET).objective.value
    assert taken.text


def test_tiers_are_sized_together_and_the_cheapest_setting_taken(tmp_path):
    table = """option,workload,gpu,gpus,max_rps
small,small,l40s,1,10
large,large,h100,2,4
"""
    demand = {"peak_rps": 40}
    problem = {
        "name": "tiers",
        "workers": "workers.csv",
        "workloads": [{"name": "small", "demand": demand}, {"name": "large", "demand": demand}],
        "fleet": {"prices": {"l40s": "1 USD/h", "h100": "3 USD/h"}, "headroom": {"capacity": "0 %"}},
        "tiers": [
            {
                "name": "t",
                "kind": "routing",
                "misroute": "10 %",
                "stages": [{"workload": "small", "share": "50 %"}, {"workload": "large", "share": "50 %"}],
                "thresholds": [{"name": "bold", "shares": ["80 %", "20 %"]}],
                "or_single": True,
            }
        ],
    }
    plan = planned(tmp_path, problem, table)
    # As stated: 20 requests/s on 2 small, 20 + 2 misrouted on 6 large: 2 + 36. Bold: 32 on 4 small,
    # 8 + 3.2 on 3 large: 4 + 18. Alone: 40 on 10 large: 60.
    assert plan.tiers[0].costs_usd_per_hour == {"as stated": 38.0, "bold": 22.0, "no router": 60.0}
    assert (plan.status, plan.cost_usd_per_hour, plan.tiers[0].setting) == ("optimal", 22.0, "bold")
    problem["tiers"] = [
        {
            "name": "t",
            "kind": "cascade",
            "stages": [{"workload": "small"}, {"workload": "large", "escalated": "25 %"}],
        }
    ]
    # All 40 requests/s on 4 small, 10 again on 3 large.
    assert planned(tmp_path, problem, table).cost_usd_per_hour == 4 + 18


def test_priorities_tell_who_is_served_when_not_all_can_be(tmp_path):
    problem = values(
        supply=[{"gpu": "h100", "term": "owned", "usd_per_gpu_h": 1, "max_gpus": 8}],
        quota={},
        accelerators=["h100"],
        headroom={"capacity": "0 %"},
    )
    problem["workloads"][0]["priority"], problem["workloads"][1]["priority"] = 2, 1
    plan = planned(tmp_path, problem)
    assert plan.status == "infeasible"
    # Code first: 10 requests/s on 3 x 2 GPUs. Two GPUs are left for 40 requests/s of chat, which need 6.8.
    assert [(row.workload, row.share) for row in plan.shortage] == [
        ("code", 1.0),
        ("chat", pytest.approx(2 / 6.8, abs=1e-3)),
    ]


def test_today_s_fleet_is_changed_within_bounds(tmp_path):
    problem = values(max_changes=6)
    problem["start"] = [
        {"gpu": "a100", "replicas": 10},
        {"gpu": "h100", "replicas": 2, "gpus_per_replica": 2},
    ]
    plan = planned(tmp_path, problem)
    assert faults_of(plan, problem) == []
    for period in plan.periods:
        gpus = period.gpus
        assert abs(gpus.get("a100", 0) - 10) + abs(gpus.get("h100", 0) - 4) <= 6
    assert {step.gpu for step in plan.changes} <= {"a100", "h100"}
    assert next(s for s in plan.constraints if s.id == "changes").limit == 6


def test_the_resolved_problem_is_solved_again_to_the_same_plan(tmp_path):
    path = written(tmp_path, FLEET)
    session = Session.load(path)
    plan = session.solve()
    again = load_problem_document(plan.inputs.problem, session.catalog, "again", tmp_path)
    other = Session(again, plan.inputs.problem, tmp_path, session.catalog, session.rules)
    assert other.solve().objective == plan.objective
    assert json.loads(json_document.encode(json_document.of_plan(plan))) == json.loads(
        json_document.encode(json_document.of_plan(session.solve()))
    )


def test_bad_fleets_hear_of_every_fault_at_once(tmp_path):
    problem = values(
        supply=[
            {"gpu": "h100", "term": "owned", "usd_per_gpu_h": -1, "region": "eu"},
            {"gpu": "h100", "term": "lease", "usd_per_gpu_h": 1},
            {"gpu": "h100", "term": "spot"},
        ],
        quota={"eu": 4, "EU": 8, "mars": 1},
        max_changes=2,
    )
    problem["workloads"][1]["demand"]["hourly_rps"] = [1, 2, 3]
    problem["workloads"][0]["regions"] = ["moon"]
    problem["tiers"] = [
        {
            "name": "t",
            "kind": "routing",
            "stages": [{"workload": "chat", "share": "70 %"}, {"workload": "cod", "share": "20 %"}],
        }
    ]
    with pytest.raises(InputError) as caught:
        Session.load(written(tmp_path, problem))
    told = "\n".join(map(str, caught.value.faults))
    for words in (
        "fleet.supply.0.usd_per_gpu_h: found -1",
        'fleet.supply.1.term: found "lease"',
        "fleet.supply.2: found no price",
        'fleet.quota.EU: found "EU", another name of "eu"',
        'fleet.quota.mars: found "mars"',
        "fleet.max_changes: found a bound on changes",
        "demand.hourly_rps: found 3 hourly rates, expected 4",
        'regions.0: found "moon", expected a region of the supply: eu',
        'stages.1.workload: found "cod"',
        "shares of stages that sum to 0.9",
    ):
        assert words in told


def test_gpus_that_no_row_of_the_table_has_are_refused(tmp_path):
    problem = values(supply=[*FLEET["fleet"]["supply"], {"gpu": "h100x", "term": "spot", "usd_per_gpu_h": 1}])
    problem["start"] = [{"gpu": "b300", "replicas": 1}]
    with pytest.raises(InputError) as caught:
        planned(tmp_path, problem)
    assert [fault.found for fault in caught.value.faults] == ['"h100x"', '"b300"']
    assert caught.value.faults[0].maybe == '"h100"'


def test_a_bucket_that_nobody_serves_is_named(tmp_path):
    table = TABLE.replace(",long,h100,1,3", ",long,h100,1,0").replace(",long,a100,1,1", ",long,a100,1,0")
    plan = planned(tmp_path, FLEET, table)
    assert plan.status == "infeasible"
    session = Session.load(tmp_path / "fleet.yaml")
    assert session.relax().conflicts == (("unservable:chat/long",),)


SPARED = {"replicas": 6, "per_option": 6, "servers": 9}
"""Replicas of two GPUs, 5 req/s each, for 25 req/s, by what may be lost: four share a server of eight."""


@pytest.mark.parametrize("inside", ["fleet", "workload"])
@pytest.mark.parametrize(("form", "replicas"), SPARED.items())
def test_every_form_of_redundancy_stands_in_the_fleet_and_in_a_workload(tmp_path, form, replicas, inside):
    workload = {"name": "w", "demand": {"peak_rps": 25}}
    fleet = {
        "headroom": {"capacity": "0 %"}, "prices": {"g": "1 USD/h"}, "purchase": "node", "node_size": 8,
    }  # fmt: skip
    (fleet if inside == "fleet" else workload)["redundancy"] = {form: 1}
    problem = {"name": "p", "workers": "workers.csv", "workloads": [workload], "fleet": fleet}
    plan = planned(tmp_path, problem, "option,gpu,gpus,max_rps\na,g,2,5\n")
    assert (plan.status, [pool.replicas for pool in plan.pools]) == ("optimal", [replicas])
    hourly = copy.deepcopy(problem)
    hourly["workloads"][0]["demand"] = {"hourly_rps": [25, 10]}
    day = planned(tmp_path, hourly, "option,gpu,gpus,max_rps\na,g,2,5\n")
    assert (day.status, [pool.replicas for pool in day.pools]) == ("optimal", [replicas])


@pytest.mark.parametrize("form", ["zones", "providers"])
def test_places_that_may_be_lost_have_names(tmp_path, form):
    """Five replicas in one place are lost together: as many again stand in another."""
    lines = [
        {"gpu": "g", "term": "on_demand", "usd_per_gpu_h": 1, "provider": name, "zone": name} for name in "ab"
    ]
    workload = {"name": "w", "demand": {"peak_rps": 25}, "redundancy": {form: 1}}
    fleet = {"headroom": {"capacity": "0 %"}, "supply": lines}
    problem = {"name": "p", "workers": "workers.csv", "workloads": [workload], "fleet": fleet}
    plan = planned(tmp_path, problem, "option,gpu,gpus,max_rps\na,g,2,5\n")
    assert (plan.status, sum(pool.replicas for pool in plan.pools)) == ("optimal", 10)
    fleet["supply"] = [{"gpu": "g", "term": "on_demand", "usd_per_gpu_h": 1}]
    with pytest.raises(InputError, match=rf"redundancy\.{form}: found GPUs of which nobody says where"):
        planned(tmp_path, problem, "option,gpu,gpus,max_rps\na,g,2,5\n")


@pytest.mark.parametrize("hours", [[25], [25, 10]])
def test_servers_that_nobody_buys_cannot_be_lost(tmp_path, hours):
    workload = {"name": "w", "demand": {"hourly_rps": hours}, "redundancy": {"servers": 1}}
    fleet = {"prices": {"g": "1 USD/h"}}
    problem = {"name": "p", "workers": "workers.csv", "workloads": [workload], "fleet": fleet}
    with pytest.raises(InputError, match=r"workloads\.w\.redundancy\.servers: found g that is not bought"):
        planned(tmp_path, problem, "option,gpu,gpus,max_rps\na,g,2,5\n")
