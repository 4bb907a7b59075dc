"""The debugger held against a plan: predictions of actions, and the finding that the plan no longer fits."""

import json
from pathlib import Path

import pytest

import planner
from planner.app.deployment import deployment
from planner.app.diagnose import values_read
from planner.diagnosis.known import known_from
from planner.interfaces.cli import run
from planner.loaders.catalog import load_catalog
from planner.loaders.plan_file import load_plan
from planner.report import json_document

ROOT = Path(__file__).parents[2]
SMALL = {
    "fleet.accelerators": ["h100-sxm"],
    "fleet.prices": {"h100-sxm": "2.5 USD/h"},
    "workloads.chat.demand": {"peak_rps": 9},
}
PROBLEM = planner.load(ROOT / "problems/01-chat-70b.yaml")
CASCADE = {"kv_usage_ratio": 0.99, "eviction_ratio": 0.27, "preemptions_per_s": 3, "oom": "none"}
CHUNKS = {"itl_p99_s": 0.3, "itl_p50_s": 0.02, "chunked_prefill": False, "mode": "aggregated"}


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    """Plans of the first problem on one accelerator, by mode."""
    folder = tmp_path_factory.mktemp("plans")
    found = {}
    for mode in ("aggregated", "disaggregated"):
        plan = PROBLEM.changed(SMALL | {"search.modes": [mode]}).solve()
        found[mode] = folder / f"{mode}.json"
        found[mode].write_bytes(json_document.encode(json_document.of_plan(plan)))
    return found


def priced(values, plan, knob):
    """The first action that turns a knob, and the diagnosis."""
    found = planner.diagnose(values, plan=plan)
    actions = [one for finding in found.findings for one in finding.actions if one.knob == knob]
    return actions[0], found


def by_hand(values, plan, changes):
    """The plan of the same changes, asked as a what-if."""
    at = deployment(load_plan(plan), plan, load_catalog(()), (), known_from(values_read(values)), None)
    return at.session.changed({**at.changes, **changes}).solve()


def test_smaller_kv_is_predicted_as_a_what_if_says(plans):
    values = CASCADE | {"kv_precision": "bf16", "max_batch": 512, "request_rate_rps": 9.0}
    action, found = priced(values, plans["aggregated"], "kv_precision")
    before, after = action.effect.before, action.effect.after
    assert after.capacity_rps > before.capacity_rps
    assert (after.cost_usd_per_hour, after.replicas) == (before.cost_usd_per_hour, before.replicas)
    assert action.effect.set["workloads.chat.precision.kv"] == ["fp8"]
    (pool,) = by_hand(values, plans["aggregated"], action.effect.set).pools
    assert after.ttft_p99_s == pool.ttft_s["p99"]
    assert after.itl_p99_s == pool.itl_s["p99"]
    assert after.capacity_rps == pytest.approx(pool.capacity_rps * pool.replicas)
    assert found.plan.rate_rps == 9.0
    # What 16-bit KV holds counts, whatever the observed limit of the batch says.
    assert found.plan.set["search.max_batch"][0] < 512


def test_one_replica_more_costs_its_price_and_clears_the_limits(plans):
    plan = load_plan(plans["aggregated"])
    (pool,) = plan.pools
    rate = pool.capacity_rps * pool.replicas * 1.1
    values = {"queue_growth_per_s": 1.0, "queue_depth": 5, "gpu_utilization_ratio": 0.97, "ttft_p99_s": 9.0}
    action, _ = priced(values | {"request_rate_rps": rate}, plans["aggregated"], "replicas")
    before, after = action.effect.before, action.effect.after
    assert before.status == "overloaded"
    assert action.effect.clears_slo
    assert after.replicas == {"serve": pool.replicas + 1}
    assert after.cost_usd_per_hour - before.cost_usd_per_hour == pytest.approx(2.5 * pool.gpus_per_replica)
    # A queue that grows says that the fleet carries less than the rate, whatever the margin of the plan.
    assert before.capacity_rps < rate
    assert before.capacity_rps == pytest.approx(rate, rel=0.1)
    assert before.ttft_p99_s > after.ttft_p99_s


