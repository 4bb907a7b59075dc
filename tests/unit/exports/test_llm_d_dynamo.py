"""Values of llm-d's chart and DynamoGraphDeployments: known keys alone, the plan's layout and GPUs."""

import subprocess

import jsonschema
import pytest
import yaml
from export_samples import case_of, workload
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.errors import CannotExpressError
from planner.exports.registry import target

BIG = {"model": "deepseek-v3", "weights": "fp8", "kv": "bf16", "tp": 8, "pp": 2, "replicas": 3}
SPARSE = [workload(model="deepseek-v3")]
DISAGGREGATED = ({"role": "prefill", "replicas": 2}, {"role": "decode", "replicas": 3})


def of(keys, **inside):
    """A mapping with no other keys than these; values of some are mappings of that kind too."""
    return {
        "type": "object", "additionalProperties": False,
        "properties": {key: inside.get(key, {}) for key in keys.split()},
    }  # fmt: skip


def each(schema):
    return {"type": "array", "items": schema}


CONTAINER = of(
    "name image modelCommand command args env ports resources mountModelVolume volumeMounts extraConfig",
    extraConfig=of("startupProbe readinessProbe livenessProbe"),
)
ROLE = of(
    "create replicas parallelism terminationGracePeriodSeconds tolerations volumes containers "
    "acceleratorTypes",
    parallelism=of("tensor data dataLocal workers"), containers=each(CONTAINER),
    acceleratorTypes=of("labelKey labelValues"),
)  # fmt: skip
VALUES = of(
    "fullnameOverride modelArtifacts multinode accelerator routing decode prefill",
    modelArtifacts=of("name uri labels"), accelerator=of("type"), decode=ROLE, prefill=ROLE,
    routing=of("servicePort proxy", proxy=of("enabled targetPort connector")),
)  # fmt: skip
"""Retyped from the values and templates of llm-d-modelservice v0.4.12: what exports use of them."""
COMPONENT = of("name type replicas multinode podTemplate", multinode=of("nodeCount"),
               podTemplate=of("metadata spec"),
               type={"enum": ["frontend", "worker", "prefill", "decode"]})  # fmt: skip
GRAPH = of(
    "apiVersion kind metadata spec",
    apiVersion={"const": "nvidia.com/v1beta1"}, kind={"const": "DynamoGraphDeployment"},
    spec=of("backendFramework components", components=each(COMPONENT),
            backendFramework={"enum": ["sglang", "vllm", "trtllm"]}),
)  # fmt: skip
"""Retyped from the CRD of Dynamo 1.3.1."""


@pytest.fixture
def values(make_plan, tmp_path):
    def values(*pools, **keys):
        made = target("llm-d").build(case_of(make_plan, tmp_path, pools, **keys))
        found = [yaml.safe_load(item.content) for item in made.files]
        for one in found:
            jsonschema.validate(one, VALUES)
        return found

    return values


@pytest.fixture
def graphs(make_plan, tmp_path):
    def graphs(*pools, **keys):
        made = target("dynamo").build(case_of(make_plan, tmp_path, pools, **keys))
        found = [one for item in made.files for one in yaml.safe_load_all(item.content)]
        for one in found:
            if one["kind"] != "ConfigMap":
                jsonschema.validate(one, GRAPH)
        return found

    return graphs


def taken(role):
    """GPUs of one role of a release."""
    limits = role["containers"][0]["resources"]["limits"]
    return role["replicas"] * role["parallelism"]["workers"] * limits["nvidia.com/gpu"]


def test_a_pool_is_a_release(values):
    (found,) = values({})
    assert taken(found["decode"]) == 16
    assert found["prefill"] == {"create": False}
    assert found["routing"]["proxy"] == {"enabled": False}
    command = found["decode"]["containers"][0]["command"]
    assert command[:2] == ["vllm", "serve"]
    assert "--port" not in command


def test_prefill_and_decode_are_one_release(values):
    (found,) = values(*DISAGGREGATED)
    assert (taken(found["prefill"]), taken(found["decode"])) == (4, 6)
    # The sidecar listens where requests come in, the decode engine behind it.
    assert found["routing"] == {
        "servicePort": 8000, "proxy": {"enabled": True, "targetPort": 8200, "connector": "nixlv2"},
    }  # fmt: skip
    decode, prefill = (found[role]["containers"][0] for role in ("decode", "prefill"))
    assert decode["command"][-2:] == ["--port", "8200"]
    assert decode["ports"][0]["containerPort"] == 8200
    assert prefill["ports"][0]["containerPort"] == 8000


