"""Every plan of problems/ for what scales, watches, guards and tests it: GPUs, hours, valid rules."""

import functools
import json
import shutil
import subprocess

import jsonschema
import pytest
import yaml
from manifest_schemas import problems
from sample_plans import EACH, sample

from planner.app.export_plan import export_case
from planner.errors import CannotExpressError
from planner.exports.registry import target
from planner.exports.watches import watches

PROMTOOL = shutil.which("promtool")


@functools.cache
def case_of(path):
    """Of a problem with an answer; made once for all tests."""
    plan = sample(path)[1]
    return export_case(plan, path) if plan.pools else None


@pytest.fixture(params=EACH)
def case(request):
    return case_of(request.param) or pytest.skip("nothing to run")


@pytest.fixture
def files(case):
    """What a target writes of the plan, by name; skipped where it says why not."""

    def files(name):
        try:
            return {item.name: item.content for item in target(name).build(case).files}
        except CannotExpressError as no:
            pytest.skip(no.reasons[0])

    return files


def planned_gpus(case):
    return sum(item.replicas * item.pool.gpus_per_replica for item in case.deployments)


def test_rules_and_panels_watch_every_pool(case, files, tmp_path):
    rules = files("prometheus")["rules.yaml"]
    groups = yaml.safe_load(rules)["groups"]
    assert [group["name"] for group in groups] == [f"planner-{item.name}" for item in case.deployments]
    panels = [one for one in json.loads(files("grafana")["dashboard.json"])["panels"] if one["type"] != "row"]
    assert len(panels) == len(watches(case))
    if PROMTOOL is None:
        pytest.skip("no promtool (Debian package prometheus): rules stay unchecked")
    (tmp_path / "rules.yaml").write_bytes(rules)
    done = subprocess.run(
        [PROMTOOL, "check", "rules", "rules.yaml"], cwd=tmp_path, check=False, capture_output=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_autoscalers_follow_the_hours(case, files):
    for item, content in zip(case.deployments, files("keda").values(), strict=True):
        document = yaml.safe_load(content)
        found = problems(document)
        spec = document["spec"]
        assert spec["maxReplicaCount"] == item.most_replicas
        windows = [one["metadata"] for one in spec["triggers"] if one["type"] == "cron"]
        asked = {int(one["desiredReplicas"]) for one in windows}
        assert asked | {item.least_replicas} == set(item.replicas_by_hour)
        assert not found
    if found is None:
        pytest.skip("the schema of ScaledObject is absent: these manifests stay unchecked")


@pytest.mark.parametrize("name", ["llm-d", "dynamo", "skypilot"])
def test_other_platforms_take_the_gpus_of_the_plan(case, files, name):
    made = [one for content in files(name).values() for one in yaml.safe_load_all(content)]
    if name == "skypilot":
        tasks = [one for one in made if "resources" in one]
        policies = [one["service"].get("replica_policy", {}) for one in tasks]
        most = [
            policy.get("max_replicas", one["service"].get("replicas"))
            for one, policy in zip(tasks, policies, strict=True)
        ]
        sizes = [one["num_nodes"] * int(one["resources"]["accelerators"].split(":")[1]) for one in tasks]
        assert most == [item.most_replicas for item in case.deployments]
        assert sizes == [item.pool.gpus_per_replica for item in case.deployments]
    elif name == "dynamo":
        workers = [
            one for graph in made if graph["kind"] != "ConfigMap" for one in graph["spec"]["components"][1:]
        ]
        assert sum(one["replicas"] * nodes(one) * limit(one["podTemplate"]["spec"]) for one in workers) == (
            planned_gpus(case)
        )
    else:
        roles = [one[role] for one in made for role in ("decode", "prefill") if one[role]["create"]]
        assert sum(r["replicas"] * r["parallelism"]["workers"] * limit(r) for r in roles) == planned_gpus(
            case
        )


def nodes(worker):
    return worker.get("multinode", {}).get("nodeCount", 1)


def limit(pod):
    (count,) = pod["containers"][0]["resources"]["limits"].values()
    return count


def test_guardrails_are_those_of_the_plan(case, files):
    made = files("guardrails")
    values = yaml.safe_load(made["engine-limits.yaml"])["workloads"]
    for workload, name in case.workloads.items():
        limits = case.plan.guardrails_of(workload)
        assert values[name]["max_output_tokens"] == limits.max_output_tokens
    jsonschema.validate(
        list(yaml.safe_load_all(made["limits.yaml"])), {"type": "array", "minItems": len(values)}
    )


def test_load_tests_send_what_was_planned(case, files):
    made = files("benchmark")
    notes = " ".join(target("benchmark").build(case).notes)
    sizing = {one.workload: one for one in case.plan.sizing}
    for workload, name in case.workloads.items():
        rows = [json.loads(line) for line in made[f"load-{name}.jsonl"].splitlines()]
        stated = sizing[workload]
        span_s = (rows[-1]["timestamp"] - rows[0]["timestamp"]) / 1000 * len(rows) / (len(rows) - 1)
        assert len(rows) / span_s == pytest.approx(stated.peak_rps, rel=0.05)
        sent = {side: sum(row[f"{side}_length"] for row in rows) / len(rows) for side in ("input", "output")}
        planned = {"input": stated.input_tokens["mean"], "output": stated.output_tokens["mean"]}
        assert all(sent[side] <= 1.05 * planned[side] for side in sent)
        if f"{name}: the guardrails of the plan cut" not in notes:
            assert sum(sent.values()) == pytest.approx(sum(planned.values()), rel=0.05)
