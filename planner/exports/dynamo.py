"""DynamoGraphDeployments, one a workload: a frontend and its workers.

Source: ai-dynamo/dynamo 1.3.1, CRD nvidia.com/v1beta1 and examples of its three backends. Workers are
started by modules of Dynamo that take the engines' own options; the operator starts the servers of a replica
together, so options that name them are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from planner.errors import CannotExpressError
from planner.exports.case import ExportCase
from planner.exports.engine_scripts import hour_note, notes_of
from planner.exports.kubernetes import config_map
from planner.exports.pods import CONFIG_FOLDER, MODELS_CLAIM, TOKEN_SECRET, labels, needs_models, pod_spec
from planner.loaders.write import documents_yaml
from planner.schema.exported import Exported, ExportFile
from planner.schema.launch import Argument, Deployment

VERSION = "1.3.1"
_RUNTIMES = {"vllm": "vllm", "sglang": "sglang", "tensorrt-llm": "tensorrtllm"}
"""Engine -> runtime image."""
_BACKENDS = {"vllm": "vllm", "sglang": "sglang", "tensorrt-llm": "trtllm"}
"""Engine -> module and framework."""
_STARTED = ("--nnodes", "--node-rank", "--master-addr", "--dist-init-addr", "--host", "--port")
"""Options whose values the operator gives."""
_TRT_KEYS = {
    "--tp_size": "tensor_parallel_size",
    "--pp_size": "pipeline_parallel_size",
    "--ep_size": "moe_expert_parallel_size",
    "--max_batch_size": "max_batch_size",
    "--max_num_tokens": "max_num_tokens",
    "--max_seq_len": "max_seq_len",
}
"""Options of trtllm-serve -> keys of its configuration file, which Dynamo takes as a whole."""
_SHARE = "--kv_cache_free_gpu_memory_fraction"
_MAIN = "main"
_SHARED_MEMORY = "shared-memory"
"""Volume that the operator brings itself."""


def dynamo(case: ExportCase) -> Exported:
    """One file a workload."""
    reasons = [text for workload in case.workloads for text in _refusals(case, workload)]
    if reasons:
        raise CannotExpressError(reasons)
    files = [
        ExportFile(f"{name}.yaml", documents_yaml(_documents(case, workload)).encode())
        for workload, name in case.workloads.items()
    ]
    return Exported(tuple(files), tuple(_steps(case)), tuple(dict.fromkeys(_notes(case))))


def _refusals(case: ExportCase, workload: str) -> Iterator[str]:
    pools = case.of_workload(workload)
    engines = sorted({item.pool.engine for item in pools})
    if len(engines) > 1:
        yield f"{workload}: a DynamoGraphDeployment has one engine, the plan has {' and '.join(engines)}."
    if len({item.pool.role != "serve" for item in pools}) > 1:
        yield f"{workload}: Dynamo serves prefill and decode aggregated or disaggregated, not some of each."
    for item in pools:
        if item.vendor != "NVIDIA":
            yield f"{item.pool.id}: Dynamo has no image for {item.vendor}."
    rows = [row for row in case.routes.workloads if row.workload == workload and row.role != "decode"]
    for row in rows:
        if len({tuple((to.pool, to.weight) for to in bucket.pools) for bucket in row.buckets}) > 1:
            yield f"{workload}: Dynamo's router knows no classes of prompts, and the plan divides them."


def _documents(case: ExportCase, workload: str) -> Iterator[dict[str, Any]]:
    pools = case.of_workload(workload)
    for item in pools:
        if item.launch.config_name:
            made = config_map(case, item)
            yield made | {"data": {item.launch.config_name: documents_yaml([_trt_config(item)])}}
    image = _image(pools[0])
    frontend = {
        "name": "Frontend",
        "type": "frontend",
        "replicas": 1,
        "podTemplate": {"spec": {"containers": [{"name": _MAIN, "image": image}]}},
    }
    yield {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": case.workloads[workload], "labels": {"app.kubernetes.io/part-of": case.name}},
        "spec": {
            "backendFramework": _BACKENDS[pools[0].pool.engine],
            "components": [frontend, *(_worker(case, item) for item in pools)],
        },
    }


def _image(item: Deployment) -> str:
    return f"nvcr.io/nvidia/ai-dynamo/{_RUNTIMES[item.pool.engine]}-runtime:{VERSION}"


def _worker(case: ExportCase, item: Deployment) -> dict[str, Any]:
    module = ("python3", "-m", f"dynamo.{_BACKENDS[item.pool.engine]}")
    spec = pod_spec(case, item, (*module, *_arguments(item)), answers=False, name=_MAIN)
    (container,) = spec["containers"]
    container |= {"image": _image(item), "command": list(module), "args": container["command"][len(module) :]}
    container["volumeMounts"] = [one for one in container["volumeMounts"] if one["name"] != _SHARED_MEMORY]
    spec["volumes"] = [one for one in spec["volumes"] if one["name"] != _SHARED_MEMORY]
    worker: dict[str, Any] = {
        "name": item.name,
        "type": "worker" if item.pool.role == "serve" else item.pool.role,
        "replicas": item.replicas,
    }
    if item.launch.servers > 1:
        worker["multinode"] = {"nodeCount": item.launch.servers}
    return worker | {"podTemplate": {"metadata": {"labels": labels(case, item)}, "spec": spec}}


def _arguments(item: Deployment) -> tuple[Argument, ...]:
    """The engine's options behind Dynamo's own."""
    launch = item.launch
    mode = () if item.pool.role == "serve" else ("--disaggregation-mode", item.pool.role)
    if item.pool.engine == "tensorrt-llm":
        config = f"{CONFIG_FOLDER}/{launch.config_name}"
        named = ("--model-path", launch.weights.name, "--served-model-name", item.served_name)
        return (*named, "--extra-engine-args", config, *mode)
    if item.pool.engine == "sglang":
        return _without(launch.argv[launch.argv.index("--model-path") :])
    return ("--model", launch.weights.name, *_without(launch.argv[3:]), *mode)


def _without(argv: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Options without those of the operator, each of which takes a value."""
    found: list[Argument] = []
    skip = False
    for item in argv:
        if skip:
            skip = False
        elif item in _STARTED:
            skip = True
        else:
            found.append(item)
    return tuple(found)


