"""How far predictions may be off: distances from measured ground, their spread, and what it does to steps."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from planner.performance.distance import Ground, LoadPoint
from planner.performance.outside import outside_measured
from planner.performance.spread import class_sigma_log, known_sigma_log
from planner.performance.user_factors import row_factors
from planner.schema.catalog import UserFactor
from planner.schema.spread import Measured, MeasuredGpu, MeasuredSetup, SpreadModel
from tests import step_samples as samples
from tests.unit.performance.test_user_factors import sigma

WAY = MeasuredSetup(
    gpu="box",
    engine="motor",
    weights="bf16",
    kv="bf16",
    tp=4,
    pp=1,
    attention_dp=1,
    ep=1,
    rows=9,
    batch=64.0,
    context=4000.0,
    models=("tiny",),
)
SETUPS = (WAY, WAY.model_copy(update={"ep": 8, "batch": 128.0, "rows": 3}))
GPU = MeasuredGpu(architecture="hopper", bandwidth_bytes_per_s=1e12, flops_per_s=1e14)
MEASURED = Measured(gpus={"box": GPU}, setups=SETUPS, source="sample")
KNOWN = {"hopper": ("small",)}
ADDED = {
    "model": 0.5, "family": 1.0, "architecture": 3.0, "gpu": 0.25, "hardware": 1.0, "engine": 0.5,
    "format": 0.5, "layout": 0.5, "degree": 1.0, "batch": 0.2, "context": 0.1, "disaggregated": 1.0,
}  # fmt: skip
SPREAD = SpreadModel(
    base={"throughput": 0.1, "tpot": 0.1, "ttft": 0.3},
    factors={"tpot": {"engine": {"motor": 2.0}}, "throughput": {}, "ttft": {}},
    distances=dict.fromkeys(("throughput", "tpot", "ttft"), ADDED),
    source="sample",
)
SMALL = replace(samples.DENSE, family="small")
GROUND = Ground(MEASURED, KNOWN)
OTHER_ENGINE = samples.MOTOR.model_copy(update={"id": "other"})


def configuration(**changes):
    sigmas = {f"{number}_new": sigma(0.2) for number in ("throughput", "tpot", "ttft")}
    calibration = samples.ROUND.model_copy(
        update={"measured": MEASURED, "known": KNOWN, "spread": SPREAD, "sigma_log": sigmas}
    )
    return samples.configuration(**({"model": SMALL, "calibration": calibration} | changes))


def gpu(**changes):
    return samples.accelerator(**changes)


def faster(terabytes_per_s):
    memory = samples.BOX.memory.model_copy(update={"bandwidth": terabytes_per_s * 10**12})
    return gpu(id="fast", memory=memory)


@pytest.mark.parametrize(
    ("changes", "load", "far"),
    [
        ({}, LoadPoint(64.0, 4000.0), {}),
        ({"tp": 4}, LoadPoint(), {}),
        ({"model": replace(SMALL, id="other")}, LoadPoint(), {"model": 1.0}),
        ({"model": replace(SMALL, id="other", family="new")}, LoadPoint(), {"model": 1.0, "family": 1.0}),
        ({"accelerator": gpu(id="twin")}, LoadPoint(), {"model": 1.0, "gpu": 1.0}),
        ({"accelerator": gpu(id="box:1g")}, LoadPoint(), {"gpu": 1.0}),
        ({"accelerator": faster(8)}, LoadPoint(), {"model": 1.0, "gpu": 1.0, "hardware": 3.0}),
        ({"accelerator": gpu(architecture="new")}, LoadPoint(), {"architecture": 1.0}),
        ({"engine": OTHER_ENGINE}, LoadPoint(), {"engine": 1.0}),
        ({"weights": samples.FP8}, LoadPoint(), {"format": 1.0}),
        ({"weights": samples.FP8, "kv": samples.FP8}, LoadPoint(), {"format": math.sqrt(2.0)}),
        ({"pp": 2}, LoadPoint(), {"layout": 1.0}),
        ({"ep": 32, "tp": 4}, LoadPoint(), {"degree": 2.0}),
        ({}, LoadPoint(512.0), {"batch": 3.0}),
        ({"ep": 8, "tp": 4}, LoadPoint(512.0), {"batch": 2.0}),
        ({}, LoadPoint(context=16_000.0), {"context": 2.0}),
        ({}, LoadPoint(disaggregated=True), {"disaggregated": 1.0}),
    ],
)
def test_distances_by_hand(changes, load, far):
    item = configuration(**changes)
    assert GROUND.distances(item, load) == pytest.approx(far)
    wider = math.sqrt(1.0 + sum(ADDED[name] * x * x for name, x in far.items()))
    engine = 2.0 if item.engine.id == "motor" else 1.0
    found = class_sigma_log(item, load)
    assert found["tpot"] == pytest.approx(0.1 * engine * wider)
    # What one knows of the steps of an engine holds for its throughput.
    assert found["throughput"] == pytest.approx(0.1 * engine * wider)
    assert found["ttft"] == pytest.approx(0.3 * wider)
    assert known_sigma_log(item)["ttft"] == pytest.approx(0.3)
    # What is no news (the model on a GPU that was measured with others of its family) is not said.
    assert bool(outside_measured(item, load)) == bool(set(far) - {"model"})


def test_disaggregated_is_a_property_and_far_only_where_it_was_not_measured():
    """The mode has a factor; an engine with disaggregated rows on the architecture has no distance."""
    factors = {"tpot": {"mode": {"disaggregated": 3.0}}, "throughput": {}, "ttft": {}}
    disaggregated = WAY.model_copy(update={"disaggregated": True, "models": ("other",)})
    changes = {
        "spread": SPREAD.model_copy(update={"factors": factors}),
        "measured": Measured(gpus={"box": GPU}, setups=(*SETUPS, disaggregated), source="sample"),
    }
    item = configuration()
    item = replace(item, calibration=item.calibration.model_copy(update=changes))
    load = LoadPoint(disaggregated=True)
    assert outside_measured(item, load) == ()
    assert class_sigma_log(item, load) == pytest.approx({"throughput": 0.3, "tpot": 0.3, "ttft": 0.3})
    assert class_sigma_log(item) == pytest.approx({"throughput": 0.1, "tpot": 0.1, "ttft": 0.3})
    other = replace(item, engine=OTHER_ENGINE)
    assert class_sigma_log(other, load)["tpot"] == pytest.approx(0.3 * math.sqrt(1.0 + 0.5 + 1.0))
    words = "disaggregated on other: no such run was measured on hopper"
    assert outside_measured(other, load)[-1] == words


def test_what_is_quiet_must_be_earned_together():
    """12 rows of the engine and format on the architecture: f^(12 / 22); elsewhere nothing of it counts."""
    quiet = SPREAD.model_copy(update={"factors": {"tpot": {"engine": {"motor": 0.25}}}})
    item = configuration()
    item = replace(item, calibration=item.calibration.model_copy(update={"spread": quiet}))
    assert class_sigma_log(item)["tpot"] == pytest.approx(0.1 * 0.25 ** (12 / 22))
    other = replace(item, weights=samples.FP8)
    assert class_sigma_log(other)["tpot"] == pytest.approx(0.1 * math.sqrt(1.5))


def test_words_name_what_was_measured():
    item = configuration(ep=8, tp=4)
    assert outside_measured(item, LoadPoint(1200.0)) == (
        "batch 1,200 on box with TP 4 × EP 8: largest measured 128",
    )
    (text,) = outside_measured(configuration(accelerator=faster(40)))
    assert text == (
        "fast with 40.0 TB/s and 100 TFLOP/s: not measured (hopper: box 1.00 TB/s and 100 TFLOP/s)"
    )
    (text,) = outside_measured(configuration(engine=OTHER_ENGINE))
    assert text == "engine other: not measured on hopper (motor)"


def test_the_users_own_benchmarks_count_as_measured():
    own = UserFactor(
        model="tiny", accelerator="box", engine="motor", step_factor=1.0, sigma_log=0.05,
        ttft_sigma_log=0.1, rows=3, source="sample",
    )  # fmt: skip
    item = configuration()
    item = replace(item, calibration=item.calibration.model_copy(update={"user_factors": (own,)}))
    assert outside_measured(item, LoadPoint(4096.0, 1e6)) == ()
    factors = row_factors([item], 1.0)
    assert factors.beyond is None


def test_steps_beyond_the_largest_batch_are_planned_wider_and_never_jump():
    z = 0.84
    batches = np.concatenate([np.linspace(1.0, 64.0, 50), np.linspace(64.0, 2048.0, 4000)])
    beyond = row_factors([configuration()], z).beyond
    assert beyond is not None
    found = np.broadcast_to(beyond.factor(np.zeros(batches.size, dtype=np.intp), batches), batches.shape)
    assert np.all(found[:50] == 1.0)
    assert np.all(np.diff(found[50:]) > 0.0)
    assert np.diff(found).max() < 1e-3
    # At 512 three doublings: sigma 0.2 becomes sqrt(0.2^2 + 0.2^2 0.2 3^2).
    wider = math.sqrt(0.04 + 0.04 * 0.2 * 9.0)
    at = beyond.factor(np.zeros(1, dtype=np.intp), np.array([512.0]))
    assert at[0] == pytest.approx(math.exp(z * (wider - 0.2)))
    assert class_sigma_log(configuration(), LoadPoint(512.0))["tpot"] == pytest.approx(wider)


def test_estimates_keep_the_median():
    assert row_factors([configuration()], 0.0).beyond is None


def test_a_calibration_without_a_table_has_the_spread_of_all():
    item = samples.configuration(
        calibration=samples.ROUND.model_copy(
            update={"sigma_log": {f"{n}_new": sigma(0.25) for n in ("throughput", "tpot", "ttft")}}
        )
    )
    assert class_sigma_log(item, LoadPoint(4096.0)) == {"throughput": 0.25, "tpot": 0.25, "ttft": 0.25}
    assert outside_measured(item, LoadPoint(4096.0)) == ()
