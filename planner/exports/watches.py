"""What to watch of every pool: the measured value as PromQL beside the planned one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from planner.explain.monitoring import targets
from planner.explain.problem_values import sizing_of
from planner.exports import promql
from planner.exports.case import ExportCase
from planner.exports.day_hours import DayHours, day_hours
from planner.schema.explanation import Target
from planner.schema.exporter import Exporter
from planner.schema.launch import Deployment
from planner.schema.slo import METRICS, STATISTICS

EXPORTED_SERIES = ("tpot", "generated")
"""Series of exporters that only exports ask for."""
_ROLES = {"serve": METRICS, "prefill": ("ttft",), "decode": ("itl", "tpot")}
"""Latencies that servers of a role measure as users feel them; E2E needs both sides."""
_TITLES = {
    "ttft": "Time to first token",
    "itl": "Gap between tokens",
    "tpot": "Time per output token",
    "e2e": "End to end",
    "request_rate_rps": "Requests per replica",
    "batch_mean": "Running requests per replica",
    "queue_depth": "Queue per replica",
    "kv_usage_ratio": "KV cache in use",
    "eviction_ratio": "Preemptions of running requests",
    "prefix_hit_ratio": "Prefix cache hits",
    "spec_acceptance_ratio": "Accepted drafts",
    "adapter_hit_ratio": "Adapter hits",
}
_ANY_LOAD = ("prefix_hit_ratio", "spec_acceptance_ratio", "adapter_hit_ratio")
"""Values that do not fall with the load: they may ring below, too."""


@dataclass(frozen=True)
class Watch:
    """One value of one pool."""

    item: Deployment
    metric: str
    title: str
    unit: str
    measured: str
    """PromQL."""
    expected: str | None = None
    """The plan's own figure at its peak, as PromQL."""
    low: float | str | None = None
    """Alarm below; PromQL where it changes with the hour."""
    high: float | None = None
    """Alarm above."""
    pending_s: int = promql.WINDOW_S
    """An alarm rings when it has lasted so long: at least the window that its value is taken over."""
    promised: bool = False
    """The alarm is a limit that the problem states."""
    why: str = ""

    @property
    def record(self) -> str:
        """Name of the recorded series."""
        return f"planner:{self.metric}"


def watches(case: ExportCase) -> tuple[Watch, ...]:
    """Everything to watch, pool by pool."""
    alarms = targets(case.plan, case.alarms)
    found: list[Watch] = []
    for item in case.deployments:
        exporter = exporter_of(case, item)
        found.append(_replicas(item))
        limits = list(_limits(case, item, exporter))
        known = {watch.metric: watch.high for watch in limits}
        found += limits
        for target in alarms:
            # A limit that rings anyway needs no second alarm.
            if target.pool == item.pool.id and known.get(target.metric, -1.0) != target.high:
                found += _alarm(item, exporter, target, target.metric in known)
        found += _more(case, item, exporter)
    return tuple(found)


def unwatched(case: ExportCase) -> Iterator[str]:
    """Limits that the metrics of an engine do not show, a sentence each."""
    for item in case.deployments:
        exporter = exporter_of(case, item)
        for metric, statistic, _ in _slo(case, item):
            if metric not in _ROLES[item.pool.role]:
                continue
            if _histogram(exporter, metric) is None:
                engine = item.pool.engine
                yield f"{item.name}: {engine} exports no {metric}: {metric}_{statistic} is not watched."


def exporter_of(case: ExportCase, item: Deployment) -> Exporter:
    """The metrics of a pool's engine."""
    return next(one for one in case.metrics.exporters if one.id == item.pool.engine)


def replicas_planned(item: Deployment) -> str:
    """Replicas that the plan runs at this hour, as PromQL; the fewest of any where no clock has the hours."""
    hours = day_hours(item.replicas_by_hour)
    if hours is None or len(hours.runs) == 1:
        return f"vector({item.least_replicas})"
    return " + ".join(_during(hours, run.first, run.end, run.replicas) for run in hours.runs if run.replicas)


def _during(hours: DayHours, first: int, end: int, replicas: int) -> str:
    clock = "hour()" if hours.period == "day" else "((day_of_week() + 6) % 7 * 24 + hour())"
    return f"{replicas} * ({clock} >= bool {first}) * ({clock} < bool {end})"


