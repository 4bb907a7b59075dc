"""KServe: an LLMInferenceService a pool, or one for a prefill and a decode pool together.

Source: KServe, LLMInferenceService (serving.kserve.io/v1alpha2): the container ``main`` runs the engine; with
``worker`` a replica has several servers, as many as pipeline stages, or as data / dataLocal; where prompts
and answers are disaggregated a sidecar listens in front of the decode engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.commands.dns_names import dns_names
from planner.errors import CannotExpressError
from planner.exports.case import ExportCase
from planner.exports.engine_scripts import hour_note, notes_of
from planner.exports.http_routes import http_routes
from planner.exports.pods import MODELS_CLAIM, MODELS_FOLDER, TOKEN_SECRET, labels, needs_models, pod_spec
from planner.exports.roles import one_of_each
from planner.loaders.write import documents_yaml
from planner.schema.exported import Exported, ExportFile
from planner.schema.fleet_out import Routes
from planner.schema.launch import Argument, Deployment

LONGEST_NAME = 40
"""Of a service: KServe makes longer names from it."""
_MAIN = "main"
_DOWNLOADED = "/mnt/models"
"""Where the checkpoint of ``model.uri`` lies."""
_BEHIND_SIDECAR = 8001
_GATEWAY = "kserve-ingress-gateway"
_NAMESPACE = "kserve"
"""The gateway of an installation by default, and where it is."""


def kserve(case: ExportCase) -> Exported:
    """One file of services a workload, and routes where a workload has several."""
    reasons = [text for workload in case.workloads for text in _refusals(case, workload)]
    if reasons:
        raise CannotExpressError(reasons)
    files = [
        ExportFile(f"{name}.yaml", documents_yaml(_services(case, workload)).encode())
        for workload, name in case.workloads.items()
    ]
    shared = [workload for workload in case.workloads if _several(case, workload)]
    if shared:
        files.append(ExportFile("routes.yaml", documents_yaml(_routes(case, shared)).encode()))
    return Exported(tuple(files), tuple(_steps(case, files)), tuple(dict.fromkeys(_notes(case))))


def _several(case: ExportCase, workload: str) -> bool:
    """Requests of a workload are shared out among services."""
    return len(case.of_workload(workload, "serve")) > 1


def _refusals(case: ExportCase, workload: str) -> Iterator[str]:
    pools = case.of_workload(workload)
    for item in pools:
        if item.pool.engine != "vllm":
            yield f"{item.pool.id}: an LLMInferenceService runs vLLM, not {item.pool.engine}."
        elif item.launch.servers not in (1, item.pool.pp if item.pool.attention_dp == 1 else _ranks(item)):
            yield (
                f"{item.pool.id}: an LLMInferenceService has as many servers as stages or groups of "
                f"attention ranks, not {item.launch.servers}."
            )
    if workload in case.disaggregated:
        yield from one_of_each(case, workload, "an LLMInferenceService")


def _ranks(item: Deployment) -> int:
    """Servers over which attention ranks are spread; 0 where a rank is larger than a server."""
    return item.pool.attention_dp // max(_local_ranks(item), 1) if _local_ranks(item) else 0


def _local_ranks(item: Deployment) -> int:
    return item.launch.gpus_per_server // (item.pool.tp * item.pool.pp)


def _services(case: ExportCase, workload: str) -> Iterator[dict[str, Any]]:
    prefill = case.of_workload(workload, "prefill")
    for item in case.of_workload(workload):
        if item.pool.role != "prefill":
            yield _service(case, item, prefill[0] if prefill else None)


def _service(case: ExportCase, item: Deployment, prefill: Deployment | None) -> dict[str, Any]:
    router: dict[str, Any] = {"scheduler": {}}
    if not _several(case, item.pool.workload):
        router = {"gateway": {}, "route": {}} | router
    spec: dict[str, Any] = {"model": {"uri": _uri(item), "name": item.served_name}, **_role(case, item)}
    if prefill is not None:
        spec["prefill"] = _role(case, prefill)
    return {
        "apiVersion": "serving.kserve.io/v1alpha2",
        "kind": "LLMInferenceService",
        "metadata": {"name": _name(item), "labels": labels(case, item)},
        "spec": spec | {"router": router},
    }


def _name(item: Deployment) -> str:
    return dns_names([item.pool.id], LONGEST_NAME)[item.pool.id]


def _role(case: ExportCase, item: Deployment) -> dict[str, Any]:
    port = _BEHIND_SIDECAR if item.pool.role == "decode" else item.port
    role: dict[str, Any] = {"replicas": item.replicas, "parallelism": _parallelism(item)}
    role["template"] = pod_spec(case, item, _argv(item.launch.argv, item, port), name=_MAIN, port=port)
    if item.launch.servers > 1:
        argv = _argv(item.launch.other_argv, item, port)
        role["worker"] = pod_spec(case, item, argv, answers=False, name=_MAIN)
    return role


def _argv(argv: tuple[Argument, ...], item: Deployment, port: int) -> tuple[Argument, ...]:
    """The command line over what KServe has downloaded."""
    local = tuple(_DOWNLOADED if argument == item.launch.weights.name else argument for argument in argv)
    return local if port == item.port else (*local, "--port", str(port))


def _parallelism(item: Deployment) -> dict[str, Any]:
    pool = item.pool
    found: dict[str, Any] = {"tensor": pool.tp}
    if pool.pp > 1:
        found["pipeline"] = pool.pp
    if pool.attention_dp > 1:
        found |= {"data": pool.attention_dp, "dataLocal": _local_ranks(item) or pool.attention_dp}
    if pool.ep > 1:
        found["expert"] = True
    return found


def _uri(item: Deployment) -> str:
    name = item.launch.weights.name
    if item.launch.weights.folder:
        return f"pvc://{MODELS_CLAIM}/{name.removeprefix(MODELS_FOLDER + '/')}"
    return f"hf://{name}"


def _routes(case: ExportCase, workloads: list[str]) -> Iterator[dict[str, Any]]:
    """Shares of the services of a workload, led to the pools that KServe makes for them."""
    rows = tuple(row for row in case.routes.workloads if row.workload in workloads)
    routes = Routes(**(case.routes.model_dump() | {"workloads": rows}))
    own = {item.name: _name(item) for item in case.deployments}
    for route in http_routes(routes, case.where, _GATEWAY, case.deployments[0].port):
        for rule in route["spec"]["rules"]:
            rule["backendRefs"] = [_backend(to, own) for to in rule["backendRefs"]]
        route["spec"]["parentRefs"][0]["namespace"] = _NAMESPACE
        yield route


def _backend(to: dict[str, Any], own: dict[str, str]) -> dict[str, Any]:
    """The pool of one of the plan's services; an outside supplier stays as it is."""
    if to["name"] not in own:
        return to
    return {
        "group": "inference.networking.k8s.io",
        "kind": "InferencePool",
        "name": f"{own[to['name']]}-inference-pool",
        "weight": to["weight"],
    }


def _steps(case: ExportCase, files: list[ExportFile]) -> Iterator[str]:
    yield "KServe with LLMInferenceService (v0.16 or later) in the cluster."
    if any(not item.launch.weights.folder for item in case.deployments):
        yield f"Gated models need a token: the secret `{TOKEN_SECRET}` with the key `HF_TOKEN`."
    if any(needs_models(item) for item in case.deployments):
        yield f"A volume claim `{MODELS_CLAIM}`, for many readers, with the checkpoints named below."
    for item in files:
        yield f"`kubectl apply -f {item.name}`"
    yield "`kubectl get llminferenceservices` until all are ready."


def _notes(case: ExportCase) -> Iterator[str]:
    for item in case.deployments:
        yield from notes_of(item)
    if case.hours > 1:
        yield hour_note(case)