def _trt_config(item: Deployment) -> Mapping[str, Any]:
    """The configuration file with what stands on the command line of trtllm-serve."""
    argv = item.launch.argv
    given = dict(pairwise(argv))
    sizes = {key: int(str(given[name])) for name, key in _TRT_KEYS.items() if name in given}
    config = dict(item.launch.config)
    if _SHARE in given:
        share = {"free_gpu_memory_fraction": float(str(given[_SHARE]))}
        config["kv_cache_config"] = {**config.get("kv_cache_config", {}), **share}
    return {"backend": "pytorch", **sizes, **config}


def _steps(case: ExportCase) -> Iterator[str]:
    yield f"Dynamo {VERSION} with its operator in the cluster."
    if any(not item.launch.weights.folder for item in case.deployments):
        yield f"Gated models need a token: the secret `{TOKEN_SECRET}` with the key `HF_TOKEN`."
    if any(needs_models(item) for item in case.deployments):
        yield f"A volume claim `{MODELS_CLAIM}`, for many readers, with the checkpoints named below."
    for name in case.workloads.values():
        yield f"`kubectl apply -f {name}.yaml`; requests go to the Service `{name}-frontend`, port 8000."


def _notes(case: ExportCase) -> Iterator[str]:
    for item in case.deployments:
        # Dynamo names the model to clients itself, which trtllm-serve cannot.
        yield from (
            filter(None, [item.launch.weights.note]) if item.pool.engine == "tensorrt-llm" else notes_of(item)
        )
    yield (
        f"The images of Dynamo {VERSION} hold an engine of their own version: options are checked against "
        "that of the catalog."
    )
    if case.schedule.periods > 1:
        yield hour_note(case)
    if any(len(case.of_workload(name, "serve")) > 1 for name in case.workloads):
        yield "The frontend shares requests out by load, not by the shares of the plan."
