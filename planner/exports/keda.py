"""ScaledObjects of KEDA: the plan's hours as a clock, and the engine's own load beyond it.

Source: keda.sh/v1alpha1 ScaledObject, cron and prometheus scalers. The autoscaler takes the largest number
that any trigger asks for; outside its window a cron trigger asks for the fewest replicas.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from planner.commands.dns_names import dns_names
from planner.errors import CannotExpressError
from planner.exports import promql
from planner.exports.case import ExportCase
from planner.exports.day_hours import DAY_H, HourRun, day_hours
from planner.exports.kubernetes import LONGEST_SET_NAME
from planner.exports.watches import exporter_of
from planner.loaders.write import documents_yaml
from planner.schema.exported import Exported, ExportFile
from planner.schema.launch import Deployment
from planner.schema.stated import Redundancy

SERVER = "http://prometheus-server.monitoring.svc:9090"
"""Where KEDA finds Prometheus; users put theirs."""
TIME_ZONE = "Etc/UTC"
_HOUR_MIN = 60
_WEEK_DAYS = 7
_FAILURES = 3
"""Answers in a row that Prometheus owes before the planned number is taken, KEDA's own sample value."""


def keda(case: ExportCase) -> Exported:
    """One ScaledObject a pool."""
    strange = [item for item in case.deployments if day_hours(item.replicas_by_hour) is None]
    if strange:
        hours = len(strange[0].replicas_by_hour)
        raise CannotExpressError(
            [f"The plan has {hours} hours: cron triggers repeat every day or week, not in {hours} hours."]
        )
    files = [
        ExportFile(f"{item.name}.yaml", documents_yaml([_scaled_object(case, item)]).encode())
        for item in case.deployments
    ]
    steps = [
        "Deploy the pools: `planner export --to kubernetes`; leave out, or delete, their "
        "HorizontalPodAutoscalers: KEDA makes its own.",
        "Series need the label `pool`: `planner export --to prometheus` writes what scrapes them so.",
        f"Put the address of your Prometheus for `{SERVER}`.",
        "`kubectl apply -f .`",
    ]
    return Exported(tuple(files), tuple(steps), tuple(_notes(case)))


def _notes(case: ExportCase) -> Iterator[str]:
    if case.schedule.periods > 1:
        yield (
            f"Hour 0 of the plan is taken for midnight in {TIME_ZONE}, of a week for that on Monday: change "
            "timezone to move the day. Windows begin earlier by the cold start of the pool."
        )
    if case.disaggregated:
        yield "Prefill and decode scale each on their own: between hours their ratio may leave the plan's."
    yield "No pool grows past the plan: more GPUs are a new plan."


def _scaled_object(case: ExportCase, item: Deployment) -> dict[str, Any]:
    several = item.launch.servers > 1
    name = dns_names([item.pool.id], LONGEST_SET_NAME)[item.pool.id] if several else item.name
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": item.name},
        "spec": {
            "scaleTargetRef": {
                "apiVersion": "leaderworkerset.x-k8s.io/v1" if several else "apps/v1",
                "kind": "LeaderWorkerSet" if several else "Deployment",
                "name": name,
            },
            "minReplicaCount": _fewest(case, item),
            "maxReplicaCount": item.most_replicas,
            "fallback": {"failureThreshold": _FAILURES, "replicas": item.most_replicas},
            "triggers": [*_clock(item), _load(case, item)],
        },
    }


def _fewest(case: ExportCase, item: Deployment) -> int:
    """Of any hour; of a plan without hours what the problem keeps up whatever the load."""
    if len(item.replicas_by_hour) > 1:
        return item.least_replicas
    workload = next(one for one in case.problem.workloads if one.name == item.pool.workload)
    fleet = case.problem.fleet
    spare = fleet.redundancy if workload.redundancy is None else workload.redundancy
    if isinstance(spare, Redundancy):
        if spare.servers or spare.zones or spare.providers:
            return item.most_replicas  # what may be lost is no number of replicas
        spare = spare.replicas or spare.per_option or 0
    kept = workload.min_replicas or fleet.min_replicas
    return min(max(kept, spare + 1), item.most_replicas)


def _clock(item: Deployment) -> Iterator[dict[str, Any]]:
    """A window for each run of hours with more than the fewest replicas."""
    hours = day_hours(item.replicas_by_hour)
    assert hours is not None, "refused before"
    lead_min = math.ceil((item.start_s or 0.0) / _HOUR_MIN)
    weekly = hours.period == "week"
    for run in hours.runs:
        if run.replicas > item.least_replicas:
            yield {"type": "cron", "metadata": _window(run, lead_min, weekly)}


def _window(run: HourRun, lead_min: int, weekly: bool) -> dict[str, str]:
    return {
        "timezone": TIME_ZONE,
        "start": _cron(run.first * _HOUR_MIN - lead_min, weekly),
        "end": _cron(run.end * _HOUR_MIN, weekly),
        "desiredReplicas": str(run.replicas),
    }


def _cron(minutes: int, weekly: bool) -> str:
    """A time of the day, or of the week: Monday is day 1, Sunday 0."""
    hours, minute = divmod(minutes, _HOUR_MIN)
    days, hour = divmod(hours, DAY_H)
    day = str((days + 1) % _WEEK_DAYS) if weekly else "*"
    return f"{minute} {hour} * * {day}"


def _load(case: ExportCase, item: Deployment) -> dict[str, Any]:
    """Requests in a replica at the planned load; where only prompts are read, their planned rate."""
    exporter = exporter_of(case, item)
    if item.pool.concurrency is not None and item.pool.role != "prefill":
        keys = (exporter.readings[name][0].of[0] for name in ("batch_mean", "queue_depth"))
        query = " + ".join(promql.total(exporter, key, promql.of_pool(item.name)) for key in keys)
        threshold = item.pool.concurrency
    else:
        key = exporter.readings["request_rate_rps"][0].of[0]
        query = promql.rate(exporter, key, promql.of_pool(item.name))
        threshold = item.pool.load_rps
    metadata = {"serverAddress": SERVER, "query": query, "threshold": f"{max(threshold, 1e-6):.6f}"}
    return {"type": "prometheus", "metricType": "AverageValue", "metadata": metadata}
