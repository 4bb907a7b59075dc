"""The routing of a plan for an inference gateway: HTTPRoutes and the InferencePools that they lead to.

Source: Gateway API, HTTPRoute (gateway.networking.k8s.io/v1); Gateway API Inference Extension, InferencePool
(inference.networking.k8s.io/v1): pods by their labels, and an endpoint picker that chooses among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.commands.dns_names import LONGEST_NAME, dns_names
from planner.errors import CannotExpressError
from planner.exports.case import ExportCase
from planner.exports.http_routes import BUCKET_HEADER, WORKLOAD_HEADER, http_routes
from planner.exports.kubernetes import pool_selector
from planner.exports.pods import labels
from planner.exports.readme import plain
from planner.loaders.write import documents_yaml
from planner.schema.exported import Exported, ExportFile
from planner.schema.launch import Deployment

GROUP = "inference.networking.k8s.io"
_PICKER_PORT = 9002
"""Of an endpoint picker, its default."""
_PICKER = "-epp"
_GATEWAY = "gateway"


def gateway(case: ExportCase) -> Exported:
    """One file of routes, one of pools."""
    if case.disaggregated:
        raise CannotExpressError(
            f"An InferencePool knows no prefill and decode: export {name} to kserve, llm-d or dynamo."
            for name in case.disaggregated
        )
    routes = list(_routes(case))
    pools = [_pool(case, item) for item in case.deployments]
    files = (
        ExportFile("pools.yaml", documents_yaml(pools).encode()),
        ExportFile("routes.yaml", documents_yaml(routes).encode()),
    )
    return Exported(files, tuple(_steps()), tuple(_notes(case)))


def _routes(case: ExportCase) -> Iterator[dict[str, Any]]:
    """The routes to Services, led to InferencePools instead; outside suppliers stay Services."""
    names = {item.name: item for item in case.deployments}
    for route in http_routes(case.routes, case.where, _GATEWAY, case.deployments[0].port):
        for rule in route["spec"]["rules"]:
            rule["backendRefs"] = [
                {"group": GROUP, "kind": "InferencePool", "name": to["name"], "weight": to["weight"]}
                if to["name"] in names
                else to
                for to in rule["backendRefs"]
            ]
        yield route


def _pool(case: ExportCase, item: Deployment) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "InferencePool",
        "metadata": {"name": item.name, "labels": labels(case, item)},
        "spec": {
            "selector": {"matchLabels": pool_selector(item)},
            "targetPorts": [{"number": item.port}],
            "endpointPickerRef": {"name": _picker(item), "port": {"number": _PICKER_PORT}},
        },
    }


def _picker(item: Deployment) -> str:
    return dns_names([item.pool.id], LONGEST_NAME - len(_PICKER))[item.pool.id] + _PICKER


def _steps() -> Iterator[str]:
    yield "The pools themselves: `planner export --to kubernetes`."
    yield (
        f"A Gateway called `{_GATEWAY}`, and for each pool an endpoint picker behind the Service that "
        f"pools.yaml names, port {_PICKER_PORT} (Gateway API Inference Extension)."
    )
    yield "`kubectl apply -f pools.yaml`"
    yield "`kubectl apply -f routes.yaml`"


def _notes(case: ExportCase) -> Iterator[str]:
    if len(case.routes.workloads) > 1:
        yield f"Requests name their workload in the header {WORKLOAD_HEADER}."
    if any(len(row.buckets) > 1 for row in case.routes.workloads):
        yield f"Whoever stands before the gateway names the bucket in the header {BUCKET_HEADER}."
    own = {item.pool.id for item in case.deployments}
    outside = {
        to.pool
        for row in case.routes.workloads
        for bucket in row.buckets
        for to in bucket.pools
        if to.pool not in own
    }
    for name in sorted(outside):
        yield f"{plain(name)} is an outside supplier: give it a Service of the name that routes.yaml uses."
    if case.routes.periods > 1 and case.routes.period is None:
        yield "Weights are those of the whole day; --period N has those of an hour."
