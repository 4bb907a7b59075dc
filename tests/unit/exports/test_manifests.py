"""What manifests say of pools: servers, GPUs, probes, names, addresses; whatever the names."""

import shlex
import subprocess

import pytest
import yaml
from export_samples import case_of, workload
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from manifest_schemas import gpus, problems

from planner.characters import STEERING
from planner.errors import CannotExpressError, InputError
from planner.exports.readme import readme
from planner.exports.registry import TARGETS, target

MOE = {"model": "deepseek-v3", "weights": "fp8", "kv": "bf16"}
SPARSE = [workload(model="deepseek-v3")]


@pytest.fixture
def made(make_plan, tmp_path):
    """The documents of a target, and the files that hold them."""

    def made(name, *pools, **keys):
        files = target(name).build(case_of(make_plan, tmp_path, pools, **keys)).files
        return [d for item in files if item.name.endswith(".yaml") for d in yaml.safe_load_all(item.content)]

    return made


def by_kind(documents):
    return {document["kind"]: document for document in documents}


def test_a_pool_is_a_deployment_with_its_service(made):
    found = by_kind(made("kubernetes", {}))
    assert set(found) == {"Deployment", "Service"}, "no hours, no autoscaler"
    spec = found["Deployment"]["spec"]
    assert spec["replicas"] == 8
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()
    assert found["Service"]["spec"]["selector"] == spec["selector"]["matchLabels"]
    pod = spec["template"]["spec"]
    assert pod["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    (engine,) = pod["containers"]
    assert engine["resources"]["limits"] == {"nvidia.com/gpu": 2}
    assert engine["resources"]["requests"]["memory"] == "67Gi", "71.2 GB while loading"
    assert {"name": "shared-memory", "mountPath": "/dev/shm"} in engine["volumeMounts"]
    # Three times the cold start of 94 s and 71.2 GB from the hub at 0.75 GB/s, asked every 10 s.
    assert engine["startupProbe"]["failureThreshold"] == 57
    assert spec["progressDeadlineSeconds"] == 600 + 567
    assert engine["readinessProbe"]["httpGet"] == {"path": "/health", "port": 8000}


@pytest.mark.parametrize(
    ("named", "pool", "failures"),
    [
        ({"storage": "local-nvme"}, {}, 29),
        ({}, {"cold_start_s": None}, 180),
        ({"model": "qwen2.5-32b"}, {"model": "qwen2.5-32b", "weights": "nvfp4"}, 50),
        ({"model": "qwen2.5-0.5b"}, {"model": "qwen2.5-0.5b", "weights": "fp8"}, 86),
    ],
    ids=["storage named", "start unknown", "from a claim", "made narrower while loading"],
)
def test_servers_may_take_as_long_as_the_way_of_their_weights(made, named, pool, failures):
    deployment = by_kind(made("kubernetes", pool, workloads=[workload(**named)]))["Deployment"]
    (engine,) = deployment["spec"]["template"]["spec"]["containers"]
    assert engine["startupProbe"]["failureThreshold"] == failures


def test_replicas_over_several_servers_are_sets_with_a_leader(made):
    found = by_kind(made("kubernetes", MOE | {"tp": 8, "pp": 2, "replicas": 3}, workloads=SPARSE))
    assert set(found) == {"LeaderWorkerSet", "Service"}
    group = found["LeaderWorkerSet"]["spec"]["leaderWorkerTemplate"]
    assert group["size"] == 2
    leader, worker = (group[name]["spec"]["containers"][0] for name in ("leaderTemplate", "workerTemplate"))
    assert "$(LWS_WORKER_INDEX)" in leader["command"]
    assert "--headless" in worker["command"]
    assert "--headless" not in leader["command"]
    assert "readinessProbe" not in worker
    labels = group["leaderTemplate"]["metadata"]["labels"]
    assert found["Service"]["spec"]["selector"].items() <= labels.items()
    assert not (
        found["Service"]["spec"]["selector"].items() <= group["workerTemplate"]["metadata"]["labels"].items()
    ), "only leaders answer"
    assert gpus(found.values()) == {"nvidia.com/gpu": 3 * 16}


def hours_of(**replicas):
    """Periods by pool: ``chat/serve/1`` as ``first``, ``chat/serve/2`` as ``second``."""
    ids = {"first": "chat/serve/1", "second": "chat/serve/2"}
    counts = list(zip(*replicas.values(), strict=True))
    return [
        {
            "period": t,
            "replicas": {ids[n]: c for n, c in zip(replicas, row, strict=True) if c},
            "gpus": {},
            "usd": 1.0,
        }
        for t, row in enumerate(counts)
    ]


def test_hours_make_an_autoscaler_between_the_fewest_and_the_most(made):
    found = by_kind(made("kubernetes", {}, periods=hours_of(first=(2, 3, 8))))
    assert found["Deployment"]["spec"]["replicas"] == 8, "the hour in which most GPUs run"
    spec = found["HorizontalPodAutoscaler"]["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 8)
    (metric,) = spec["metrics"]
    assert metric["pods"]["metric"]["name"] == "vllm_num_requests_running"
    assert metric["pods"]["target"]["averageValue"] == "42", "the planned 41.3 a replica"


def test_layouts_that_take_turns_are_not_there_together(made):
    """Both at their most would need GPUs that nobody buys."""
    periods = hours_of(first=(8, 0), second=(0, 3))
    documents = made("kubernetes", {}, {"tp": 4}, periods=periods)
    counts = [d["spec"]["replicas"] for d in documents if d["kind"] == "Deployment"]
    assert counts == [8, 0]
    assert gpus(documents) == {"nvidia.com/gpu": 16}
    kinds = {document["kind"] for document in documents}
    assert "HorizontalPodAutoscaler" not in kinds, "nothing would start the first replica"


def test_configuration_files_are_mounted(made):
    found = by_kind(made("kubernetes", {"engine": "tensorrt-llm", "weights": "bf16"}))
    (name,) = found["ConfigMap"]["data"]
    engine = found["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    assert f"/etc/planner/{name}" in engine["command"]
    assert yaml.safe_load(found["ConfigMap"]["data"][name])["kv_cache_config"]["dtype"] == "fp8"


def test_slices_are_counted_as_slices(made):
    slices = [{"gpu": "h100-sxm:1g.10gb", "slice": "1g.10gb", "tp": 1, "model": "llama-3.1-8b"}]
    found = made("kubernetes", *slices, workloads=[workload(model="llama-3.1-8b")])
    assert gpus(found) == {"nvidia.com/mig-1g.10gb": 8}


def test_kserve_puts_prefill_and_decode_into_one_service(made):
    pools = [{"role": "prefill", "replicas": 2}, {"role": "decode", "replicas": 3}]
    (service,) = made("kserve", *pools)
    spec = service["spec"]
    assert spec["model"] == {"uri": "hf://nvidia/Llama-3.3-70B-Instruct-FP8", "name": "llama-3.3-70b"}
    assert (spec["prefill"]["replicas"], spec["replicas"]) == (2, 3)
    decode, prefill = (part["template"]["containers"][0] for part in (spec, spec["prefill"]))
    assert decode["command"][2] == prefill["command"][2] == "/mnt/models"
    assert decode["command"][-2:] == ["--port", "8001"], "behind the sidecar"
    assert decode["readinessProbe"]["httpGet"]["port"] == 8001
    assert set(spec["router"]) == {"gateway", "route", "scheduler"}
    with pytest.raises(CannotExpressError, match="has 1 prefill, 2 decode; max_layouts_per_workload: 1"):
        made("kserve", *pools, {"role": "decode", "tp": 4})
    with pytest.raises(CannotExpressError, match="runs vLLM, not sglang"):
        made("kserve", {"engine": "sglang"})


@pytest.mark.parametrize(
    ("layout", "parallelism"),
    [
        ({"tp": 8, "pp": 2}, {"tensor": 8, "pipeline": 2}),
        ({"tp": 1, "attention_dp": 16, "ep": 16}, {"tensor": 1, "data": 16, "dataLocal": 8, "expert": True}),
    ],
)
def test_kserve_over_servers(made, layout, parallelism):
    (service,) = made("kserve", MOE | layout, workloads=SPARSE)
    assert service["spec"]["parallelism"] == parallelism
    assert "worker" in service["spec"]


def test_kserve_has_no_rank_larger_than_a_server(made):
    with pytest.raises(CannotExpressError, match="as many servers as stages"):
        made("kserve", MOE | {"tp": 16}, workloads=SPARSE)


def test_several_services_of_a_workload_share_its_requests(made):
    documents = made("kserve", {}, {"tp": 4})
    (route,) = [d for d in documents if d["kind"] == "HTTPRoute"]
    (rule,) = route["spec"]["rules"]
    assert rule["backendRefs"][0]["name"] == "chat-serve-1-inference-pool"
    services = [d["spec"]["router"] for d in documents if d["kind"] == "LLMInferenceService"]
    assert services == [{"scheduler": {}}] * 2


def test_a_gateway_leads_to_pools(made):
    documents = made("gateway", {})
    pool, route = (by_kind(documents)[kind] for kind in ("InferencePool", "HTTPRoute"))
    assert pool["spec"]["targetPorts"] == [{"number": 8000}]
    (backend,) = route["spec"]["rules"][0]["backendRefs"]
    assert (backend["kind"], backend["name"]) == ("InferencePool", pool["metadata"]["name"])
    with pytest.raises(CannotExpressError, match="knows no prefill and decode"):
        made("gateway", {"role": "prefill"}, {"role": "decode"})


def test_compose_fills_servers_with_whole_replicas(made, make_plan, tmp_path):
    case = case_of(make_plan, tmp_path, [{"replicas": 5}, {"tp": 4, "replicas": 1}])
    exported = target("compose").build(case)
    # 5 x 2 + 4 GPUs in servers of 8: 4 + 2 + 2, and 2 + 2 + 2 in another.
    assert [step.split(" with")[0] for step in exported.steps] == ["On 1 server"] * 2
    for item in exported.files:
        services = yaml.safe_load(item.content)["services"].values()
        ids = [
            gpu
            for service in services
            for device in service["deploy"]["resources"]["reservations"]["devices"]
            for gpu in device["device_ids"]
        ]
        assert ids == [str(number) for number in range(len(ids))]
        ports = [service["ports"][0] for service in services]
        assert len(set(ports)) == len(ports)
        kept = {service["volumes"][0] for service in services}
        assert kept == {"weights:/root/.cache/huggingface"}, "fetched once for all replicas of a server"
        assert yaml.safe_load(item.content)["volumes"] == {"weights": {}}
    own, *_ = made(
        "compose", {"weights": "nvfp4", "model": "qwen2.5-32b"}, workloads=[workload(model="qwen2.5-32b")]
    )
    assert all(service["volumes"] == ["/models:/models:ro"] for service in own["services"].values())
    assert "volumes" not in own
    with pytest.raises(CannotExpressError, match="hand KV caches over"):
        made("compose", {"role": "prefill"}, {"role": "decode"})


ODD = ["y", "on", "1e3", "0x1F", "a'b", 'a"b', "$(reboot)", "`reboot`", "${HOME}", "a;b", "a\nb", "é\u202ex"]
names = st.one_of(st.sampled_from(ODD), st.text(min_size=1, max_size=70))
valid = names.filter(lambda name: name.isprintable() or name in ODD)
usable = valid.filter(lambda n: not set(n) & set("/:") and not n[0].isspace())


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=usable, served=usable)
def test_names_that_people_choose_break_nothing(make_plan, tmp_path, name, served):
    folder = tmp_path / "models" / served.replace("\n", "-")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(CONFIG)
    asked = workload(name, model=str(folder))
    case = case_of(
        make_plan,
        tmp_path,
        [{"workload": name, "model": "own", "weights": "bf16"}],
        workloads=[asked],
        problem=name,
        guardrails=None,
    )
    for one in TARGETS:
        try:
            exported = one.build(case)
        except (CannotExpressError, InputError):
            continue
        for item in (*exported.files, readme(case, one, exported)):
            text = item.content.decode()
            assert not STEERING.search(text.replace("\n", ""))
            if item.name.endswith(".yaml"):
                documents = list(yaml.safe_load_all(text))
                assert [problems(document) or [] for document in documents if "kind" in document] == [
                    [] for document in documents if "kind" in document
                ]
                _check_commands(documents, case)
            elif item.name.endswith(".sh"):
                run = subprocess.run(["bash", "-n"], input=item.content, check=False, capture_output=True)
                assert run.returncode == 0, run.stderr
                last = shlex.split(text.rpartition("exec ")[2])
                assert last == list(case.deployments[0].launch.argv)


def _check_commands(documents, case):
    """Arguments come out as they are, after Kubernetes or Compose has put values in."""
    wanted = case.deployments[0].served_name
    for document in documents:
        if document.get("kind") == "Deployment":
            command = document["spec"]["template"]["spec"]["containers"][0]["command"]
            assert command[command.index("--served-model-name") + 1] == wanted.replace("$(", "$$(")
        for service in document.get("services", {}).values():
            command = service["entrypoint"]
            assert command[command.index("--served-model-name") + 1] == wanted.replace("$", "$$")


CONFIG = """{
  "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 2048, "num_hidden_layers": 16,
  "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 128256,
  "max_position_embeddings": 131072, "torch_dtype": "bfloat16", "tie_word_embeddings": true
}"""
