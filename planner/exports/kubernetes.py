"""Plain Kubernetes: a Deployment or a LeaderWorkerSet a pool, its Service, and an autoscaler over the hours.

Source: Kubernetes API reference (apps/v1, v1, autoscaling/v2); LeaderWorkerSet v1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from planner.commands.dns_names import dns_names
from planner.errors import CannotExpressError
from planner.exports.case import ExportCase
from planner.exports.engine_scripts import ROUTERS, hour_note, notes_of
from planner.exports.pods import (
    MODELS_CLAIM,
    TOKEN_SECRET,
    labels,
    longest_start_s,
    needs_models,
    pod_template,
)
from planner.loaders.write import documents_yaml
from planner.schema.exported import Exported, ExportFile
from planner.schema.launch import Deployment

_BEFORE_START_S = 600
"""For a node and the image, before a server starts: the deadline that Deployments have by default."""
LONGEST_SET_NAME = 45
"""Of a LeaderWorkerSet: numbers and a hash follow in the names and labels of its pods."""


def kubernetes(case: ExportCase) -> Exported:
    """One file a pool."""
    disaggregated = [item for item in case.deployments if item.pool.role != "serve"]
    if any(item.pool.engine == "tensorrt-llm" for item in disaggregated):
        raise CannotExpressError(
            ["Disaggregated TensorRT-LLM stands behind a server of its own: export to dynamo."]
        )
    files = [
        ExportFile(f"{item.name}.yaml", documents_yaml(_documents(case, item)).encode())
        for item in case.deployments
    ]
    return Exported(tuple(files), tuple(_steps(case)), tuple(dict.fromkeys(_notes(case))))


def _documents(case: ExportCase, item: Deployment) -> Iterator[dict[str, Any]]:
    if item.launch.config_name:
        yield config_map(case, item)
    yield _deployment(case, item) if item.launch.servers == 1 else leader_worker_set(case, item)
    yield service(case, item)
    if item.launch.servers == 1 and 0 < item.least_replicas < item.most_replicas:
        yield _autoscaler(case, item)


def config_map(case: ExportCase, item: Deployment) -> dict[str, Any]:
    """The configuration file of the engine."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(case, item),
        "data": {item.launch.config_name: documents_yaml([item.launch.config])},
    }


def _deployment(case: ExportCase, item: Deployment) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(case, item),
        "spec": {
            "replicas": item.replicas,
            "progressDeadlineSeconds": _BEFORE_START_S
            + math.ceil(longest_start_s(case.platform.probes, item)),
            # Every GPU is taken: a new pod starts when an old one has ended.
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "selector": {"matchLabels": _selector(item)},
            "template": pod_template(case, item, item.launch.argv),
        },
    }


def leader_worker_set(case: ExportCase, item: Deployment) -> dict[str, Any]:
    """Replicas of several servers: the first one answers."""
    name = dns_names([item.pool.id], LONGEST_SET_NAME)[item.pool.id]
    leader = pod_template(case, item, item.launch.argv)
    leader["metadata"]["labels"] |= _LEADER
    worker = pod_template(case, item, item.launch.other_argv, answers=False)
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": _metadata(case, item) | {"name": name},
        "spec": {
            "replicas": item.replicas,
            "leaderWorkerTemplate": {
                "size": item.launch.servers,
                "restartPolicy": "RecreateGroupOnPodRestart",
                "leaderTemplate": leader,
                "workerTemplate": worker,
            },
        },
    }


_LEADER = {"planner/leader": "yes"}
"""Tells the server that answers from the others of its replica."""


def service(case: ExportCase, item: Deployment) -> dict[str, Any]:
    """The address of a pool."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(case, item),
        "spec": {
            "selector": pool_selector(item),
            "ports": [{"name": "http", "port": item.port, "targetPort": item.port}],
        },
    }


def _autoscaler(case: ExportCase, item: Deployment) -> dict[str, Any]:
    """Between the fewest and the most replicas of the plan, at the load that it plans for each.

    Not for pools that have none in some hour: nothing would start the first one.
    """
    metric, value = scaling_metric(case, item)
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": _metadata(case, item),
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": item.name},
            "minReplicas": item.least_replicas,
            "maxReplicas": item.most_replicas,
            "metrics": [
                {
                    "type": "Pods",
                    "pods": {
                        "metric": {"name": metric},
                        "target": {"type": "AverageValue", "averageValue": str(value)},
                    },
                }
            ],
        },
    }


def scaling_metric(case: ExportCase, item: Deployment) -> tuple[str, int]:
    """What a replica is scaled by and its planned value: running requests, of prefill pools waiting ones."""
    reading = "batch_mean" if item.pool.concurrency is not None else "queue_depth"
    value = item.pool.concurrency if item.pool.concurrency is not None else item.max_queue
    exporter = next(one for one in case.metrics.exporters if one.id == item.pool.engine)
    series = exporter.readings[reading][0].of[0]
    return next(exporter.wire_names(series))[0], max(math.ceil(value or 1), 1)


def _metadata(case: ExportCase, item: Deployment) -> dict[str, Any]:
    return {"name": item.name, "labels": labels(case, item)}


def pool_selector(item: Deployment) -> dict[str, str]:
    """Labels of the pods of a pool that take requests."""
    return _selector(item) | (_LEADER if item.launch.servers > 1 else {})


def _selector(item: Deployment) -> dict[str, str]:
    return {"app.kubernetes.io/name": item.name}


def _steps(case: ExportCase) -> Iterator[str]:
    if any(not item.launch.weights.folder for item in case.deployments):
        yield (
            "Gated models need a token: "
            f"`kubectl create secret generic {TOKEN_SECRET} --from-literal=HF_TOKEN=…`."
        )
    if any(needs_models(item) for item in case.deployments):
        yield f"A volume claim `{MODELS_CLAIM}`, for many readers, with the checkpoints named below."
    if any(item.launch.servers > 1 for item in case.deployments):
        yield "The LeaderWorkerSet controller, once a cluster: https://lws.sigs.k8s.io/docs/installation/."
    for item in case.deployments:
        yield f"`kubectl apply -f {item.name}.yaml`"
    routes = "the router named below" if case.disaggregated else "the routes (`planner export --to gateway`)"
    yield f"`kubectl get pods` until all are ready; then {routes}."


def _notes(case: ExportCase) -> Iterator[str]:
    for item in case.deployments:
        yield from notes_of(item)
        if item.product is None:
            yield f"{item.name}: the catalog knows no label of nodes with {item.pool.gpu}: choose them."
    if case.disaggregated or any(item.launch.servers > 1 for item in case.deployments):
        yield (
            "Servers that share a replica or hand KV caches over need the fabric that the plan counts on: "
            "give their pods its devices (such as rdma/hca), which every cluster calls differently."
        )
    for workload in case.disaggregated:
        yield ROUTERS[case.of_workload(workload)[0].pool.engine]
    if case.hours > 1:
        yield hour_note(case)
        yield (
            "Autoscalers follow the load, within the replicas that the plan has in some hour, and need its "
            "metric in the custom metrics API; planner export --to keda follows the plan's clock, also for "
            "pools that have no replica in some hour, or several servers a replica."
        )
    sites = dict.fromkeys(item.pool.site for item in case.deployments if item.pool.site)
    if len(sites) > 1:
        places = ", ".join(sites)
        yield f"Pools stand in several places ({places}): apply each file to the cluster that is there."
