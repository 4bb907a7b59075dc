"""Factors of an architecture and the host's dispatch time, in both paths of the step model."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from planner.steptime.build import build_specs
from planner.steptime.calibration_paths import parameters_of, with_values
from planner.steptime.step import step_time_s, total_step_s
from tests import step_samples as samples

ZERO = np.array([0])


def changed(**updates):
    item = samples.configuration()
    return build_specs([dataclasses.replace(item, calibration=item.calibration.model_copy(update=updates))])


def test_launch_factor_multiplies_the_overhead_of_layers():
    slow = changed(architectures={"hopper": {"launch": samples.number(3.0)}})
    plain = build_specs([samples.configuration()])
    added = step_time_s(slow, ZERO, 4.0, 100.0).fixed_s - step_time_s(plain, ZERO, 4.0, 100.0).fixed_s
    assert added[0] == pytest.approx(4 * 2 * 1e-5)  # four layers, 10 us each, twice more


def test_factors_of_other_architectures_do_not_matter():
    other = changed(architectures={"cdna3": {"launch": samples.number(3.0)}})
    plain = build_specs([samples.configuration()])
    assert total_step_s(other, ZERO, 4.0, 100.0)[0] == total_step_s(plain, ZERO, 4.0, 100.0)[0]


def test_a_slower_host_takes_longer_for_each_step_and_sequence():
    slow = changed(architectures={"hopper": {"host": samples.number(3.0)}})
    plain = build_specs([samples.configuration()])
    added = step_time_s(slow, ZERO, 4.0, 100.0).fixed_s - step_time_s(plain, ZERO, 4.0, 100.0).fixed_s
    assert added[0] == pytest.approx(2 * (1e-3 + 4 * 1e-6))  # twice more of a step and of four sequences


def test_a_step_cannot_be_faster_than_the_host_dispatches_it():
    item = samples.configuration()
    engines = {name: dict(table) for name, table in item.calibration.engines.items()}
    engines[item.engine.id]["layer_dispatch_s"] = samples.number(0.5)
    specs = changed(engines=engines)
    assert total_step_s(specs, ZERO, 4.0, 100.0)[0] == pytest.approx(4 * 0.5)
    parts = step_time_s(specs, ZERO, 4.0, 100.0)
    assert parts.total_s[0] == pytest.approx(4 * 0.5)
    assert parts.bound[0] == "overhead"


def test_values_are_changed_by_path_and_ties_follow():
    calibration = samples.configuration().calibration
    engine = next(iter(calibration.engines))
    tied = samples.number(1.0).model_copy(update={"tied_to": "parameters.kv_efficiency"})
    calibration = calibration.model_copy(update={"parameters": calibration.parameters | {"twin": tied}})
    path = f"engines.{engine}.step_overhead_s"
    found = dict(parameters_of(with_values(calibration, {"parameters.kv_efficiency": 0.25, path: 0.125})))
    assert found["parameters.kv_efficiency"].value == found["parameters.twin"].value == 0.25
    assert found[path].value == 0.125
    assert calibration.engines[engine]["step_overhead_s"].value != 0.125
