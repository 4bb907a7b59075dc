"""What every latency limit of a plan is planned with: the margin of its own statistic."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist

from planner.planning.formulation.fleet_case import FleetCase
from planner.schema.pool import Pool
from planner.schema.safety import LimitMargin

_MEANS = {"ttft": "ttft", "itl": "tpot", "tpot": "tpot", "e2e": "tpot"}
"""Metric -> the mean whose spread its percentiles start from."""


def limit_margins(case: FleetCase, pools: Sequence[Pool]) -> tuple[LimitMargin, ...]:
    """By workload and limit, each of the pool that is least sure of it; none for measured workers."""
    return tuple(_margins(case, pools))


def _margins(case: FleetCase, pools: Sequence[Pool]) -> Iterator[LimitMargin]:
    if case.formulation is None:
        return
    for workload, formulation in case.formulation.cases.items():
        mine = [pool.uncertainty for pool in pools if pool.workload == workload and pool.uncertainty]
        if not mine:
            continue
        for name in formulation.limits_s:
            mean = _MEANS[name.partition("_")[0]]
            sigma, of_mean = max((known.get(name, known[mean]), known[mean]) for known in mine)
            yield LimitMargin(
                workload=workload,
                limit=name,
                sigma_log=sigma,
                mean_sigma_log=of_mean,
                factor=math.exp(NormalDist().inv_cdf(formulation.confidence) * sigma),
            )
