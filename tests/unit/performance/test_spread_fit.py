"""Spreads out of errors that are drawn from known ones."""

from __future__ import annotations

import numpy as np
import pytest

from planner.calibration.spread_errors import DISAGGREGATED, DISTANCES, IN_FIT, Errors, SpreadErrors
from planner.calibration.spread_fit import FLOORS, SMOOTH, fitted_spread, quantile_terms
from planner.performance.distance import Ground
from tests.unit.performance.test_spread import KNOWN, MEASURED

FACTORS = (("architecture", "hopper"), ("engine", "loud"), ("engine", "quiet"))
GROUPS, ROWS = 40, 50
SETUPS = (
    "pair",
    "GPU",
    "model",
    "architecture",
    "family",
    "engine",
    "format",
    "layout",
    "batch",
    "context",
    DISAGGREGATED,
)


def errors(rng, sigma_log, **far):
    """Rows of two engines, one with twice the spread of the other, at a distance."""
    count = GROUPS * ROWS
    distances = np.zeros((count, len(DISTANCES)))
    for name, value in far.items():
        distances[:, DISTANCES.index(name)] = value
    loud = np.arange(count) % 2
    has = np.stack([np.ones(count), loud, 1.0 - loud], axis=1)
    logs = rng.standard_normal(count) * sigma_log * (1.0 + loud)
    keys = np.repeat([f"group {index}" for index in range(GROUPS)], ROWS)
    return Errors(
        np.full(count, "tpot"),
        np.zeros(count, dtype=np.intp),
        logs,
        keys,
        has,
        distances,
        np.full(count, 1e6),
    )


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(7)
    by_way = {setup: errors(rng, 0.1, model=1.0) for setup in SETUPS}
    by_way[IN_FIT] = errors(rng, 0.08)
    # Twice, and at two doublings three times as wide: c = 3 and 8 / 4 over rows of models that are new.
    by_way["engine"] = errors(rng, 0.2, engine=1.0, model=1.0)
    by_way["batch"] = errors(rng, 0.3, batch=2.0, model=1.0)
    by_way["format"] = errors(rng, 0.08, format=1.0)
    return fitted_spread(SpreadErrors(Ground(MEASURED, KNOWN), FACTORS, by_way), "sample")


def test_factors_and_distances_are_found(model):
    loud, quiet = model.factors["tpot"]["engine"]["loud"], model.factors["tpot"]["engine"]["quiet"]
    assert loud / quiet == pytest.approx(2.0, rel=0.05)
    near = model.base["tpot"] * model.factors["tpot"]["architecture"]["hopper"]
    assert near * quiet == pytest.approx(0.08, rel=0.06)
    added = model.distances["tpot"]
    assert 1.0 + added["model"] == pytest.approx((0.1 / 0.08) ** 2, rel=0.12)
    assert 1.0 + added["model"] + added["engine"] == pytest.approx((0.2 / 0.08) ** 2, rel=0.12)
    assert 1.0 + added["model"] + 4.0 * added["batch"] == pytest.approx((0.3 / 0.08) ** 2, rel=0.12)


def test_no_distance_adds_less_than_its_floor(model):
    for name, floor in FLOORS.items():
        assert model.distances["tpot"][name] >= floor * (1 - 1e-9), name
    assert model.distances["tpot"]["format"] == pytest.approx(FLOORS["format"])


def test_an_unmeasured_architecture_has_at_least_twice_the_spread(model):
    added = model.distances["tpot"]
    measured = model.factors["tpot"]["architecture"]["hopper"] * np.sqrt(1.0 + added["model"])
    assert np.sqrt(1.0 + added["model"] + added["architecture"]) >= 2.0 * measured * (1 - 1e-3)


def test_the_quantile_is_that_of_the_rows():
    logs = np.random.default_rng(3).standard_normal(20_000)
    (found,) = quantile_terms(np.ones((logs.size, 1)), logs, np.ones(logs.size))
    assert found == pytest.approx(np.quantile(logs, 0.8), abs=0.02)


def test_of_what_is_quiet_only_the_share_counts_that_rows_earn():
    """Half of the rows are quiet by 0.6, of which they have earned 0.3: the factor is twice as far."""
    quiet = np.arange(20_000) % 2.0
    logs = np.random.default_rng(5).standard_normal(quiet.size) - 0.6 * quiet
    design = np.column_stack([np.ones(quiet.size), quiet])
    base, factor = quantile_terms(design, logs, np.ones(quiet.size), np.where(quiet > 0.0, 0.5, 1.0))
    found, _ = quantile_terms(design, logs, np.ones(quiet.size))
    # Where nothing is quiet the smooth bend adds its height.
    bend = 0.5 * SMOOTH * np.log1p(np.exp(factor / SMOOTH))
    assert base + 0.5 * factor + bend == pytest.approx(np.quantile(logs[quiet > 0], 0.8), abs=0.03)
    assert base == pytest.approx(found, abs=0.03)
