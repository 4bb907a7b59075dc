"""Services of SkyPilot: names, places, GPUs and scripts, by the schemas of SkyPilot where it is installed."""

import subprocess

import jsonschema
import pytest
import yaml
from export_samples import case_of, workload
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.errors import CannotExpressError
from planner.exports.skypilot import skypilot

OFFER = {"provider": "aws", "region": "us-east-1", "instance": "p5.48xlarge", "gpus": 8, "usd_per_hour": 30.0}
BIG = {"model": "deepseek-v3", "weights": "fp8", "kv": "bf16", "tp": 8, "pp": 2, "replicas": 3}
SPARSE = [workload(model="deepseek-v3")]

TEXT, COUNT = {"type": "string"}, {"type": "integer", "minimum": 0}
RESOURCES = {
    "infra": {"type": "string", "pattern": r"^[a-z]+(/[^/]+){0,2}$"}, "instance_type": TEXT,
    "accelerators": {"type": "string", "pattern": r"^[A-Za-z0-9-]+:[1-9][0-9]*$"}, "image_id": TEXT,
    "ports": {"type": "integer"}, "use_spot": {"type": "boolean"},
}  # fmt: skip
POLICY = {"min_replicas": COUNT, "max_replicas": COUNT, "target_qps_per_replica": {"type": "number"}}
SERVICE = {
    "readiness_probe": {"type": "object", "required": ["path"], "additionalProperties": False,
                        "properties": {"path": TEXT, "initial_delay_seconds": {"type": "number"}}},
    "replicas": {"type": "integer"},
    "replica_policy": {"type": "object", "required": ["min_replicas"], "additionalProperties": False,
                       "properties": POLICY},
}  # fmt: skip
TASK = {
    "type": "object", "additionalProperties": False,
    "properties": {
        "name": TEXT, "num_nodes": {"type": "integer"}, "run": TEXT,
        "secrets": {"type": "object", "additionalProperties": TEXT},
        "file_mounts": {"type": "object", "additionalProperties": TEXT},
        "resources": {"type": "object", "additionalProperties": False, "properties": RESOURCES},
        "service": {"type": "object", "additionalProperties": False, "properties": SERVICE},
    },
}  # fmt: skip
"""Retyped from the schemas of SkyPilot 0.14.1: what exports use of them."""


def checked(task):
    """The task, after the schemas."""
    jsonschema.validate(task, TASK)
    try:
        from sky.utils import schemas
    except ImportError:
        return task
    jsonschema.validate(task, schemas.get_task_schema())
    jsonschema.validate(task["resources"], schemas.get_resources_schema())
    jsonschema.validate(task["service"], schemas.get_service_schema())
    return task


@pytest.fixture
def tasks(make_plan, tmp_path):
    def tasks(*pools, **keys):
        made = skypilot(case_of(make_plan, tmp_path, pools, **keys))
        found = [yaml.safe_load(item.content) for item in made.files]
        return [checked(one) for one in found if "resources" in one], made

    return tasks


def test_a_pool_at_its_place(tasks):
    (task,), _ = tasks({"offer": OFFER, "tp": 8})
    assert task["resources"] == {
        "infra": "aws/us-east-1", "instance_type": "p5.48xlarge", "accelerators": "H100:8",
        "image_id": task["resources"]["image_id"], "ports": 8000,
    }  # fmt: skip
    assert task["service"] == {
        # Three times the cold start of 94 s and 284.8 GB from the hub at 0.75 GB/s.
        "readiness_probe": {"path": "/health", "initial_delay_seconds": 1422},
        "replicas": 8,
    }


@pytest.mark.parametrize(
    ("provider", "region", "gpu", "infra", "name"),
    [
        ("runpod", "all (uniform)", "h100-sxm", "runpod", "H100-SXM:8"),
        ("digitalocean", "tor1", "h100-sxm", "do/tor1", "H100:8"),
        ("lambda", "not stated", "a100-sxm", "lambda", "A100-80GB:8"),
        ("coreweave", "North America", "h200-sxm", None, "H200:8"),
    ],
)
def test_names_of_clouds(tasks, provider, region, gpu, infra, name):
    offer = OFFER | {"provider": provider, "region": region}
    (task,), made = tasks({"offer": offer, "tp": 8, "gpu": gpu})
    assert task["resources"].get("infra") == infra
    assert task["resources"]["accelerators"] == name
    assert (infra is None) == any("SkyPilot does not know" in note for note in made.notes)


def test_replicas_of_several_servers(tasks):
    (task,), _ = tasks(BIG, workloads=SPARSE)
    assert (task["num_nodes"], task["resources"]["accelerators"]) == (2, "H100:8")
    assert task["service"]["replicas"] * task["num_nodes"] * 8 == 3 * 16, "the GPUs of the plan"
    assert '--node-rank "${SERVER_RANK:?}"' in task["run"]
    assert 'SERVER_RANK="$SKYPILOT_NODE_RANK"' in task["run"]


def test_hours_become_a_range(tasks):
    hours = [
        {"period": t, "replicas": {"chat/serve/1": n}, "gpus": {"h100-sxm": 2 * n}, "usd": 1.0}
        for t, n in enumerate([2, 8])
    ]
    (task,), made = tasks({}, periods=hours)
    assert task["service"]["replica_policy"] == {
        "min_replicas": 2, "max_replicas": 8, "target_qps_per_replica": 6.0,
    }  # fmt: skip
    assert any("no clock" in note for note in made.notes)


def test_configuration_files_come_along(tasks):
    (task,), made = tasks({"engine": "tensorrt-llm"})
    (target,) = task["file_mounts"]
    assert task["file_mounts"][target] in {f"./{item.name}" for item in made.files}
    assert f"cd {target.rpartition('/')[0]}" in task["run"].splitlines()


def test_spot(tasks):
    line = {"line": "h100-sxm/spot", "gpu": "h100-sxm", "term": "spot", "period": 0, "gpus": 16, "usd": 1.0}
    (task,), _ = tasks({}, supply=[line])
    assert task["resources"]["use_spot"] is True
    (task,), _ = tasks({}, supply=[line, line | {"line": "h100-sxm/owned", "term": "owned"}])
    assert "use_spot" not in task["resources"]


@pytest.mark.parametrize(
    ("pool", "said"),
    [
        ({"role": "prefill"}, "chat/prefill/1: SkyPilot's balancer sends a request to one replica;"),
        ({"offer": OFFER}, "the plan puts several on one p5.48xlarge of 8 GPUs."),
        ({"gpu": "h20"}, "chat/serve/1: SkyPilot lists no h20."),
        ({"slice": "3g.40gb", "tp": 1}, "SkyPilot knows no slices of a GPU (3g.40gb)."),
    ],
)
def test_what_it_cannot_say(tasks, pool, said):
    with pytest.raises(CannotExpressError) as no:
        tasks(pool)
    assert said in " ".join(no.value.reasons)


@given(
    name=st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="/:"), max_size=30)
)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_name_is_run(make_plan, tmp_path_factory, name):
    folder = tmp_path_factory.mktemp("run")
    strange = f"a'$(touch hurt)`touch hurt`;{name}"
    case = case_of(make_plan, folder, [{"workload": strange}], [workload(strange)], problem=strange)
    (item,) = skypilot(case).files
    task = checked(yaml.safe_load(item.content))
    done = subprocess.run(["bash", "-c", task["run"]], cwd=folder, check=False, capture_output=True)
    assert done.returncode
    assert not (folder / "hurt").exists()
