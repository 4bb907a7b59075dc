"""Rules and dashboards: valid PromQL in every engine's words, alarms that ring, names that stay names."""

import json
import shutil
import subprocess

import pytest
import yaml
from export_samples import case_of, workload
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.exports.day_hours import day_hours
from planner.exports.grafana import grafana
from planner.exports.prometheus import prometheus, rule_groups
from planner.exports.watches import watches

PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(
    PROMTOOL is None, reason="no promtool (Debian package prometheus): rules stay unchecked"
)
SLO = {"ttft_p99": "1500 ms", "itl_p95": "60 ms", "tpot_mean": "40 ms", "e2e_p90": "30 s"}
ENGINES = ["vllm", "sglang", "tensorrt-llm"]


@pytest.fixture
def case(make_plan, tmp_path):
    """Of an engine: a pool that serves, and two that serve prefill and decode disaggregated."""

    def of(
        engine="vllm", pools=({}, {"role": "prefill", "kv_usage": 0.4}, {"role": "decode"}), slo=SLO, **more
    ):
        pools = [{"engine": engine} | pool for pool in pools]
        return case_of(make_plan, tmp_path, pools, [workload(slo=slo, prefix_cache_hit="30 %")], **more)

    return of


def content(exported, name):
    return next(item.content for item in exported.files if item.name == name)


def promtool(*words, cwd):
    found = subprocess.run([PROMTOOL, *words], cwd=cwd, check=False, capture_output=True, text=True)
    return found.returncode, found.stdout + found.stderr


@needs_promtool
@pytest.mark.parametrize("engine", ENGINES)
def test_rules_are_rules(case, engine, tmp_path):
    made = prometheus(case(engine))
    (tmp_path / "rules.yaml").write_bytes(content(made, "rules.yaml"))
    assert promtool("check", "rules", "rules.yaml", cwd=tmp_path)[0] == 0
    scraped = yaml.safe_load(content(made, "scrape.yaml")) | {"rule_files": ["rules.yaml"]}
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(scraped))
    code, said = promtool("check", "config", "prometheus.yml", cwd=tmp_path)
    assert code == 0, said


@needs_promtool
@pytest.mark.parametrize("between", [":", "_"])
def test_alarms_ring_and_stay_silent(case, tmp_path, between):
    """A queue past the breaker and slow first tokens ring; a cache and gaps within the plan do not."""
    (tmp_path / "rules.yaml").write_bytes(content(prometheus(case(pools=[{"kv_usage": 0.4}])), "rules.yaml"))

    def series(name, values, **more):
        labels = {"pool": "chat-serve-1", "model_name": "m", "engine": "0"} | more
        inside = ",".join(f'{key}="{value}"' for key, value in labels.items())
        return {"series": f"vllm{between}{name}{{{inside}}}", "values": values}

    both = [{"instance": "a"}, {"instance": "b"}]
    inputs = [series("num_requests_waiting", "50x40", **at) for at in both]
    inputs += [series("kv_cache_usage_perc", "0.5x40", **at) for at in both]
    for edge, count in (("1.0", 0), ("2.5", 60), ("+Inf", 60)):
        inputs.append(series("time_to_first_token_seconds_bucket", f"0+{count}x40", le=edge, **both[0]))
    for edge in ("0.01", "0.025", "+Inf"):
        inputs.append(series("inter_token_latency_seconds_bucket", "0+60x40", le=edge, **both[0]))
    up = [{"series": f'up{{pool="chat-serve-1",instance="{n}"}}', "values": "1x40"} for n in range(8)]

    def rings(name, severity, summary, why):
        labels = {"pool": "chat-serve-1", "workload": "chat", "role": "serve", "severity": severity}
        said = {"summary": f"chat-serve-1: {summary}", "description": why}
        return {
            "eval_time": "30m",
            "alertname": name,
            "exp_alerts": [{"exp_labels": labels, "exp_annotations": said}],
        }

    def silent(name):
        return {"eval_time": "30m", "alertname": name, "exp_alerts": []}

    limit = "the limit of the plan's problem"
    alerts = [
        rings(
            "PlannerQueueDepthHigh", "warning", "Queue per replica is above 12", "the circuit breaker opens"
        ),
        rings("PlannerTtftP99High", "critical", "Time to first token, p99 is above 1.5", limit),
        silent("PlannerKvUsageHigh"),
        silent("PlannerItlP95High"),
        silent("PlannerReplicasUpLow"),
    ]
    recorded = {"expr": "planner:queue_depth", "eval_time": "30m", "exp_samples": [{"value": 50, "labels": (
        'planner:queue_depth{pool="chat-serve-1", role="serve", workload="chat"}')}]}  # fmt: skip
    test = {"interval": "1m", "alert_rule_test": alerts, "promql_expr_test": [recorded]}
    lost = test | {
        "input_series": inputs + up[1:],
        "promql_expr_test": [],
        "alert_rule_test": [
            rings("PlannerReplicasUpLow", "critical", "Replicas is below the plan",
                  "fewer replicas answer than the plan runs at this hour"),
        ],
    }  # fmt: skip
    document = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": "1m",
        "tests": [test | {"input_series": inputs + up}, lost],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(document))
    code, said = promtool("test", "rules", "test.yaml", cwd=tmp_path)
    assert code == 0, said


