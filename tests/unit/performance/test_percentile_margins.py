"""Each percentile is planned with its own spread: lookups, margins by row, latencies."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from planner.performance.open_load import LoadPolicy, measure
from planner.performance.replica import replicas
from planner.performance.spread import beyond_mean_sigma_log, percentile_sigma_log
from planner.performance.user_factors import limit_sigma_log, row_factors, sigma_log
from planner.schema.spread import BEYOND_MEAN
from planner.steptime.build import build_specs
from tests import load_samples
from tests import step_samples as samples
from tests.unit.performance.test_user_factors import sigma

ROWS = np.zeros(1, dtype=np.int64)
Z = 0.8416
ADDED = {"ttft_p50": 0.1, "ttft_p99": 0.4, "tpot_p99": 0.2, "itl_p90": 0.15, "itl_p99": 0.3}
MEANS = {f"{name}_new": sigma(0.2) for name in ("throughput", "tpot", "ttft")}


def configuration(added=ADDED):
    own = {f"{name}{BEYOND_MEAN}": samples.number(value) for name, value in added.items()}
    more = {"ttft_overhead_s": samples.number(0.05)}
    calibration = samples.ROUND.model_copy(
        update={"sigma_log": MEANS | own, "parameters": samples.ROUND.parameters | more}
    )
    return samples.configuration(calibration=calibration)


@pytest.mark.parametrize(
    ("name", "added"),
    [
        ("ttft_mean", 0.0),
        ("ttft_p50", 0.1),
        ("ttft_p95", 0.1),
        ("ttft_p99", 0.4),
        ("ttft_p99.9", 0.4),
        ("tpot_p50", 0.0),
        ("itl_p95", 0.15),
        ("e2e_p50", 0.1),
        ("e2e_p99", 0.4),
    ],
)
def test_a_percentile_without_rows_takes_what_is_below_it_or_what_it_consists_of(name, added):
    item = configuration()
    assert beyond_mean_sigma_log(item.calibration, name) == added
    found = percentile_sigma_log(sigma_log(item), item.calibration, name)
    assert found == pytest.approx(math.hypot(0.2, added))


def test_margins_reach_from_the_mean_to_the_percentile():
    margin = row_factors([configuration()], Z).percentiles
    assert margin is not None
    assert margin.factor("ttft_mean", ROWS) == 1.0
    wanted = math.exp(Z * (math.hypot(0.2, 0.4) - 0.2))
    assert margin.factor("ttft_p99", ROWS) == pytest.approx(wanted)
    assert row_factors([configuration()], 0.0).percentiles is None


def test_calibrations_keep_their_own_percentiles_side_by_side():
    margin = row_factors([configuration(), configuration({}), configuration()], Z).percentiles
    assert margin is not None
    found = np.asarray(margin.factor("itl_p99", np.arange(3)))
    assert found[1] == 1.0
    assert found[0] == found[2] > 1.0


@pytest.mark.parametrize("static", [False, True])
def test_every_latency_of_a_replica_carries_the_margin_of_its_name(static):
    item, traffic = configuration(), load_samples.traffic_of({"fixed": 1000}, {"fixed": 200})
    names = ("ttft_mean", "ttft_p50", "ttft_p99", "itl_p99", "tpot_p99", "e2e_p99")
    policy = LoadPolicy(3.0, 1.0, 1.0, saturated=False, static_batches=static, margin_z_score=Z)
    planned = replicas([item], build_specs([item]), traffic, Z)
    plain = replace(planned, percentiles=None)
    given = (ROWS, np.array([4.0]), np.array([16.0]), traffic, policy, names)
    found, before = measure(planned, *given), measure(plain, *given)
    assert found.rate_rps == before.rate_rps
    for name in names:
        added = beyond_mean_sigma_log(item.calibration, name)
        ratio = math.exp(Z * (math.hypot(0.2, added) - 0.2))
        assert found.latency_s[name] == pytest.approx(ratio * before.latency_s[name]), name


def test_limits_name_the_spreads_that_are_told():
    found = limit_sigma_log(configuration(), ("ttft_mean", "itl_p99"))
    assert set(found) == {"throughput", "tpot", "ttft", "itl_p99"}
    assert found["itl_p99"] == pytest.approx(math.hypot(0.2, 0.3))
