"""Recording and alert rules of Prometheus, and how its series come to carry the pool.

Source: prometheus.io, recording and alerting rules; monitoring.coreos.com/v1 PrometheusRule and PodMonitor
(prometheus-operator). Rules hold only names made for DNS: what the user wrote could be a template.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.exports import promql
from planner.exports.case import ExportCase
from planner.exports.day_hours import day_hours
from planner.exports.watches import Watch, exporter_of, unwatched, watches
from planner.loaders.write import documents_yaml
from planner.schema.exported import Exported, ExportFile
from planner.schema.launch import Deployment

MONITORING_V1 = "monitoring.coreos.com/v1"
NAME_LABEL = "app.kubernetes.io/name"
"""Of every pod of a pool, in manifests of `planner export`."""


def prometheus(case: ExportCase) -> Exported:
    """Rules as a file of Prometheus and as a resource of its operator; what scrapes, the same two ways."""
    groups = rule_groups(case)
    rule = {
        "apiVersion": MONITORING_V1,
        "kind": "PrometheusRule",
        "metadata": {"name": case.name},
        "spec": {"groups": groups},
    }
    files: dict[str, list[dict[str, Any]]] = {
        "rules.yaml": [{"groups": groups}],
        "scrape.yaml": [{"scrape_configs": [_scraped(case, item) for item in case.deployments]}],
        "operator/rules.yaml": [rule],
        "operator/pod-monitors.yaml": [_pod_monitor(case, item) for item in case.deployments],
    }
    steps = (
        "With the Prometheus operator: `kubectl apply -f operator/`, with the labels that yours selects by.",
        "Without: put the parts of `scrape.yaml` and the name of `rules.yaml` (under rule_files) into "
        "prometheus.yml; put the addresses of your servers where ADDRESS stands.",
        "`promtool check rules rules.yaml`",
    )
    made = tuple(ExportFile(name, documents_yaml(rows).encode()) for name, rows in files.items())
    return Exported(made, steps, tuple(notes(case)))


def notes(case: ExportCase) -> Iterator[str]:
    """What rules and panels cannot show."""
    yield (
        "Percentiles come from buckets: between two edges they are a guess, wide where edges are far apart. "
        "Limits are checked against that guess."
    )
    if case.schedule.periods > 1:
        yield "Hour 0 of the plan is taken for midnight UTC, of a week for that on Monday."
    if any(day_hours(item.replicas_by_hour) is None for item in case.deployments):
        yield "The hours repeat in no day and no week: replicas are held against the fewest of any hour."
    if case.disaggregated:
        yield "Prefill servers measure the time to first token without the transfer of the KV cache."
    yield from unwatched(case)


def rule_groups(case: ExportCase) -> list[dict[str, Any]]:
    """One group a pool: recorded values, then alerts over them."""
    found = watches(case)
    groups = []
    for item in case.deployments:
        mine = [watch for watch in found if watch.item is item]
        recorded = [_recorded(case, watch) for watch in mine]
        alerts = [alert for watch in mine for alert in _alerts(case, watch)]
        groups.append({"name": f"planner-{item.name}", "rules": recorded + alerts})
    return groups


def _recorded(case: ExportCase, watch: Watch) -> dict[str, Any]:
    return {"record": watch.record, "expr": watch.measured, "labels": labels(case, watch.item)}


def _alerts(case: ExportCase, watch: Watch) -> Iterator[dict[str, Any]]:
    severity = "critical" if watch.promised or watch.metric == "replicas_up" else "warning"
    for side, bound, compared in (("Low", watch.low, "<"), ("High", watch.high, ">")):
        if bound is None:
            continue
        limit = bound if isinstance(bound, str) else f"{bound:.10g}"
        # Both sides of the replicas are without labels, what is recorded has them.
        value = watch.measured if isinstance(bound, str) else f"{watch.record}{{{_pool(watch.item)}}}"
        yield {
            "alert": f"Planner{_camel(watch.metric)}{side}",
            "expr": f"{value} {compared} ({limit})",
            "for": f"{watch.pending_s}s",
            "labels": {**labels(case, watch.item), "severity": severity},
            "annotations": {
                "summary": f"{watch.item.name}: {watch.title} is {'below' if compared == '<' else 'above'} "
                + ("the plan" if isinstance(bound, str) else f"{limit}"),
                "description": watch.why or "departs from the plan",
            },
        }


def labels(case: ExportCase, item: Deployment) -> dict[str, str]:
    """What every value of a pool carries: tiers of hardware are never averaged over."""
    return {promql.POOL: item.name, "workload": case.workloads[item.pool.workload], "role": item.pool.role}


def _pool(item: Deployment) -> str:
    return promql.of_pool(item.name)


def _camel(metric: str) -> str:
    return "".join(part.capitalize() for part in metric.split("_") if part not in ("s", "rps", "ratio"))


def _path(case: ExportCase, item: Deployment) -> str:
    return exporter_of(case, item).path.split()[0]


def _scraped(case: ExportCase, item: Deployment) -> dict[str, Any]:
    return {
        "job_name": item.name,
        "metrics_path": _path(case, item),
        "static_configs": [{"targets": [f"ADDRESS:{item.port}"], "labels": {promql.POOL: item.name}}],
    }


def _pod_monitor(case: ExportCase, item: Deployment) -> dict[str, Any]:
    return {
        "apiVersion": MONITORING_V1,
        "kind": "PodMonitor",
        "metadata": {"name": item.name},
        "spec": {
            "selector": {"matchLabels": {NAME_LABEL: item.name}},
            "podMetricsEndpoints": [
                {
                    "port": "http",
                    "path": _path(case, item),
                    "relabelings": [{"targetLabel": promql.POOL, "replacement": item.name}],
                }
            ],
        },
    }
