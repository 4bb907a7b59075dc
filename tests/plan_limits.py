"""Limits of fleets as tests write them: plain numbers, made into the rows of the registry."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from types import SimpleNamespace

from planner.constraints.plan.budget import Budget as _Budget
from planner.constraints.plan.max_gpus import MaxGpus
from planner.constraints.plan.max_replicas import MaxReplicas
from planner.constraints.plan.power import Power
from planner.constraints.plan.quota import Quota as _Quota
from planner.constraints.plan.stock import Stock
from planner.schema.fleet import FleetLimits


def quota_row(name, lines, gpus):
    """GPUs that some lines together may have; ``name`` as ``quota:NAME``."""
    return _Quota().of(name.removeprefix("quota:"), lines, gpus)


def budget_row(name, usd_per_h, every_period=True):
    """Money at most: ``budget``, ``budget:day``, ``budget:month``."""
    span = name.partition(":")[2]
    path = None if span else "fleet.budget"
    return _Budget().of(usd_per_h, span, every_period, path)


def plan_limits(
    stock_gpus=None,
    quotas=(),
    budgets=(),
    max_gpus=None,
    power_w=None,
    changes=None,
    objective="cost",
    must_use=(),
    max_replicas=None,
    more=(),
):
    """All of them together; ``max_replicas`` by workload, under "" of all; ``more``: other rows."""
    rows = [Stock().of(gpu, count) for gpu, count in (stock_gpus or {}).items()]
    rows += [*quotas, *budgets]
    rows += [] if max_gpus is None else [MaxGpus().of(max_gpus)]
    rows += [] if power_w is None else [Power().of(Fraction(power_w))]
    rows += [MaxReplicas().of(count, workload) for workload, count in (max_replicas or {}).items()]
    return FleetLimits((*rows, *more), changes, objective, must_use)


def changed(found, **values):
    """The limits with other rows of some kinds; ``values`` as for `plan_limits`, without changes."""
    kinds = {_KINDS[key] for key in values}
    kept = (row for row in found.rows if row.kind not in kinds)
    return replace(found, rows=(*kept, *plan_limits(**values).rows))


_KINDS = {
    "stock_gpus": "stock", "quotas": "quota", "budgets": "budget", "max_gpus": "max-gpus", "power_w": "power",
    "max_replicas": "max-replicas",
}  # fmt: skip


def plain(found):
    """The rows as plain numbers again, read by their ids: what judges of the solver are written in."""
    return SimpleNamespace(
        **_numbers(found.rows), changes=found.changes, objective=found.objective, must_use=found.must_use
    )


@cache
def _numbers(rows):
    most = {row.id: row.most for row in rows}

    def of(kind):
        return [row for row in rows if row.kind == kind]

    return {
        "stock_gpus": {row.owner: int(row.most) for row in of("stock")},
        "quotas": [
            SimpleNamespace(id=row.id, lines=row.gpus.lines, gpus=int(row.most)) for row in of("quota")
        ],
        "budgets": [
            SimpleNamespace(id=row.id, usd_per_h=row.most, every_period=row.every_period)
            for row in of("budget")
        ],
        "max_gpus": None if "max-gpus" not in most else int(most["max-gpus"]),
        "power_w": most.get("power"),
        "co2": next(iter(of("max-co2")), None),
        "max_replicas": {row.owner: int(row.most) for row in of("max-replicas")},
    }
