"""What runs today, out of manifests, compose files and command lines, on the command line."""

import json
from pathlib import Path

import pytest

from planner.interfaces import cli

LAYOUT = ("model", "engine", "tp", "pp", "ep", "attention_dp", "gpus_per_replica", "replicas", "weights")


def read(told, tmp_path, text, *more, name="what.txt", code=0):
    path = tmp_path / name
    path.write_text(text)
    return told("today", "--from", str(path), *more, code=code)


def layout(pool):
    return tuple(pool[key] for key in LAYOUT)


LINES = [
    (
        "vllm serve Qwen/Qwen3-32B -tp 4 --kv-cache-dtype=fp8",
        ("qwen3-32b", "vllm", 4, 1, 1, 1, 4, 1, "bf16"),
    ),
    # Data parallelism multiplies the tensor-parallel degree; experts are spread over both.
    (
        "vllm serve deepseek-ai/DeepSeek-V3 --tensor-parallel-size 2 -dp 4 --enable-expert-parallel",
        ("deepseek-v3", "vllm", 2, 1, 8, 4, 8, 1, "fp8"),
    ),
    (
        "vllm serve deepseek-ai/DeepSeek-V3 --tensor_parallel_size=8 --no-enable-expert-parallel",
        ("deepseek-v3", "vllm", 8, 1, 1, 1, 8, 1, "fp8"),
    ),
    (
        "python3 -m vllm.entrypoints.openai.api_server --model meta-llama/Llama-3.1-8B-Instruct -q fp8 -pp 2",
        ("llama-3.1-8b", "vllm", 1, 2, 1, 1, 2, 1, "fp8"),
    ),
    # Attention groups lie inside the tensor-parallel degree; plain data parallelism is replicas.
    (
        "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 8 --attn-dp-size 4 --ep 8",
        ("deepseek-v3", "sglang", 2, 1, 8, 4, 8, 1, "fp8"),
    ),
    (
        "python -m sglang.launch_server --model deepseek-ai/DeepSeek-V3 --tp 8 --dp 8 --enable-dp-attention",
        ("deepseek-v3", "sglang", 1, 1, 1, 8, 8, 1, "fp8"),
    ),
    (
        "python -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp-size 2 --dp-size 3",
        ("qwen3-32b", "sglang", 2, 1, 1, 1, 2, 3, "bf16"),
    ),
    (
        "trtllm-serve meta-llama/Llama-3.1-8B-Instruct --tp_size 2 --pp_size 2 --ep_size 1",
        ("llama-3.1-8b", "tensorrt-llm", 2, 2, 1, 1, 4, 1, "bf16"),
    ),
    (
        "#!/bin/bash\nset -e\nexport TP=4 MODEL=Qwen/Qwen3-32B\n# a comment\nexec vllm serve \\\n"
        "  \"$MODEL\" \\\n  --tensor-parallel-size ${TP:-8} \\\n  --max-model-len 8192 >log 2>&1 &\n",
        ("qwen3-32b", "vllm", 4, 1, 1, 1, 4, 1, "bf16"),
    ),
    (
        "$ docker run --gpus all -p 8000:8000 vllm/vllm-openai:v0.9 --model Qwen/Qwen3-32B -tp 2",
        ("qwen3-32b", "vllm", 2, 1, 1, 1, 2, 1, "bf16"),
    ),
    (
        """CUDA_VISIBLE_DEVICES=0,1 bash -lc 'cd / && vllm serve Qwen/Qwen3-32B -tp 2 --hf-overrides "{}"'""",
        ("qwen3-32b", "vllm", 2, 1, 1, 1, 2, 1, "bf16"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_command_lines(told, tmp_path, line, expected):
    found = read(told, tmp_path, line, "--gpu", "h100-sxm")
    (pool,) = found["pools"]
    assert layout(pool) == expected
    assert pool["gpu"] == "h100-sxm"
    assert found["unread"] == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("vllm serve Qwen/Qwen3-32B --quantum 4", 'has no option "--quantum"'),
        ("vllm serve Qwen/Qwen3-32B -tp $TP", '--tensor-parallel-size is "$TP", no number'),
        ("vllm serve Qwen/Qwen3-32B --tensor-parallel-size", "--tensor-parallel-size has no value"),
        ("vllm serve Qwen/Qwen9-32B", 'the catalog knows no model "Qwen/Qwen9-32B"'),
        ("vllm serve --port 80", "its model, which the command line does not name"),
        ("vllm serve Qwen/Qwen3-32B -q compressed-tensors", 'behind the quantization "compressed-tensors"'),
        ("vllm serve Qwen/Qwen3-32B --config server.yaml", 'the options in "server.yaml"'),
        ("trtllm-serve Qwen/Qwen3-32B --config no.yaml", "may turn attention data parallelism on"),
        ("vllm serve Qwen/Qwen3-32B oops", 'the word "oops" belongs to no option'),
        (
            "python -m sglang.launch_server --model Qwen/Qwen3-32B --tp 3 --attn-dp-size 2",
            "2 attention groups in a tensor-parallel degree of 3",
        ),
    ],
)
def test_what_cannot_be_read_is_named_and_never_guessed(told, tmp_path, line, words):
    found = read(told, tmp_path, line, "--gpu", "h100-sxm")
    assert any(words in note for note in found["unread"]), found["unread"]
    assert len(found["pools"]) == 1


def test_unknown_degrees_and_gpus_are_null(told, tmp_path):
    found = read(told, tmp_path, "vllm serve Qwen/Qwen3-32B -tp $TP")
    (pool,) = found["pools"]
    assert (pool["tp"], pool["gpus_per_replica"], pool["gpu"]) == (None, None, None)
    assert found["left_out"] == ["qwen3-32b"]


DEPLOYMENT = """\
apiVersion: v1
kind: Service
metadata: {name: chat}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  replicas: 3
  template:
    spec:
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}
      containers:
        - {name: proxy, image: envoy}
        - name: engine
          image: vllm/vllm-openai:v0.32.0
          env: [{name: TP, value: "2"}]
          command: ["sh", "-c", "vllm serve Qwen/Qwen3-32B --tensor-parallel-size $TP"]
          resources: {limits: {nvidia.com/gpu: 2}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: args}
spec:
  template:
    spec:
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
              - matchExpressions:
                  - {key: cloud.google.com/gke-accelerator, operator: In, values: [nvidia-l4]}
      containers:
        - name: engine
          image: vllm/vllm-openai:v0.32.0
          args: [--model=meta-llama/Llama-3.1-8B-Instruct, --port, $(PORT)]
          resources: {limits: {nvidia.com/gpu: "1"}}
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: large}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}
        containers:
          - name: engine
            command: [vllm, serve, deepseek-ai/DeepSeek-V3, -tp, "8", -pp, "2"]
            resources: {limits: {nvidia.com/gpu: 8}}
---
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceService
metadata: {name: disaggregated}
spec:
  model: {uri: "hf://meta-llama/Llama-3.1-8B-Instruct"}
  replicas: 4
  parallelism: {tensor: 2}
  template: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 2}}}]}
  prefill:
    replicas: 2
    parallelism: {tensor: 1}
    template: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: trainer}
spec:
  template: {spec: {containers: [{name: main, image: trainer, resources: {limits: {nvidia.com/gpu: 8}}}]}}
"""


def test_manifests_of_every_kind(told, tmp_path):
    found = read(told, tmp_path, DEPLOYMENT, "--gpu", "a100-80gb-sxm", name="all.yaml")
    pools = {pool["name"]: pool for pool in found["pools"]}
    assert layout(pools["chat"]) == ("qwen3-32b", "vllm", 2, 1, 1, 1, 2, 3, "bf16")
    assert layout(pools["args"]) == ("llama-3.1-8b", "vllm", 1, 1, 1, 1, 1, 1, "bf16")
    assert layout(pools["large"]) == ("deepseek-v3", "vllm", 8, 2, 1, 1, 16, 2, "fp8")
    assert layout(pools["disaggregated"]) == ("llama-3.1-8b", "vllm", 2, 1, 1, 1, 2, 4, "bf16")
    roles = {name: pools[name]["role"] for name in ("disaggregated", "disaggregated-prefill")}
    assert list(roles.values()) == ["decode", "prefill"]
    gpus = {name: pool["gpu"] for name, pool in pools.items()}
    assert gpus["chat"] == gpus["large"] == "h100-80gb-sxm"
    assert (gpus["args"], gpus["disaggregated"]) == ("l4", "a100-80gb-sxm")
    assert any("Deployment trainer: 8 GPUs for the image" in note for note in found["unread"])
    assert pools["chat"]["source"].endswith("all.yaml: Deployment chat")


def test_lists_of_kubectl_count_owned_objects_once(told, tmp_path):
    template = {"spec": {"containers": [{"command": ["vllm", "serve", "Qwen/Qwen3-32B"]}]}}
    deployment = {
        "kind": "Deployment",
        "metadata": {"name": "a"},
        "spec": {"replicas": 5, "template": template},
    }
    copy = deployment | {"kind": "ReplicaSet", "metadata": {"name": "a-1", "ownerReferences": [{}]}}
    scaler = {
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "s"},
        "spec": {"scaleTargetRef": {"name": "a"}},
    }
    listed = {"apiVersion": "v1", "kind": "List", "items": [deployment, copy, scaler]}
    found = read(told, tmp_path, json.dumps(listed), "--gpu", "h100", name="all.json")
    assert [(pool["name"], pool["replicas"]) for pool in found["pools"]] == [("a", 5)]
    assert any("changes the replicas of" in note for note in found["unread"])