def test_chunks_even_out_the_gaps_and_delay_the_first_token(plans):
    action, _ = priced(CHUNKS, plans["aggregated"], "chunked_prefill")
    before, after = action.effect.before, action.effect.after
    assert after.itl_p99_s < before.itl_p99_s
    assert after.ttft_p99_s > before.ttft_p99_s
    disaggregated, _ = priced(CHUNKS, plans["aggregated"], "disaggregation")
    assert set(disaggregated.effect.after.replicas) == {"prefill", "decode"}
    assert disaggregated.effect.after.itl_p99_s < after.itl_p99_s


def test_of_two_roles_the_limiting_one_gets_the_replica(plans):
    values = {"queue_growth_per_s": 1.0, "queue_depth": 5, "gpu_utilization_ratio": 0.97, "ttft_p99_s": 9.0}
    action, found = priced(values, plans["disaggregated"], "replicas")
    before, after = action.effect.before, action.effect.after
    assert sum(after.replicas.values()) == sum(before.replicas.values()) + 1
    assert after.capacity_rps > before.capacity_rps
    assert not found.plan.rate_is_observed
    assert found.plan.rate_rps == 9.0


def test_what_the_planner_does_not_model_says_so(plans):
    action, _ = priced({"host_oom": True}, plans["aggregated"], "host_allocator")
    assert isinstance(action.effect, str)
    assert "does not model" in action.not_priced
    plain = planner.diagnose({"host_oom": True}).findings[0].actions[0]
    assert plain.not_priced is None


def test_a_batch_that_memory_cannot_hold_is_infeasible(plans):
    """The batch is all that memory holds, and production runs at it; a step more cannot run."""
    file = plans["aggregated"]
    full = {"max_batch": 1000, "kv_precision": "bf16"}
    at = deployment(load_plan(file), file, load_catalog(()), (), known_from(values_read(full)), None)
    (held,) = at.changes["search.max_batch"]
    values = {"batch_mean": held * 0.95, "max_batch": held, "queue_depth": 5, "gpu_utilization_ratio": 0.3}
    action, _ = priced(values | {"kv_precision": "bf16"}, file, "max_batch")
    assert (action.direction, action.effect.after.status) == ("raise", "infeasible")
    assert "memory" in action.effect.after.why


def test_an_accelerator_without_a_rival_is_not_priced(plans):
    values = {"itl_p99_s": 0.3, "itl_p50_s": 0.2, "memory_bandwidth_ratio": 0.97, "ttft_p99_s": 0.5}
    action, _ = priced(values, plans["aggregated"], "gpu")
    assert "fleet.accelerators" in action.not_priced


@pytest.mark.parametrize(("factor", "raised"), [(1.29, False), (1.31, True)])
def test_ttft_beyond_the_plan_asks_for_a_new_plan(plans, factor, raised):
    planned = load_plan(plans["aggregated"]).pools[0].ttft_s["p99"]
    found = planner.diagnose(
        {"ttft_p99_s": planned * factor}, plan=plans["aggregated"], slo={"ttft_p99_s": 60.0}
    )
    anew = [one for one in found.findings if one.rule == "re-size"]
    assert bool(anew) == raised
    if raised:
        (seen,) = anew[0].evidence
        assert (seen.metric, seen.planned) == ("ttft_p99_s", planned)
        assert seen.threshold == pytest.approx(planned * 1.3)
        assert "calibrate" in anew[0].actions[0].not_priced


