"""Plans made by hand as files, for tests of reports and pictures."""

from __future__ import annotations

from planner.report import json_document

HOURS = 24
RELAXATIONS = [
    {"changes": [{"id": "ttft:chat", "from": 0.1, "to": 0.121, "unit": "s"}], "cost_usd_per_hour": 47.5},
    {"changes": [{"id": "budget", "from": 20.0, "to": 45.0, "unit": "USD/h"}], "cost_usd_per_hour": 45.0},
]


def plan_file(plan, path):
    """The plan as a document in a file."""
    path.write_bytes(json_document.encode(json_document.of_plan(plan)))
    return path


def costs(usd_per_hour=40.0):
    """Where the money goes, divided in four ways."""
    return {
        "by_workload": {"chat": usd_per_hour * 0.75, "docs": usd_per_hour * 0.25},
        "by_place": {"dc1/eu": usd_per_hour},
        "by_term": {"on_demand": usd_per_hour * 0.5, "reserved": usd_per_hour * 0.5},
        "by_hour": [usd_per_hour],
    }


def day_plan(make_plan):
    """A plan of 24 hours: twice the replicas from 8 to 20."""
    counts = [8 if 8 <= hour < 20 else 4 for hour in range(HOURS)]
    supply = [
        {"line": "h100-sxm/on_demand", "gpu": "h100-sxm", "term": "on_demand", "region": "eu",
         "period": hour, "gpus": 2 * count, "usd": 5.0 * count}
        for hour, count in enumerate(counts)
    ]  # fmt: skip
    periods = [
        {"period": hour, "replicas": {"chat/serve/1": count}, "gpus": {"h100-sxm": 2 * count},
         "usd": 5.0 * count, "utilization": 0.75}
        for hour, count in enumerate(counts)
    ]  # fmt: skip
    orders = [
        {"period": 8, "line": "h100-sxm/on_demand", "gpus": 8, "lead_s": 600.0},
        {"period": 20, "line": "h100-sxm/on_demand", "gpus": -8, "lead_s": 0.0},
    ]
    whole = 30.0
    return make_plan(
        problem="day", cost_usd_per_hour=whole, supply=supply, periods=periods, orders=orders,
        objective={"name": "cost", "value": whole * HOURS, "lower_bound": whole * HOURS, "gap": 0.0},
        costs=costs(whole) | {"by_hour": [5.0 * count for count in counts]},
    )  # fmt: skip
