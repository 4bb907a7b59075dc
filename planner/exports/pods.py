"""Pods that run one server of a replica, as Kubernetes states them.

Source: Kubernetes API reference, PodSpec v1: ``$(NAME)`` in a command is the value of a variable, ``$$(``
stands for itself; LeaderWorkerSet: variables of its pods.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from planner.exports.case import ExportCase
from planner.schema.engine_options import Probes
from planner.schema.launch import Argument, Deployment, Placeholder

CONFIG_FOLDER = "/etc/planner"
"""Where configuration files of engines are mounted."""
MODELS_CLAIM = "models"
"""The volume claim with checkpoints that no hub has."""
MODELS_FOLDER = "/models"
TOKEN_SECRET = "hf-token"
"""The secret whose key HF_TOKEN opens gated checkpoints; pods start without it too."""
_VARIABLES = {
    "OWN_ADDRESS": "OWN_ADDRESS",
    "LEADER_ADDRESS": "LWS_LEADER_ADDRESS",
    "SERVER_RANK": "LWS_WORKER_INDEX",
}
_GIB = 2**30
_LEAST_GRACE_S = 30
"""The default of Kubernetes."""


def labels(case: ExportCase, item: Deployment) -> dict[str, str]:
    """Labels of everything that belongs to a pool."""
    return {
        "app.kubernetes.io/name": item.name,
        "app.kubernetes.io/instance": case.workloads[item.pool.workload],
        "app.kubernetes.io/component": item.pool.role,
        "app.kubernetes.io/part-of": case.name,
    }


def pod_template(
    case: ExportCase, item: Deployment, argv: Iterable[Argument], *, answers: bool = True
) -> dict[str, Any]:
    """The template of one server's pod.

    Args:
        case: the plan.
        item: the pool.
        argv: what the server runs.
        answers: it takes requests; the other servers of a replica do not.
    """
    return {"metadata": {"labels": labels(case, item)}, "spec": pod_spec(case, item, argv, answers=answers)}


def pod_spec(
    case: ExportCase,
    item: Deployment,
    argv: Iterable[Argument],
    *,
    answers: bool = True,
    name: str = "engine",
    port: int | None = None,
) -> dict[str, Any]:
    """What such a pod runs, on which nodes; ``port``: where it listens, if not where all do."""
    spec: dict[str, Any] = {"terminationGracePeriodSeconds": _grace_s(item)}
    if item.product_label is not None and item.product is not None:
        spec["nodeSelector"] = {item.product_label: item.product}
    spec["tolerations"] = [{"key": item.resource, "operator": "Exists", "effect": "NoSchedule"}]
    spec["containers"] = [_container(case, item, argv, answers, name, port or item.port)]
    spec["volumes"] = list(_volumes(item))
    return spec


def _container(
    case: ExportCase, item: Deployment, argv: Iterable[Argument], answers: bool, name: str, port: int
) -> dict[str, Any]:
    container: dict[str, Any] = {
        "name": name,
        "image": item.image,
        "command": [_word(item, argument) for argument in argv],
        "env": list(_environment(item)),
        "resources": {
            "requests": dict(_requests(item)),
            "limits": {item.resource: item.launch.gpus_per_server},
        },
    }
    if answers:
        container["ports"] = [{"name": "http", "containerPort": port}]
        container |= _probes(case.platform.probes, item, port)
    container["volumeMounts"] = [
        {"name": volume["name"], "mountPath": path, **more}
        for volume, (path, more) in zip(_volumes(item), _mounts(item), strict=True)
    ]
    return container


def _word(item: Deployment, argument: Argument) -> str:
    if isinstance(argument, Placeholder):
        return f"$({_VARIABLES[argument.variable]}){argument.ending}"
    if item.launch.config_name and argument == item.launch.config_name:
        return f"{CONFIG_FOLDER}/{argument}"
    return argument.replace("$(", "$$(")


def _environment(item: Deployment) -> Iterator[dict[str, Any]]:
    values = item.launch.environment
    everything = [*item.launch.argv, *item.launch.other_argv, *values.values()]
    if any(isinstance(value, Placeholder) and value.variable == "OWN_ADDRESS" for value in everything):
        yield {"name": "OWN_ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    for name, value in values.items():
        yield {"name": name, "value": _word(item, value)}
    if not item.launch.weights.folder:
        secret = {"name": TOKEN_SECRET, "key": "HF_TOKEN", "optional": True}
        yield {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": secret}}


def _requests(item: Deployment) -> Iterator[tuple[str, Any]]:
    yield item.resource, item.launch.gpus_per_server
    if item.pool.host_memory_bytes is not None:
        share = (item.pool.host_memory_bytes + item.launch.host_cache_bytes) / item.launch.servers
        yield "memory", f"{max(math.ceil(share / _GIB), 1)}Gi"


def _probes(probes: Probes, item: Deployment, port: int) -> dict[str, Any]:
    asked = {"httpGet": {"path": item.health_path, "port": port}, "periodSeconds": probes.period_s}
    starts = math.ceil(longest_start_s(probes, item) / probes.period_s)
    return {
        "startupProbe": asked | {"failureThreshold": max(starts, 1)},
        "readinessProbe": asked | {"failureThreshold": probes.failures},
        "livenessProbe": asked | {"failureThreshold": probes.failures_until_restart},
    }


def longest_start_s(probes: Probes, item: Deployment) -> float:
    """After which a server that does not answer is started again."""
    return (item.start_s or probes.unknown_cold_start_s) * float(probes.startup_factor)


def _grace_s(item: Deployment) -> int:
    """So long a server that is told to end may finish its requests: the longest of a hundred."""
    longest = item.pool.e2e_s.get("p99")
    return _LEAST_GRACE_S if longest is None else max(math.ceil(longest), _LEAST_GRACE_S)


def needs_models(item: Deployment) -> bool:
    """Some checkpoint of the pool comes from no hub."""
    arguments = [*item.launch.argv, *item.launch.config.values()]
    return item.launch.weights.folder or any(f"{MODELS_FOLDER}/" in str(value) for value in arguments)


def _volumes(item: Deployment) -> Iterator[dict[str, Any]]:
    # The processes of a server talk through shared memory, of which containers have 64 MiB.
    yield {"name": "shared-memory", "emptyDir": {"medium": "Memory"}}
    if item.launch.config_name:
        yield {"name": "config", "configMap": {"name": item.name}}
    if needs_models(item):
        claim = {"claimName": MODELS_CLAIM, "readOnly": True}
        yield {"name": "models", "persistentVolumeClaim": claim}


def _mounts(item: Deployment) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "/dev/shm", {}
    if item.launch.config_name:
        yield CONFIG_FOLDER, {"readOnly": True}
    if needs_models(item):
        yield MODELS_FOLDER, {"readOnly": True}
