"""What the host takes for a prompt, against hand calculations."""

from __future__ import annotations

import dataclasses

import pytest

from planner.steptime.build import build_specs
from planner.steptime.prompt_start import LAUNCHES, launched_s, prompt_start_s, prompt_starts_s
from tests import step_samples as samples


def launched_by_host(ratio, token_s=0.0):
    """The sample with an engine that launches prompts without graphs."""
    item = samples.configuration()
    engines = {name: dict(table) for name, table in item.calibration.engines.items()}
    engines[item.engine.id][LAUNCHES] = samples.number(ratio)
    parameters = item.calibration.parameters | {"token_overhead_s": samples.number(token_s)}
    update = {"engines": engines, "parameters": parameters}
    return dataclasses.replace(item, calibration=item.calibration.model_copy(update=update))


def test_launches_of_all_layers_count():
    specs = build_specs([samples.configuration()])
    assert launched_s(specs)[0] == pytest.approx(4 * 1e-5)  # four layers, 10 us each


def test_launches_and_tokens_add():
    assert prompt_start_s(10.0, 2e-3, 1e-6, 5000.0) == pytest.approx(0.02 + 0.005)


def test_an_engine_without_the_number_launches_for_nothing():
    item = samples.configuration()
    assert prompt_starts_s([item], build_specs([item]), 1000.0)[0] == 0.0


def test_configurations_have_the_numbers_of_their_engines():
    items = [launched_by_host(10.0), launched_by_host(20.0, token_s=1e-6)]
    starts_s = prompt_starts_s(items, build_specs(items), 1000.0)
    assert starts_s == pytest.approx([10 * 4e-5, 20 * 4e-5 + 1e-3])