def test_replicas_of_several_servers_run_one_script(values):
    (found,) = values(BIG, workloads=SPARSE)
    assert found["multinode"] is True
    assert taken(found["decode"]) == 3 * 16
    container = found["decode"]["containers"][0]
    assert container["command"] == ["/bin/bash", "-c"]
    (script,) = container["args"]
    assert subprocess.run(["bash", "-n"], input=script.encode(), check=False).returncode == 0
    assert script.count("--headless") == 1


@pytest.mark.parametrize(
    ("pools", "said"),
    [
        (({"engine": "sglang"},), "chat/serve/1: the chart of llm-d runs vLLM, not sglang."),
        ((*DISAGGREGATED, {"role": "decode"}), "a release of llm-d has one prefill and one decode layout"),
        (({"slice": "3g.40gb", "tp": 1},), "does not count nvidia.com/mig-3g.40gb."),
    ],
)
def test_what_the_chart_cannot_say(values, pools, said):
    with pytest.raises(CannotExpressError) as no:
        values(*pools)
    assert said in " ".join(no.value.reasons)


@pytest.mark.parametrize(
    ("engine", "module", "model"),
    [("vllm", "dynamo.vllm", "--model"), ("sglang", "dynamo.sglang", "--model-path"),
     ("tensorrt-llm", "dynamo.trtllm", "--model-path")],
)  # fmt: skip
def test_a_graph_has_a_frontend_and_its_workers(graphs, engine, module, model):
    graph = graphs(*({"engine": engine} | pool for pool in DISAGGREGATED))[-1]
    frontend, *workers = graph["spec"]["components"]
    assert frontend["type"] == "frontend"
    assert [(one["type"], one["replicas"]) for one in workers] == [("prefill", 2), ("decode", 3)]
    for one in workers:
        (main,) = one["podTemplate"]["spec"]["containers"]
        assert main["name"] == "main"
        assert main["command"] == ["python3", "-m", module]
        assert main["args"][0] == model
        assert main["args"][main["args"].index("--disaggregation-mode") + 1] == one["type"]
        assert main["resources"]["limits"] == {"nvidia.com/gpu": 2}
        # The operator brings shared memory itself.
        assert "/dev/shm" not in [mount["mountPath"] for mount in main["volumeMounts"]]


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_the_operator_joins_the_servers_of_a_replica(graphs, engine):
    (graph,) = graphs(BIG | {"engine": engine}, workloads=SPARSE)
    worker = graph["spec"]["components"][1]
    assert worker["multinode"] == {"nodeCount": 2}
    (main,) = worker["podTemplate"]["spec"]["containers"]
    assert worker["replicas"] * 2 * main["resources"]["limits"]["nvidia.com/gpu"] == 3 * 16
    assert not {"--nnodes", "--node-rank", "--master-addr", "--dist-init-addr"} & set(main["args"])
    assert not [word for word in main["args"] if word.startswith("$(")]


def test_tensorrt_llm_reads_everything_from_its_file(graphs):
    config, graph = graphs({"engine": "tensorrt-llm", "memory_share": 0.9})
    (text,) = config["data"].values()
    found = yaml.safe_load(text)
    assert {"tensor_parallel_size": 2, "max_batch_size": 96, "max_num_tokens": 2048}.items() <= found.items()
    assert found["kv_cache_config"]["free_gpu_memory_fraction"] == 0.9
    (main,) = graph["spec"]["components"][1]["podTemplate"]["spec"]["containers"]
    assert main["args"][-2:] == ["--extra-engine-args", f"/etc/planner/{next(iter(config['data']))}"]


@pytest.mark.parametrize(
    ("pools", "said"),
    [
        (
            ({}, {"engine": "sglang"}),
            "chat: a DynamoGraphDeployment has one engine, the plan has sglang and vllm.",
        ),
        (
            ({}, *DISAGGREGATED),
            "chat: Dynamo serves prefill and decode aggregated or disaggregated, not some of each.",
        ),
        (({"gpu": "mi300x"},), "chat/serve/1: Dynamo has no image for AMD."),
    ],
)
def test_what_dynamo_cannot_say(graphs, pools, said):
    with pytest.raises(CannotExpressError) as no:
        graphs(*pools)
    assert said in no.value.reasons


@given(
    name=st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="/:"), max_size=30)
)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_names_stay_names(make_plan, tmp_path, name):
    strange = f"y'$(X){{{{ .Values }}}}{name}"
    case = case_of(make_plan, tmp_path, [{"workload": strange}], [workload(strange)], problem=strange)
    for one in ("llm-d", "dynamo"):
        for item in target(one).build(case).files:
            assert list(yaml.safe_load_all(item.content))
            # Charts are templates: nothing of the user's reaches a value that is one.
            assert b"{{" not in item.content
