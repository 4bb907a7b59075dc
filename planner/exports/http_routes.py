"""The routing of a plan as documents of the Kubernetes Gateway API: one HTTPRoute per workload.

Source: Gateway API reference, HTTPRoute (gateway.networking.k8s.io/v1): a rule matches headers and shares
its requests out by the weights of its backends; at most 16 rules a route and 16 backends a rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from planner.commands.dns_names import LONGEST_NAME, dns_names
from planner.errors import Fault, InputError
from planner.loaders.write import documents_yaml
from planner.schema.fleet_out import BucketRoutes, Routes, WorkloadRoutes

API_VERSION = "gateway.networking.k8s.io/v1"
BUCKET_HEADER = "x-prompt-class"
"""Names the bucket of a request; whoever stands before the gateway sets it."""
WORKLOAD_HEADER = "x-workload"
"""Names the workload, where the plan has several."""
MOST_RULES = 16
MOST_BACKENDS = 16
_LONGEST_VALUE = 4096
_VISIBLE = re.compile(r"[!-~]([ -~]*[!-~])?")
"""What a header can hold: visible ASCII, with spaces inside."""


def http_routes_yaml(routes: Routes, where: str, gateway: str = "gateway", port: int = 8000) -> bytes:
    """HTTPRoutes as YAML documents.

    Args:
        routes: of a plan.
        where: the plan's file, for faults.
        gateway: name of the Gateway that the routes are attached to.
        port: of the Services of the pools.

    Raises:
        InputError: names of workloads or buckets that no header can hold, and more pools of one bucket than a
            rule may have backends.
    """
    return documents_yaml(http_routes(routes, where, gateway, port)).encode()


def http_routes(routes: Routes, where: str, gateway: str, port: int) -> list[dict[str, Any]]:
    """The documents as plain values: requests come in at the pools that serve or prefill."""
    found = routes_by_workload(routes, where, gateway, port)
    return [document for documents in found.values() for document in documents]


def routes_by_workload(
    routes: Routes, where: str, gateway: str, port: int
) -> dict[str, list[dict[str, Any]]]:
    """The same, by the workload whose requests they take."""
    entrances = _entrances(routes)
    faults = [fault for row in entrances for fault in _faults(row, where)]
    if faults:
        raise InputError(faults)
    pools = [to.pool for row in entrances for item in row.buckets for to in item.pools]
    services = dns_names(pools)
    names = dns_names(
        f"{row.workload}-{row.role}" if row.role == "prefill" else row.workload for row in entrances
    )
    several = len({row.workload for row in entrances}) > 1
    documents: dict[str, list[dict[str, Any]]] = {}
    for row, name in zip(entrances, names.values(), strict=True):
        rules = [_rule(row, item, several, services, port) for item in row.buckets]
        parts = [rules[at : at + MOST_RULES] for at in range(0, len(rules), MOST_RULES)]
        for number, part in enumerate(parts, 1):
            title = name if number == 1 else _numbered(name, number)
            documents.setdefault(row.workload, []).append(_document(title, gateway, part))
    return documents


def _entrances(routes: Routes) -> list[WorkloadRoutes]:
    """One row a workload: where hours differ in the serving mode, requests come in at both roles."""
    found: dict[str, WorkloadRoutes] = {}
    for row in routes.workloads:
        if row.role == "decode":
            continue
        first = found.setdefault(row.workload, row)
        if first is not row:
            pools = {item.bucket: item.pools for item in first.buckets}
            for item in row.buckets:
                pools[item.bucket] = (*pools.get(item.bucket, ()), *item.pools)
            buckets = tuple(BucketRoutes(bucket=name, pools=both) for name, both in pools.items())
            found[row.workload] = first.model_copy(update={"role": "serve", "buckets": buckets})
    return list(found.values())


def _document(name: str, gateway: str, rules: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "HTTPRoute",
        "metadata": {"name": name},
        "spec": {"parentRefs": [{"name": gateway}], "rules": list(rules)},
    }


def _rule(
    row: WorkloadRoutes, item: BucketRoutes, several: bool, services: dict[str, str], port: int
) -> dict[str, Any]:
    headers = [(WORKLOAD_HEADER, row.workload)] if several else []
    if len(row.buckets) > 1:
        headers.append((BUCKET_HEADER, item.bucket))
    rule: dict[str, Any] = {}
    if headers:
        rule["matches"] = [{"headers": [{"type": "Exact", "name": n, "value": v} for n, v in headers]}]
    rule["backendRefs"] = [
        {"name": services[to.pool], "port": port, "weight": to.weight} for to in item.pools if to.weight
    ]
    return rule


def _faults(row: WorkloadRoutes, where: str) -> Iterator[Fault]:
    values = [("workload", row.workload), *((f"bucket of {row.workload}", i.bucket) for i in row.buckets)]
    for key, value in values:
        if not _VISIBLE.fullmatch(value) or len(value) > _LONGEST_VALUE:
            yield Fault(
                where, key, f'"{value}"', "a name of visible ASCII characters, which a header can hold"
            )
    for item in row.buckets:
        backends = sum(to.weight > 0 for to in item.pools)
        if backends > MOST_BACKENDS:
            expected = f"at most {MOST_BACKENDS}, the backends of one rule"
            yield Fault(
                where, f"{row.workload}/{item.bucket}", f"{backends} pools", expected, '"--format csv"'
            )


def _numbered(name: str, number: int) -> str:
    end = f"-{number}"
    return f"{name[: LONGEST_NAME - len(end)].rstrip('-')}{end}"