def test_use_below_the_plan_counts_at_the_same_rate_only(tmp_path):
    """On a plan of seven replicas, whose use is high enough that a fifth less is no waste of its own."""
    busy = PROBLEM.changed(
        SMALL | {"search.modes": ["aggregated"], "search.tp": [2], "workloads.chat.demand": {"peak_rps": 30}}
    ).solve()
    plan = tmp_path / "plan.json"
    plan.write_bytes(json_document.encode(json_document.of_plan(busy)))
    (pool,) = load_plan(plan).pools
    assert pool.utilization > 0.75
    low = {"gpu_utilization_ratio": pool.utilization - 0.21, "queue_depth": 0.0}
    found = planner.diagnose(low | {"request_rate_rps": 30.0}, plan=plan)
    assert [one.rule for one in found.findings] == ["re-size"]
    assert found.findings[0].layer == "L4a"
    assert not found.findings[0].ranking.in_doubt
    # At half the rate half the use is what the plan says.
    half = planner.diagnose(low | {"request_rate_rps": 15.0}, plan=plan)
    assert not half.findings
    unknown = planner.diagnose(low, plan=plan)
    assert [one.rule for one in unknown.findings] == ["re-size"]
    assert unknown.findings[0].ranking.in_doubt
    assert "request_rate_rps" in unknown.need


def test_a_new_plan_is_made_with_what_was_observed(plans):
    values = {"ttft_p99_s": 30.0, "request_rate_rps": 20.0}
    found = planner.diagnose(values, plan=plans["aggregated"], slo={"ttft_p99_s": 60.0})
    effect = found.findings[-1].actions[0].effect
    hand = PROBLEM.changed(
        SMALL | {"search.modes": ["aggregated"]} | {"workloads.chat.demand": {"peak_rps": 20, "mean_rps": 9}}
    )
    assert effect.after.cost_usd_per_hour == hand.solve().cost_usd_per_hour
    assert effect.after.cost_usd_per_hour > effect.before.cost_usd_per_hour


