"""Terms of a step against public times of single operators: no fit to whole runs can hide a factor in one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from planner.calibration.fit_operators import fit_operators, fitted_half
from planner.calibration.operator_rows import operator_rows
from planner.calibration.operator_terms import predicted_s, rows_by_name
from planner.loaders.catalog import load_catalog
from planner.loaders.operator_tables import read_operator_table

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "facts" / "operators"
LIMITS = {
    "gemm": 0.12,
    "decode_attention": 0.10,
    "prefill_attention": 0.20,
    "mla_decode": 0.12,
    "mla_prefill": 0.20,
    "moe": 0.20,
    "collectives": 0.12,
    "expert_exchange": 0.12,
}
"""Operator -> median error over all architectures and formats."""
PRESENT = ("hopper-9", "blackwell-10")
"""Architectures of which no format may be worse than half again as much."""


@pytest.fixture(scope="module")
def catalog():
    return load_catalog()


@pytest.fixture(scope="module", params=sorted(LIMITS))
def errors(request, catalog):
    """Errors of the shapes that were not fitted, by architecture and format."""
    path = FOLDER / f"{request.param}.csv"
    if not path.is_file():
        pytest.skip(f"{path} is not there: measured operators are kept beside the repository")
    found = {}
    for (architecture, name), every in rows_by_name(read_operator_table(path), catalog).items():
        numbers = catalog.calibration.operators.get(architecture, {}).get(name)
        if numbers is not None:
            rows = every.chosen()
            rows = rows.take(~fitted_half(rows))
            found[architecture, name] = predicted_s(rows, numbers) / rows.measured_s - 1.0
    return request.param, found


def test_median_error_of_shapes_that_were_not_fitted(errors):
    operator, found = errors
    assert np.median(np.abs(np.concatenate(list(found.values())))) <= LIMITS[operator]


def test_no_format_of_present_accelerators_is_far_off(errors):
    operator, found = errors
    medians = {key: np.median(np.abs(one)) for key, one in found.items() if key[0] in PRESENT}
    assert medians
    assert not {key: one for key, one in medians.items() if one > 1.5 * LIMITS[operator]}


def test_no_operator_is_biased(errors):
    _, found = errors
    assert abs(np.median(np.concatenate(list(found.values())))) <= 0.03


def test_all_reduce_of_an_accelerator_is_known_from_others_of_its_architecture(catalog):
    path = FOLDER / "collectives.csv"
    if not path.is_file():
        pytest.skip(f"{path} is not there: measured operators are kept beside the repository")
    fitted = fit_operators((read_operator_table(path),), catalog)
    apart = {one.architecture: one.gpu_left_out for one in fitted.errors if one.gpu_left_out is not None}
    assert set(PRESENT) <= set(apart)
    assert max(apart.values()) <= 0.20
    numbers = {name: inner for name, inner in fitted.numbers.items() if inner}
    shipped = catalog.calibration.operators
    assert all(shipped[name].items() >= inner.items() for name, inner in numbers.items())


@pytest.mark.parametrize(("ranks", "limit"), [(4, 0.20), (8, 0.22), (32, 0.28)])
def test_experts_spread_over_ranks_wait_for_the_hottest(catalog, ranks, limit):
    """No number was fitted to these rows: of spread experts the load of the hottest rank alone is added."""
    path = FOLDER / "moe.csv"
    if not path.is_file():
        pytest.skip(f"{path} is not there: measured operators are kept beside the repository")
    errors = []
    for (architecture, name), rows in operator_rows(read_operator_table(path), catalog, spread=True).items():
        numbers = catalog.calibration.operators.get(architecture, {}).get(name)
        if numbers is not None:
            seen = rows.take(rows.sizes["expert_ep"] == ranks)
            errors.append(predicted_s(seen, numbers) / seen.measured_s - 1.0)
    found = np.concatenate(errors)
    assert found.size > 1000
    assert np.median(np.abs(found)) <= limit
    assert abs(np.median(found)) <= limit
