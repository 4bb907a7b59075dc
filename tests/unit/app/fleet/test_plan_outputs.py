"""Routes and schedules of plans, against sums by hand."""

import json
from fractions import Fraction

import fleet_plans
import pytest
from hypothesis import given
from hypothesis import strategies as st

import planner
from planner.app.routes_out import routes_of, routes_out, weighed
from planner.app.schedule_out import schedule_of, schedule_out
from planner.errors import InputError
from planner.report import json_document, plan_text, schedule_text, terminal


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return planner.load(fleet_plans.tiny(tmp_path_factory.mktemp("tiny"))).solve()


def shares(routes):
    return {
        (row.workload, item.bucket, to.pool): to.share
        for row in routes.workloads
        for item in row.buckets
        for to in item.pools
    }


def test_one_hour_has_its_own_routing(tiny):
    # Hour 0: 2 req/s short and 2 long on one h100 (8 and 4 req/s). Hour 1: 6 and 6.
    assert shares(routes_of(tiny, 0, "")) == {
        ("chat", "short", "chat/serve/2"): 1.0,
        ("chat", "long", "chat/serve/2"): 1.0,
    }
    second = shares(routes_of(tiny, 1, ""))
    day = shares(routes_of(tiny, None, ""))
    for bucket in ("short", "long"):
        own = second.get(("chat", bucket, "chat/serve/2"), 0.0)
        # over the day: 2 of 8 requests in the first hour, 6 of 8 in the second
        assert day["chat", bucket, "chat/serve/2"] == pytest.approx((2 * 1.0 + 6 * own) / 8)


def test_every_bucket_sums_to_one_and_to_a_thousand(tiny):
    for period in (None, 0, 1):
        for row in routes_of(tiny, period, "").workloads:
            for item in row.buckets:
                assert sum(to.share for to in item.pools) == pytest.approx(1.0)
                assert sum(to.weight for to in item.pools) == 1000


@given(st.dictionaries(st.text(max_size=3), st.floats(1e-6, 1.0), min_size=1, max_size=20))
def test_weights_are_the_shares_to_less_than_one_thousandth(parts):
    found = weighed(parts)
    whole = sum(map(Fraction, parts.values()))
    assert sum(to.weight for to in found) == 1000
    assert {to.pool for to in found} == set(parts)
    for to in found:
        assert abs(to.weight - Fraction(parts[to.pool]) / whole * 1000) < 1
    assert [to.share for to in found] == sorted((to.share for to in found), reverse=True)


def test_the_largest_remainders_get_what_is_missing():
    found = weighed({"a": 1.0, "b": 1.0, "c": 1.0})
    assert {to.pool: to.weight for to in found} == {"a": 334, "b": 333, "c": 333}
    found = weighed({"a": 0.5004, "b": 0.3998, "c": 0.0998})
    assert {to.pool: to.weight for to in found} == {"a": 500, "b": 400, "c": 100}


def test_prefill_and_decode_each_take_every_request(make_plan, chat_plan):
    pools = [
        fleet_plans.pool_of(chat_plan.pools[0], id=f"chat/{role}/1", role=role, mode="disaggregated")
        for role in ("prefill", "decode")
    ]
    routing = [
        {"workload": "chat", "bucket": "all", "pool": "chat/prefill/1", "share": 0.75},
        {"workload": "chat", "bucket": "all", "pool": "chat/api/x", "share": 0.25},
        {"workload": "chat", "bucket": "all", "pool": "chat/decode/1", "share": 0.75},
    ]
    rows = routes_of(make_plan(pools=pools, routing=routing), None, "").workloads
    assert [(row.role, [(to.pool, to.weight) for to in row.buckets[0].pools]) for row in rows] == [
        ("prefill", [("chat/prefill/1", 750), ("chat/api/x", 250)]),
        ("decode", [("chat/decode/1", 1000)]),
    ]


@pytest.mark.parametrize(("period", "maybe"), [(2, "--period 1"), (99, "--period 1")])
def test_an_hour_that_the_plan_does_not_have(tiny, period, maybe):
    with pytest.raises(InputError) as refused:
        routes_of(tiny, period, "plan.json")
    (fault,) = refused.value.faults
    assert (fault.where, fault.key, fault.found) == ("plan.json", "--period", str(period))
    assert fault.expected == "an hour from 0 to 1"
    assert maybe in fault.maybe


def test_plans_for_one_rate_have_hour_0_alone(chat_plan):
    assert routes_of(chat_plan, 0, "") == routes_of(chat_plan, None, "").model_copy(update={"period": 0})
    with pytest.raises(InputError, match="expected 0: the plan has one period"):
        routes_of(chat_plan, 1, "plan.json")


def test_a_document_without_pools_is_refused(no_plan, tmp_path):
    path = tmp_path / "no.json"
    path.write_bytes(json_document.encode(json_document.of_plan(no_plan)))
    for use_case in (routes_out, schedule_out):
        with pytest.raises(InputError, match=r"pools: found none.*planner relax"):
            use_case(path)


def test_a_schedule_has_every_hour(make_plan):
    found = schedule_of(fleet_plans.day(make_plan))
    extra = [6 if t in fleet_plans.SPOT_HOURS else 0 for t in range(24)]
    assert {line.line: list(line.gpus) for line in found.lines} == {
        "h100-sxm/on_demand": extra,
        "h100-sxm/reserved": [4] * 24,
    }
    assert {line.place for line in found.lines} == {"cloud/eu"}
    assert list(found.pools[0].replicas) == [(4 + more) // 2 for more in extra]
    assert sum(found.usd) == 21 * 8 + 3 * 32
    assert [(o.gpus, o.period, o.order_at_s) for o in found.orders] == [
        (6, 9, 9 * 3600 - 600),
        (-6, 12, 12 * 3600),
    ]


def test_a_plan_for_one_rate_is_one_hour(chat_plan):
    found = schedule_of(chat_plan)
    assert (found.periods, found.usd, found.orders) == (1, (40.0,), ())
    assert [(line.line, line.term, line.gpus) for line in found.lines] == [("h100-sxm", None, (16,))]
    assert found.pools[0].replicas == (8,)


def test_documents_that_contradict_themselves_are_still_shown(make_plan):
    """People edit documents: hours that do not exist, orders without hours."""
    plan = fleet_plans.day(make_plan)
    stray = plan.supply[0].model_copy(update={"period": -30})
    edited = plan.model_copy(update={"supply": (*plan.supply, stray)})
    assert schedule_of(edited) == schedule_of(plan)
    plan = plan.model_copy(update={"periods": (), "supply": ()})
    assert terminal.render(plan_text.view(plan))
    assert terminal.render(schedule_text.view(schedule_of(plan)))


def test_what_is_written_can_be_read_again(tiny, tmp_path):
    path = tmp_path / "plan.json"
    path.write_bytes(json_document.encode(json_document.of_plan(tiny)))
    assert routes_out(path, 1) == routes_of(tiny, 1, "")
    assert json.loads(json_document.encode(json_document.of(schedule_out(path)))) == json_document.of(
        schedule_of(tiny)
    )
