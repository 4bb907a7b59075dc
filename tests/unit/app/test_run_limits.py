"""Limits of runs that had more in flight than the engine runs by default."""

from __future__ import annotations

import pytest

from planner.calibration.run_limits import raised_limit, with_limit
from planner.loaders.catalog import load_catalog
from planner.schema.measurement import Measurement


def row(in_flight, gpus=1):
    return Measurement(
        "A", "a", "open-loop", "m", "g", "vllm", "", "", "", gpus=gpus, tp=1, in_flight=in_flight
    )


@pytest.mark.parametrize(
    ("in_flight", "limit"), [(0.0, 0), (256.0, 0), (257.0, 512), (512.0, 512), (700.0, 1024)]
)
def test_the_next_power_of_two(in_flight, limit):
    engine = load_catalog().engine("vllm")
    assert raised_limit(engine, row(in_flight)) == limit
    assert raised_limit(engine, row(8 * in_flight, gpus=8)) == limit


def test_an_engine_told_so_runs_as_many():
    engine = with_limit(load_catalog().engine("vllm"), 512)
    assert engine.limits.max_running == 512
    assert engine.limits.modest is None