def _replicas(item: Deployment) -> Watch:
    planned = replicas_planned(item)
    starting_s = math.ceil(item.start_s or 0.0)
    return Watch(
        item, "replicas_up", "Replicas", "short", promql.replicas_up(item.name), planned, low=planned,
        pending_s=max(starting_s, promql.WINDOW_S),
        why="fewer replicas answer than the plan runs at this hour",
    )  # fmt: skip


def _slo(case: ExportCase, item: Deployment) -> Iterator[tuple[str, str, float]]:
    """Limits of the pool's workload as metric, statistic, seconds."""
    slo = next(one.slo for one in case.problem.workloads if one.name == item.pool.workload)
    for metric in METRICS:
        for statistic in STATISTICS:
            limit = getattr(slo, f"{metric}_{statistic}")
            if limit is not None:
                yield metric, statistic, float(limit)


def _limits(case: ExportCase, item: Deployment, exporter: Exporter) -> Iterator[Watch]:
    for metric, statistic, limit in _slo(case, item):
        key = _histogram(exporter, metric)
        if key is None or metric not in _ROLES[item.pool.role]:
            continue
        if statistic == "mean":
            measured = promql.mean(exporter, key, promql.of_pool(item.name))
        else:
            measured = promql.quantile(exporter, key, promql.of_pool(item.name), float(statistic[1:]) / 100)
        planned = getattr(item.pool, f"{metric}_s").get(statistic)
        yield Watch(
            item, f"{metric}_{statistic}_s", f"{_TITLES[metric]}, {statistic}", "s", measured,
            None if planned is None else promql.constant(planned), high=limit, promised=True,
            why="the limit of the plan's problem",
        )  # fmt: skip


def _histogram(exporter: Exporter, metric: str) -> str | None:
    """The series of a latency; None where the engine does not export it."""
    read = exporter.readings.get(f"{metric}_p99_s", ())
    key = next((rule.of[0] for rule in read if rule.take == "quantile"), metric)
    return key if key in exporter.series else None


def _alarm(item: Deployment, exporter: Exporter, target: Target, limited: bool) -> Iterator[Watch]:
    rule = next(iter(exporter.readings.get(target.metric, ())), None)
    measured = None if rule is None else promql.reading(exporter, rule, promql.of_pool(item.name))
    if rule is None or measured is None:
        return
    if rule.replicas == "sum":
        measured = f"({measured}) / {promql.replicas_up(item.name)}"
    metric, _, statistic = target.metric.removesuffix("_s").rpartition("_")
    title = _TITLES.get(target.metric) or f"{_TITLES.get(metric, metric)}, {statistic}"
    name = f"{target.metric}_alarm" if limited else target.metric
    yield Watch(
        item, name, title, _UNITS.get(target.unit, "short"), measured,
        None if target.expected is None else promql.constant(target.expected),
        low=target.low if target.metric in _ANY_LOAD else None, high=target.high, why=target.why,
    )  # fmt: skip


_UNITS = {"s": "s", "fraction": "percentunit", "req/s": "reqps"}
"""Units of targets as Grafana calls them."""


def _more(case: ExportCase, item: Deployment, exporter: Exporter) -> Iterator[Watch]:
    """Utilization, and tokens written: values that no engine states alone."""
    pool = item.pool
    rule = next(iter(exporter.readings.get("request_rate_rps", ())), None)
    if rule is not None:
        load = promql.reading(exporter, rule, promql.of_pool(item.name))
        measured = f"({load}) / ({promql.replicas_up(item.name)} * {pool.capacity_rps:.10g})"
        target = next(
            t for t in targets(case.plan, case.alarms) if (t.pool, t.metric) == (pool.id, "utilization")
        )
        yield Watch(
            item, "utilization_ratio", "Load over capacity", "percentunit", measured,
            promql.constant(pool.utilization), high=target.high, why="no room for a peak",
        )  # fmt: skip
    sizing = sizing_of(case.plan, pool.workload)
    if pool.role == "prefill" or "generated" not in exporter.series:
        return
    planned = (
        None if sizing is None else pool.load_rps * sizing.output_tokens.get("mean", 0.0) * item.most_replicas
    )
    yield Watch(
        item, "output_tokens_per_s", "Tokens written", "short",
        promql.rate(exporter, "generated", promql.of_pool(item.name)),
        None if planned is None else promql.constant(planned),
    )  # fmt: skip
