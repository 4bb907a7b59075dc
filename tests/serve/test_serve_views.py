"""The views of a fleet's day and of a replay draw the numbers of their documents."""

import asyncio
import json

import pytest
from nicegui import ui
from page_user import only, seen, texts, until
from service_samples import DAY

from planner.explain.hours import replicas_by_hour
from planner.schema.plan import Plan
from planner.serve.asked import PlanAsked, ReplayAsked
from planner.serve.desk import Desk, Limits
from planner.serve.history import History
from planner.serve.page.choices import Slider


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    made = Desk(History(f"sqlite:///{tmp_path_factory.mktemp('jobs')}/jobs.sqlite"), Limits(workers=1))
    yield made
    made.close()


def answered(desk, kind, asked):
    job, ticket = desk.submit(kind, asked)
    reply = ticket.reply.result(120)
    assert reply.status == 200, reply.body
    return job, json.loads(reply.body)


@pytest.fixture(scope="module")
def planned(desk):
    return answered(desk, "plan", PlanAsked(problem=DAY))


def drawn(user, title):
    """The series of the chart with a title: name -> values."""
    (chart,) = [one for one in user.find(ui.echart).elements if one.options["title"]["text"] == title]
    return {one["name"]: list(one["data"]) for one in chart.options["series"]}


def test_a_day_shows_replicas_load_and_cost_of_every_hour_of_all_and_of_one(desk, planned):
    job, document = planned
    plan = Plan.model_validate(document)
    replicas = {pool.id: list(replicas_by_hour(plan, pool)) for pool in plan.pools}
    carried = [sum(pool.capacity_rps * replicas[pool.id][hour] for pool in plan.pools) for hour in range(3)]

    async def steps(user):
        await user.open(f"/job/{job.id}")
        await until(user, "The day")
        assert drawn(user, "replicas") == replicas
        assert drawn(user, "load of capacity") == {"load": [one.utilization for one in plan.periods]}
        sums = [sum(hour) for hour in zip(*drawn(user, "cost, USD an hour").values(), strict=True)]
        assert sums == pytest.approx([one.usd for one in plan.periods])
        only(user, ui.select, label="Show").set_value("chat")
        await asyncio.sleep(0.1)
        rates = drawn(user, "requests/s")
        assert rates["asked"] == [1, 4, 9]
        assert rates["its replicas carry"] == pytest.approx(carried)
        assert all(most >= asked for asked, most in zip(rates["asked"], carried, strict=True))
        assert drawn(user, "replicas") == replicas
        gpus = [sum(hour) for hour in zip(*drawn(user, "its GPUs, USD an hour").values(), strict=True)]
        assert sum(gpus) == pytest.approx(sum(one.usd - one.start_usd for one in plan.periods))

    seen(desk, steps)


def test_the_demand_of_all_hours_is_one_slider(desk, planned):
    job, before = planned

    async def steps(user):
        await user.open(f"/job/{job.id}")
        await until(user, "What if")
        label = "chat: demand, of 9 rps in the busiest hour"
        only(user, Slider, **{"aria-label": label}).value = 200
        user.find("What would that cost?").click()
        await until(user, "Before and after")

    seen(desk, steps)
    newest = desk.history.find(desk.history.newest(1)[0].id)
    assert newest.kind == "whatif"
    after = json.loads(newest.document)["after"]
    hours = after["inputs"]["problem"]["workloads"][0]["demand"]["hourly_rps"]
    assert [float(rate) for rate in hours] == [2, 8, 18]
    assert after["cost_usd_per_hour"] > before["cost_usd_per_hour"]


def test_a_replay_stands_beside_the_prediction_and_its_limits(desk, planned):
    job, document = answered(
        desk, "replay", ReplayAsked(plan=planned[1], duration_s=60, seeds=2, change=False)
    )
    seen_s, told_s = document["workloads"]["chat"]["ttft_s"], document["predicted"]["chat"]["ttft_s"]
    names = ["mean", "p50", "p90", "p95", "p99"]

    async def steps(user):
        await user.open(f"/job/{job.id}")
        await until(user, "Latency of chat, milliseconds")
        assert document["verdict"] in texts(user)
        bars = drawn(user, "first token (TTFT)")
        assert bars["replayed"] == [1000 * seen_s[name] for name in names]
        assert bars["plan's prediction"] == [told_s.get(name) and 1000 * told_s[name] for name in names]
        assert bars["limit"] == [None, None, None, None, 2000]
        assert bars["replayed"] != bars["plan's prediction"]

    seen(desk, steps)