def test_the_limits_of_the_problem_are_alarms(case):
    alerts = {rule["alert"]: rule for rule in rule_groups(case())[0]["rules"] if "alert" in rule}
    for name, limit in (("TtftP99", 1.5), ("ItlP95", 0.06), ("TpotMean", 0.04), ("E2eP90", 30)):
        rule = alerts[f"Planner{name}High"]
        assert rule["expr"].endswith(f"> ({limit:g})")
        assert rule["labels"]["severity"] == "critical"


def test_roles_are_watched_for_what_they_measure(case):
    promised = {(w.item.pool.role, w.metric) for w in watches(case()) if w.promised}
    assert promised == {
        ("serve", "ttft_p99_s"), ("serve", "itl_p95_s"), ("serve", "tpot_mean_s"), ("serve", "e2e_p90_s"),
        ("prefill", "ttft_p99_s"), ("decode", "itl_p95_s"), ("decode", "tpot_mean_s"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("replicas", "period", "runs"),
    [
        ([2, 2, *[3] * 22], "day", [(0, 2, 2), (2, 24, 3)]),
        ([1, 2], "day", [(hour, hour + 1, 1 + hour % 2) for hour in range(24)]),
        ([*[1] * 120, *[2] * 48], "week", [(0, 120, 1), (120, 168, 2)]),
        ([4], "day", [(0, 24, 4)]),
    ],
)
def test_hours_on_a_clock(replicas, period, runs):
    found = day_hours(replicas)
    assert found.period == period
    assert [(run.first, run.end, run.replicas) for run in found.runs] == runs


def test_hours_that_no_clock_has():
    assert day_hours([1, 2, 3, 4, 5]) is None


def test_a_dashboard_holds_every_watch_beside_the_plan(case):
    sample = case()
    board = json.loads(grafana(sample).files[0].content)
    panels = [panel for panel in board["panels"] if panel["type"] == "timeseries"]
    assert [panel["targets"][0]["expr"] for panel in panels] == [watch.measured for watch in watches(sample)]
    first = next(panel for panel in panels if panel["title"] == "Time to first token, p99")
    assert {line["legendFormat"]: line["expr"] for line in first["targets"][1:]} == {
        "plan": "vector(1.41)", "limit": "vector(1.5)",
    }  # fmt: skip
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    taken = {(p["gridPos"]["x"], p["gridPos"]["y"]) for p in panels}
    assert len(taken) == len(panels)


NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/:"), min_size=1, max_size=60
)


@given(name=NAMES.filter(lambda text: not text[0].isspace()))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_names_of_the_user_stay_names(make_plan, tmp_path_factory, name):
    """Nothing of them reaches PromQL, templates of annotations or variables of Grafana."""
    strange = f'{{{{ $x }}}}"{name}'[:90]
    made = [{"workload": strange}]
    sample = case_of(make_plan, tmp_path_factory.getbasetemp(), made, [workload(strange)], problem=strange)
    text = content(prometheus(sample), "rules.yaml").decode() + grafana(sample).files[0].content.decode()
    assert "$x" not in text
    assert "{{" not in text
    assert yaml.safe_load(content(prometheus(sample), "rules.yaml"))["groups"][0]["rules"]


def hours(*replicas):
    return [
        {"period": t, "replicas": {"chat/serve/1": n}, "gpus": {}, "usd": 1.0} for t, n in enumerate(replicas)
    ]


@needs_promtool
def test_replicas_are_held_against_their_hour(case, tmp_path):
    """Two until noon UTC, eight from then on: at 13:00 five are too few, at 10:00 they are enough."""
    sample = case(pools=[{}], periods=hours(*[2] * 12, *[8] * 12))
    planned = next(one for one in watches(sample) if one.metric == "replicas_up").expected
    tests = [
        {"expr": planned, "eval_time": f"{hour}h", "exp_samples": [{"labels": "{}", "value": value}]}
        for hour, value in ((0, 2), (10, 2), (12, 8), (23, 8), (25, 2))
    ]
    document = {"evaluation_interval": "1h", "tests": [{"interval": "1h", "promql_expr_test": tests}]}
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(document))
    code, said = promtool("test", "rules", "test.yaml", cwd=tmp_path)
    assert code == 0, said


def test_hours_of_no_clock_are_held_against_the_fewest(case):
    sample = case(pools=[{}], periods=hours(3, 1, 4, 1, 5))
    assert "repeat in no day and no week" in " ".join(prometheus(sample).notes)
    assert next(one for one in watches(sample) if one.metric == "replicas_up").expected == "vector(1)"
