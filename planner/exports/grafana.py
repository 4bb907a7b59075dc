"""One dashboard: every watched value of every pool beside what the plan says of it.

Source: Grafana, dashboard JSON model (schemaVersion 39) and time series panel. Titles hold only names made
for DNS: a ``$`` in what the user wrote would be a variable.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from planner.exports.case import ExportCase
from planner.exports.prometheus import notes
from planner.exports.watches import Watch, watches
from planner.schema.exported import Exported, ExportFile
from planner.schema.launch import Deployment

FILE = "dashboard.json"
_SCHEMA_VERSION = 39
_COLUMNS = 3
_WIDTH = 24
"""Of the grid of a dashboard."""
_HEIGHT = 8
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_LINES = {"plan": "green", "limit": "red", "floor": "orange"}
"""Constant lines of a panel and their colors."""


def grafana(case: ExportCase) -> Exported:
    """A dashboard to import."""
    content = json.dumps(dashboard(case), indent=2, ensure_ascii=True) + "\n"
    steps = (
        "Series carry the name of their pool: `planner export --to prometheus` writes what scrapes them so.",
        f"Dashboards, New, Import: `{FILE}`; choose your Prometheus at the top.",
    )
    return Exported((ExportFile(FILE, content.encode()),), steps, tuple(notes(case)))


def dashboard(case: ExportCase) -> dict[str, Any]:
    """The dashboard as plain values."""
    return {
        "uid": hashlib.sha256(case.plan.problem.encode()).hexdigest()[:16],
        "title": f"Plan against reality: {case.name}",
        "tags": ["planner"],
        "schemaVersion": _SCHEMA_VERSION,
        "editable": True,
        "time": {"from": "now-24h", "to": "now"},
        "timezone": "utc",
        "refresh": "1m",
        "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}]},
        "panels": list(_panels(case)),
    }


def _panels(case: ExportCase) -> Iterator[dict[str, Any]]:
    found = watches(case)
    number, y = 1, 0
    for item in case.deployments:
        yield _row(case, item, number, y)
        number, y = number + 1, y + 1
        mine = [watch for watch in found if watch.item is item]
        for place, watch in enumerate(mine):
            width = _WIDTH // _COLUMNS
            at = {
                "h": _HEIGHT,
                "w": width,
                "x": place % _COLUMNS * width,
                "y": y + place // _COLUMNS * _HEIGHT,
            }
            yield _panel(watch, number, at)
            number += 1
        y += -(-len(mine) // _COLUMNS) * _HEIGHT


def _row(case: ExportCase, item: Deployment, number: int, y: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": "row",
        "title": f"{item.name} ({case.workloads[item.pool.workload]}, {item.pool.role})",
        "collapsed": False,
        "gridPos": {"h": 1, "w": _WIDTH, "x": 0, "y": y},
        "panels": [],
    }


def _panel(watch: Watch, number: int, at: dict[str, int]) -> dict[str, Any]:
    lines = dict(_constants(watch))
    return {
        "id": number,
        "type": "timeseries",
        "title": watch.title,
        "description": watch.why,
        "datasource": _SOURCE,
        "gridPos": at,
        "fieldConfig": {
            "defaults": {"unit": watch.unit, "min": 0},
            "overrides": [_dashed(name) for name in lines],
        },
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [
            {"refId": chr(ord("A") + place), "datasource": _SOURCE, "expr": expression, "legendFormat": name}
            for place, (name, expression) in enumerate([("measured", watch.measured), *lines.items()])
        ],
    }


def _constants(watch: Watch) -> Iterator[tuple[str, str]]:
    """The planned value, and where an alarm rings."""
    if watch.expected is not None:
        yield "plan", watch.expected
    if watch.high is not None:
        yield "limit", f"vector({watch.high:.10g})"
    if isinstance(watch.low, float):
        yield "floor", f"vector({watch.low:.10g})"


def _dashed(name: str) -> dict[str, Any]:
    return {
        "matcher": {"id": "byName", "options": name},
        "properties": [
            {"id": "color", "value": {"mode": "fixed", "fixedColor": _LINES[name]}},
            {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [10, 10]}},
        ],
    }
