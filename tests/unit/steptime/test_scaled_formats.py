"""FP8 checkpoints with a scale a block: slower products, and launches that scale activations."""

from __future__ import annotations

import dataclasses

import pytest

from planner.steptime.build import build_specs
from tests import step_samples as samples

BLOCK = dataclasses.replace(samples.DENSE, fp8_block_scales=True)
SHARES = {
    "bf16": samples.number(0.5),
    "fp8": samples.number(0.8),
    "fp8-block": samples.number(0.4),
    "default": samples.number(0.4),
}


def specs(model=samples.DENSE, fused=True, shares=SHARES, **changes):
    engine = samples.MOTOR
    engine = engine.model_copy(
        update={"supports": engine.supports.model_copy(update={"fused_scaling": fused})}
    )
    calibration = samples.ROUND.model_copy(update={"compute_efficiency": {"hopper": shares}})
    fields = {"weights": samples.FP8, "attention_weights": samples.FP8} | changes
    return build_specs([samples.configuration(model=model, engine=engine, calibration=calibration, **fields)])


def launches(**changes) -> float:
    """Overhead of a layer in units of a dense layer's 11 kernels of 10 us."""
    return float(specs(**changes).layer_overhead_s[0] / 1e-5 * 11)


def test_products_with_a_scale_a_block_have_their_own_share_of_the_peak():
    assert specs().mlp_flops_per_s[0] == pytest.approx(0.8 * 200e12)
    assert specs(BLOCK).mlp_flops_per_s[0] == pytest.approx(0.4 * 200e12)
    plain = {"weights": samples.BF16, "attention_weights": samples.BF16}
    assert specs(BLOCK, **plain).mlp_flops_per_s[0] == pytest.approx(0.5 * 100e12)


def test_without_a_share_for_blocks_that_of_the_format_holds():
    shares = {name: share for name, share in SHARES.items() if name != "fp8-block"}
    assert specs(BLOCK, shares=shares).mlp_flops_per_s[0] == pytest.approx(0.8 * 200e12)


@pytest.mark.parametrize(
    ("model", "fused", "kernels"),
    [(samples.DENSE, True, 11), (samples.DENSE, False, 15), (BLOCK, True, 15), (BLOCK, False, 15)],
)
def test_only_scales_known_beforehand_can_be_fused(model, fused, kernels):
    assert launches(model=model, fused=fused) == pytest.approx(kernels)


def test_a_16_bit_mixer_is_not_scaled():
    assert launches(fused=False, attention_weights=samples.BF16) == pytest.approx(13)
    assert launches(fused=False, weights=samples.BF16, attention_weights=samples.BF16) == pytest.approx(11)


def test_weights_alone_in_8_bit_leave_activations_as_they_are():
    old = samples.accelerator(
        compute=samples.BOX.compute.model_copy(update={"native": ()}),
    )
    assert launches(model=BLOCK, fused=False, accelerator=old) == pytest.approx(11)
