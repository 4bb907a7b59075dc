"""Values of the chart llm-d-modelservice: a release a pool, or one for a prefill and a decode pool together.

Source: llm-d-incubation/llm-d-modelservice, chart v0.4.12 (values and templates). Its schema lets unknown
keys pass, so only keys that its templates read are written. The command is the plan's own (``modelCommand:
custom``); in front of a decode server a sidecar listens and asks prefill servers first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.commands.dns_names import dns_names
from planner.commands.shell import words
from planner.errors import CannotExpressError
from planner.exports.case import ExportCase
from planner.exports.engine_scripts import hour_note, notes_of
from planner.exports.pods import MODELS_CLAIM, MODELS_FOLDER, pod_spec
from planner.exports.roles import one_of_each
from planner.loaders.write import documents_yaml
from planner.schema.exported import Exported, ExportFile
from planner.schema.launch import Deployment

CHART = "v0.4.12"
LONGEST_NAME = 45
"""Of a release: the chart and LeaderWorkerSets make longer names from it."""
_BEHIND_SIDECAR = 8200
_TYPES = {
    "nvidia.com/gpu": "nvidia",
    "amd.com/gpu": "amd",
    "gpu.intel.com/xe": "intel-xe",
    "google.com/tpu": "google",
}
"""What Kubernetes counts -> type of accelerator of the chart."""
_LWS = (
    'LEADER_ADDRESS="$LWS_LEADER_ADDRESS"',
    'SERVER_RANK="$LWS_WORKER_INDEX"',
)


def llm_d(case: ExportCase) -> Exported:
    """One file of values a release."""
    reasons = [text for item in case.deployments for text in _refusals(item)]
    reasons += [
        text for workload in case.disaggregated for text in one_of_each(case, workload, "a release of llm-d")
    ]
    if reasons:
        raise CannotExpressError(reasons)
    releases = [item for item in case.deployments if item.pool.role != "prefill"]
    files = [
        ExportFile(f"{_name(item)}.yaml", documents_yaml([_values(case, item)]).encode()) for item in releases
    ]
    return Exported(tuple(files), tuple(_steps(releases)), tuple(dict.fromkeys(_notes(case))))


def _refusals(item: Deployment) -> Iterator[str]:
    if item.pool.engine != "vllm":
        yield f"{item.pool.id}: the chart of llm-d runs vLLM, not {item.pool.engine}."
    if item.pool.slice is not None or item.resource not in _TYPES:
        yield f"{item.pool.id}: the chart of llm-d does not count {item.resource}."


def _name(item: Deployment) -> str:
    return dns_names([item.pool.id], LONGEST_NAME)[item.pool.id]


def _values(case: ExportCase, item: Deployment) -> dict[str, Any]:
    prefill = case.of_workload(item.pool.workload, "prefill") if item.pool.role == "decode" else ()
    pools = (item, *prefill)
    proxy: dict[str, Any] = {"enabled": bool(prefill)}
    if prefill:
        proxy |= {"targetPort": _BEHIND_SIDECAR, "connector": "nixlv2"}
    return {
        "fullnameOverride": _name(item),
        "modelArtifacts": {
            "name": item.served_name,
            "uri": _uri(item),
            "labels": {"llm-d.ai/inferenceServing": "true", "llm-d.ai/model": _name(item)},
        },
        "multinode": any(one.launch.servers > 1 for one in pools),
        "accelerator": {"type": _TYPES[item.resource]},
        "routing": {"servicePort": item.port, "proxy": proxy},
        "decode": _role(case, item, _BEHIND_SIDECAR if prefill else item.port),
        "prefill": _role(case, prefill[0], item.port) if prefill else {"create": False},
    }


def _uri(item: Deployment) -> str:
    """Of the checkpoint; the chart mounts nothing for it, the command says where it comes from."""
    name = item.launch.weights.name
    if item.launch.weights.folder:
        return f"pvc://{MODELS_CLAIM}/{name.removeprefix(MODELS_FOLDER + '/')}"
    return f"hf://{name}"


def _role(case: ExportCase, item: Deployment, port: int) -> dict[str, Any]:
    launch, pool = item.launch, item.pool
    argv = (*launch.argv, *(("--port", str(port)) if port != item.port else ()))
    pod = pod_spec(case, item, argv, port=port)
    (made,) = pod["containers"]
    container = {
        "name": made["name"],
        "image": made["image"],
        "modelCommand": "custom",
        "command": made["command"],
        "env": made["env"],
        "ports": made["ports"],
        "resources": made["resources"],
        "mountModelVolume": False,
        "volumeMounts": made["volumeMounts"],
        "extraConfig": {name: made[name] for name in ("startupProbe", "readinessProbe", "livenessProbe")},
    }
    if launch.servers > 1:
        container |= {"command": ["/bin/bash", "-c"], "args": [_script(item, port)]}
        # The pods of a replica are all alike: those that do not answer would fail the probes.
        del container["extraConfig"]
    local = max(launch.gpus_per_server // (pool.tp * pool.pp), 1)
    role: dict[str, Any] = {
        "create": True,
        "replicas": item.replicas,
        "parallelism": {
            "tensor": pool.tp,
            "data": pool.attention_dp,
            "dataLocal": min(local, pool.attention_dp),
            "workers": launch.servers,
        },
        "terminationGracePeriodSeconds": pod["terminationGracePeriodSeconds"],
        "tolerations": pod["tolerations"],
        "volumes": pod["volumes"],
        "containers": [container],
    }
    if item.product_label is not None and item.product is not None:
        role["acceleratorTypes"] = {"labelKey": item.product_label, "labelValues": [item.product]}
    return role


def _script(item: Deployment, port: int) -> str:
    """One script for all servers of a replica, as Kubernetes takes it: ``$$(`` is ``$(``."""
    own = ("--port", str(port)) if port != item.port else ()
    lines = [*_LWS, 'if [ "$SERVER_RANK" != 0 ]; then', f"  exec {words(item.launch.other_argv)}", "fi"]
    lines.append(f"exec {words((*item.launch.argv, *own))}")
    return "\n".join(lines).replace("$(", "$$(") + "\n"


def _steps(releases: list[Deployment]) -> Iterator[str]:
    yield "`helm repo add llm-d-modelservice https://llm-d-incubation.github.io/llm-d-modelservice/`"
    if any(item.launch.servers > 1 for item in releases):
        yield "The LeaderWorkerSet controller, once a cluster."
    for item in releases:
        name = _name(item)
        yield f"`helm install {name} llm-d-modelservice/llm-d-modelservice --version {CHART} -f {name}.yaml`"
    yield (
        "For each release an InferencePool with its endpoint picker (llm-d router), over the pods with the "
        "label `llm-d.ai/model` of the values."
    )


def _notes(case: ExportCase) -> Iterator[str]:
    for item in case.deployments:
        yield from notes_of(item)
    if case.schedule.periods > 1:
        yield hour_note(case)
    if len(case.workloads) < len([one for one in case.deployments if one.pool.role != "prefill"]):
        yield "Releases of one workload are shared out by routes: planner export --to gateway."