def test_the_command_prices_and_refuses(plans, capsys, tmp_path):
    observed = tmp_path / "observed.yaml"
    observed.write_text(json.dumps(CHUNKS))
    command = ["diagnose", "--observed", str(observed), "--plan"]
    assert run([*command, str(plans["aggregated"]), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    effect = document["findings"][0]["actions"][0]["effect"]
    assert effect["before"]["itl_p99_s"] > effect["after"]["itl_p99_s"]
    assert run([*command, str(plans["aggregated"]), "--details"]) == 0
    assert "Priced on the plan chat-70b" in capsys.readouterr().out
    for bad, words in (
        ([str(observed)], "a plan document"),
        ([str(tmp_path / "none.json")], "none.json"),
        ([str(plans["aggregated"]), "--workload", "chatt"], 'Maybe "chat"'),
    ):
        assert run([*command, *bad]) == 2
        assert words in capsys.readouterr().err


def test_a_plan_without_a_fleet_is_refused(plans, capsys, tmp_path):
    empty = json.loads(plans["aggregated"].read_text()) | {"pools": [], "status": "infeasible"}
    path = tmp_path / "empty.json"
    path.write_text(json.dumps(empty))
    observed = tmp_path / "observed.yaml"
    observed.write_text("oom: none\n")
    assert run(["diagnose", "--observed", str(observed), "--plan", str(path)]) == 2
    assert "a plan with a fleet" in capsys.readouterr().err


def test_rules_explain_the_built_in_finding(capsys):
    assert run(["rules", "show", "re-size", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["thresholds"]["ttft_excess_fraction"]["value"] == "0.3"
    assert shown["source"]["section"].startswith("9.1")
    assert run(["rules", "show", "re-size"]) == 0
    assert "planned TTFT P99" in " ".join(capsys.readouterr().out.split())
    assert run(["rules", "list", "--json"]) == 0
    assert any(row["id"] == "re-size" for row in json.loads(capsys.readouterr().out))


def test_one_model_of_a_tier_is_held_against_the_plan_of_both(tmp_path, capsys):
    plan = tmp_path / "router.json"
    assert run(["plan", str(ROOT / "problems" / "12-router.yaml"), "--out", str(plan)]) == 0
    seen = ROOT / "problems" / "observations" / "12-experts-hot.yaml"
    for workload in ("small", "large"):
        capsys.readouterr()
        asked = ["diagnose", "--observed", str(seen), "--plan", str(plan), "--workload", workload, "--json"]
        assert run(asked) == 0
        assert json.loads(capsys.readouterr().out)["findings"]


LOADED = {"queue_depth": 5, "batch_mean": 30, "max_batch": 32, "gpu_utilization_ratio": 0.4}


def fitted_to(values, plan):
    """The diagnosis, and how the plan was fitted to what was seen."""
    found = planner.diagnose(values, plan=plan)
    return found, found.plan.fit


def test_slower_steps_than_the_models_are_found_and_all_rows_priced_with_them(plans):
    plan = load_plan(plans["aggregated"])
    (pool,) = plan.pools
    seen = {"itl_mean_s": pool.itl_s["mean"] * 1.3, "batch_mean": pool.concurrency * 1.3}
    found, fit = fitted_to(LOADED | seen | {"max_batch": 18, "request_rate_rps": 9.0}, plans["aggregated"])
    assert fit.reproduced
    # The plan's own times hold a margin for what is not known.
    assert 1.0 < fit.step_factor < 2.0
    assert fit.rate_from == "request_rate_rps"
    gaps = next(one for one in fit.measures if one.metric == "itl_mean_s")
    assert gaps.predicted == pytest.approx(gaps.seen, rel=0.1)
    now, *after = found.plan.table
    assert now.rule is None
    assert after
    priced_actions = [
        action.effect for one in found.findings if one.rule != "re-size" for action in one.actions
        if not isinstance(action.effect, str)
    ]  # fmt: skip
    # One baseline for the whole table.
    assert all(one.before == now.state for one in priced_actions)
    assert all(row.state in [one.after for one in priced_actions] for row in after)


def test_a_rate_that_was_not_observed_follows_from_the_running_requests(plans):
    plan = load_plan(plans["aggregated"])
    (pool,) = plan.pools
    values = LOADED | {"batch_mean": pool.concurrency / 2, "itl_mean_s": pool.itl_s["mean"] * 0.8}
    found, fit = fitted_to(values, plans["aggregated"])
    assert fit.rate_from == "batch_mean"
    assert fit.reproduced
    assert 2.0 < found.plan.rate_rps < 8.0
    assert not found.plan.rate_is_observed


def test_what_the_model_cannot_reproduce_is_named_and_nothing_is_priced(plans, capsys, tmp_path):
    values = LOADED | {"itl_p50_s": 0.4, "request_rate_rps": 9.0}
    found, fit = fitted_to(values, plans["aggregated"])
    assert not fit.reproduced
    assert found.plan.table == ()
    assert "seen" in fit.why
    for action in (action for one in found.findings if one.rule != "re-size" for action in one.actions):
        assert isinstance(action.effect, str)
        assert "does not reproduce" in action.not_priced
    (file := tmp_path / "seen.json").write_text(json.dumps(values))
    assert run(["diagnose", "--observed", str(file), "--plan", str(plans["aggregated"])]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "itl_p50_s seen 400 ms" in told
    assert "NOT reproduced" in told


def test_the_table_stands_below_the_first_screen(plans, capsys, tmp_path):
    (file := tmp_path / "seen.json").write_text(json.dumps(CASCADE | {"kv_precision": "bf16"}))
    assert run(["diagnose", "--observed", str(file), "--plan", str(plans["aggregated"])]) == 0
    told = capsys.readouterr().out
    assert "now, as predicted" in told
    assert "not fitted to what was seen" in " ".join(told.split())
    assert max(map(len, told.splitlines())) <= 100