COMPOSE = """\
services:
  chat:
    image: vllm/vllm-openai:latest
    command: >
      --model ${MODEL:-Qwen/Qwen3-32B}
      --tensor-parallel-size 2
    deploy:
      replicas: 2
      resources: {reservations: {devices: [{driver: nvidia, count: 2, capabilities: [gpu]}]}}
  small:
    image: lmsysorg/sglang:latest
    entrypoint: [python3, -m, sglang.launch_server]
    command: [--model-path, meta-llama/Llama-3.1-8B-Instruct]
  database: {image: postgres}
"""


def test_compose_files(told, tmp_path):
    found = read(told, tmp_path, COMPOSE, "--gpu", "l40s", name="compose.yaml")
    assert [(*layout(pool)[:3], pool["replicas"]) for pool in found["pools"]] == [
        ("qwen3-32b", "vllm", 2, 2),
        ("llama-3.1-8b", "sglang", 1, 1),
    ]
    assert found["unread"] == []


PROBLEM = """\
name: moved
workloads:
  - {name: chat, model: llama-3.1-8b, demand: {peak_rps: 20}, slo: {ttft_p99: 2 s},
     lengths: {input: {fixed: 1000}, output: {fixed: 200}}}
fleet: {accelerators: [h100-sxm], prices: {h100-sxm: 2.50 USD/h}}
search: {modes: [aggregated], mix: false, tp: [1]}
start: today.json
"""


