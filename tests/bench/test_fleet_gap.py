"""How the gap of large fleets falls with time: seconds, value, bound, gap."""

from __future__ import annotations

import os
import sys
from fractions import Fraction

import pytest
from fleet_samples import fleet

from planner.solver.mip.solve import solve_mip

SIZES = {
    "5x6x8, one period": (5, 6, 8, 1, 20.0),
    "20x10x15, one period": (20, 10, 15, 1, 45.0),
    "5x4x6, 24 periods": (5, 4, 6, 24, 60.0),
    "8x6x8, 24 periods, start charges": (8, 6, 8, 24, 60.0),
    "20x10x15, 24 periods": (20, 10, 15, 24, 75.0),
}
"""Workloads x buckets x GPU types, and the time limit in seconds (`FLEET_BENCH_S` in the environment puts
another one in its place)."""


@pytest.mark.bench
@pytest.mark.parametrize("name", SIZES)
def test_gap_over_time(benchmark, capsys, name):
    if benchmark.disabled:
        pytest.skip("only where speed is measured: it takes minutes")
    workloads, buckets, gpus, periods, limit_s = SIZES[name]
    limit_s = float(os.environ.get("FLEET_BENCH_S", limit_s))
    problem = fleet(
        workloads, buckets, gpus, periods, start_usd=Fraction(1, 2) if "start" in name else Fraction(0)
    )
    choice = benchmark.pedantic(solve_mip, args=(problem,), kwargs={"time_limit_s": limit_s}, rounds=1)
    with capsys.disabled():
        head = f"\n{name}\n{'s':>8}{'value':>12}{'bound':>12}{'gap':>9}"
        sys.stdout.write("\n".join([head, *_told(choice.trace), ""]))
    benchmark.extra_info["gap %"] = 100 * float(choice.gap)
    assert choice.status in ("optimal", "feasible")


def _told(trace):
    """At most one line for every two seconds, and the last one."""
    last = -2.0
    for known in trace:
        if known.value is not None and (known.seconds - last >= 2.0 or known is trace[-1]):
            last = known.seconds
            bound = float("-inf") if known.lower_bound is None else known.lower_bound
            gap = 100 * (known.value - bound) / known.value
            yield f"{known.seconds:8.1f}{known.value:12,.2f}{bound:12,.2f}{gap:7.2f} %"
