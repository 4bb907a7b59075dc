"""The power of a board and the share of its peak that products reach."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from planner.loaders.catalog import load_catalog
from planner.steptime.board_power import board_ratio, watts_per_tflops
from planner.steptime.build import build_specs
from planner.steptime.step import total_step_s
from tests import step_samples as samples
from tests.unit.steptime.test_measured_operators import OPERATORS

MEASURED = {"least_watts_per_tflops": 2.0, "most_watts_per_tflops": 4.0}


def calibration(exponent=0.5, bounds=MEASURED):
    operators = {name: dict(table) for name, table in OPERATORS.items()}
    operators["hopper"]["gemm.bf16"] = operators["hopper"]["gemm.bf16"] | bounds
    operators["best-9"] = {"gemm.bf16": operators["hopper"]["gemm.bf16"] | {"compute_fraction": 0.9}}
    parameters = samples.ROUND.parameters | {"power_exponent": samples.number(exponent)}
    return samples.ROUND.model_copy(update={"operators": operators, "parameters": parameters})


def board(watts_per_tflop, **changes):
    tflops = float(samples.BOX.compute.bf16) / 1e12
    power = (
        None if watts_per_tflop is None else {"tdp": f"{watts_per_tflop * tflops:g} W", "source": "sample"}
    )
    return samples.BOX.__class__.model_validate(
        samples.BOX.model_dump(by_alias=True) | {"power": power} | changes
    )


@pytest.mark.parametrize(
    ("watts", "ratio"),
    [(2.0, 1.0), (3.0, 1.0), (4.0, 1.0), (1.0, math.sqrt(0.5)), (4.5, math.sqrt(1.125)), (40.0, 0.9 / 0.8)],
)
def test_clocks_follow_the_power_between_what_was_measured_and_the_best(watts, ratio):
    assert board_ratio(calibration(), board(watts)) == pytest.approx(ratio)


def test_nothing_is_said_of_what_is_not_known():
    assert board_ratio(calibration(), board(None)) == 1.0
    assert board_ratio(calibration(bounds={}), board(1.0)) == 1.0
    assert board_ratio(samples.ROUND, board(1.0)) == 1.0
    assert watts_per_tflops(board(1.0, id="box:1g")) is None


def test_prompts_take_longer_on_a_board_with_less_power_and_answers_do_not():
    engines = {name: dict(table) for name, table in samples.ROUND.engines.items()}
    item = samples.configuration()
    engines[item.engine.id]["launch_factor"] = samples.number(1.0)
    known = calibration().model_copy(update={"engines": engines})
    times = []
    for watts in (2.0, 0.5):
        one = dataclasses.replace(item, accelerator=board(watts), calibration=known)
        specs, row = build_specs([one]), np.array([0])
        prompt = total_step_s(specs, row, 0.0, 0.0, 8192.0, 4096.0, 1.0)[0]
        times.append((prompt, total_step_s(specs, row, 1.0, 500.0)[0]))
    (prompt_s, token_s), (slow_prompt_s, slow_token_s) = times
    assert slow_prompt_s > 1.7 * prompt_s
    assert slow_token_s == pytest.approx(token_s, rel=0.05)


@pytest.mark.parametrize(
    "gpu", ["h100-80gb-sxm", "h200-141gb-sxm", "l40s", "a100-80gb-sxm", "b200-sxm", "gb200-nvl72"]
)
def test_measured_boards_keep_their_shares(gpu):
    catalog = load_catalog()
    accelerator = catalog.accelerator(gpu)
    assert accelerator is not None
    assert board_ratio(catalog.calibration, accelerator) == 1.0


def test_cards_of_one_chip_differ_by_their_boards():
    catalog = load_catalog()
    ratios = {
        name: board_ratio(catalog.calibration, found)
        for name in ("h100-80gb-pcie", "rtx-4090", "l4")
        if (found := catalog.accelerator(name)) is not None
    }
    assert ratios["l4"] < 1.0 < ratios["rtx-4090"]
    assert 0.6 < ratios["h100-80gb-pcie"] < 0.9