def test_a_problem_starts_from_what_was_read(told, tmp_path):
    manifest = DEPLOYMENT.split("---\n")[1].replace("Qwen/Qwen3-32B", "meta-llama/Llama-3.1-8B-Instruct")
    read(told, tmp_path, manifest, "--out", str(tmp_path / "today.json"), name="d.yaml")
    (pool,) = json.loads((tmp_path / "today.json").read_text())["pools"]
    assert (pool["gpu"], pool["replicas"], pool["gpus_per_replica"]) == ("h100-80gb-sxm", 3, 2)
    (tmp_path / "problem.yaml").write_text(PROBLEM)
    plan = told("plan", str(tmp_path / "problem.yaml"))
    assert sum(step["from"] - step["to"] for step in plan["changes"]) == 6 - plan["gpus"]["h100-sxm"]


def test_in_words(tmp_path, capsys):
    path = tmp_path / "serve.sh"
    path.write_text("vllm serve Qwen/Qwen3-32B -tp 2 --nope 1\n")
    assert cli.run(["today", "--from", str(path)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("1 pool on 2 GPUs")
    assert "Not read" in text
    assert "Left out of --out" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--from: found nothing"),
        (["--from", "none.yaml"], "none.yaml: found no such file"),
        (["--from", "empty"], "empty: found an empty file"),
        (["--from", "text"], "text: found nothing that starts an engine"),
        (["--from", "broken.yaml"], "broken.yaml:"),
        (["--from", "broken.json"], "broken.json"),
        (
            ["--from", "good", "--gpu", "h1000"],
            '--gpu: found "h1000", expected an accelerator of the catalog',
        ),
        (["--from", "good", "--out", "no/x.json"], "in a folder that does not exist"),
        (["--from", "binary"], "binary"),
    ],
)
def test_bad_usage(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("empty", ""), ("text", "hello: world\n"), ("good", "vllm serve a/b"), ("broken.json", '{"kind": '),
        ("broken.yaml", "kind: Deployment\nspec: [\n"),
    ):  # fmt: skip
        Path(name).write_text(text)
    Path("binary").write_bytes(b"\xff\xfe\x00\x01")
    assert cli.run(["today", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err
    assert "Traceback" not in printed.err


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve 'a\u001b[31m/b$(reboot)' --served-model-name \"x\u202e\"",
        "vllm serve '" + "x" * 10_000 + "'",
        'vllm serve "unclosed',
        "vllm serve --model --model --model",
        "kind: Deployment\nspec: {template: {spec: {containers: [{command: [vllm, serve, {a: b}]}]}}}",
        "kind: List\nitems: &a [*a]\n",
        "kind: Deployment\nmetadata: {name: [1]}\nspec: {replicas: many, template: [1]}",
        "kind: Deployment\nspec: {template: {spec: {containers: [{image: vllm/vllm-openai, args: 5}]}}}",
        "services: {a: {command: 'vllm serve x', environment: 3, deploy: 4}}",
        "[" * 5000,
        "vllm serve a ; vllm serve b | vllm serve c && (vllm serve d)",
    ],
)
def test_hostile_files_never_end_in_a_traceback(tmp_path, capsys, text):
    path = tmp_path / "odd"
    path.write_text(text)
    assert cli.run(["today", "--from", str(path), "--gpu", "h100"]) in (0, 2)
    printed = capsys.readouterr()
    assert "\u001b" not in printed.out + printed.err
    assert "Traceback" not in printed.err
    assert "bug in the planner" not in printed.err
