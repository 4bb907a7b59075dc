"""Measured operators in the step: both paths, launches by what a step holds, what keeps the old numbers."""

from __future__ import annotations

import dataclasses
from decimal import Decimal

import numpy as np
import pytest

from planner.physics import operator_times
from planner.schema.catalog import Calibration
from planner.steptime.build import build_specs
from planner.steptime.step import step_time_s, total_step_s
from tests import step_samples as samples

ZERO = np.array([0])
SHARES = {"compute_fraction": 0.8, "memory_fraction": 0.9, "overlap_exponent": 2.0}
SPLIT = {"context_start_us": 1.0, "sequence_us": 0.1}
OPERATORS = {
    "hopper": {
        "kernel.small": {"start_us": 2.0},
        "gemm.bf16": {"start_us": 4.0, **SHARES},
        "decode_attention.bf16": {"start_us": 10.0, "start_us/other": 99.0, **SHARES, **SPLIT},
        "prefill_attention.bf16": {
            "start_us": 12.0,
            "compute_fraction": 0.5,
            "memory_fraction": 0.5,
            "half_context_tokens": 128.0,
        },
        "moe.bf16": {"start_us": 20.0, **SHARES, "routing_share": 0.8, "row_passes": 4.0},
    }
}


def measured(model=samples.DENSE, factor=1.0, operators=OPERATORS, **changes):
    """The sample configuration under a calibration with operators, launches of its engine counted."""
    item = samples.configuration(model=model, **changes)
    engines = {name: dict(table) for name, table in item.calibration.engines.items()}
    engines[item.engine.id]["launch_factor"] = samples.number(factor)
    calibration = item.calibration.model_copy(update={"engines": engines, "operators": operators})
    return build_specs([dataclasses.replace(item, calibration=calibration)])


@pytest.mark.parametrize(
    "load", [(4.0, 1000.0, 0.0, 0.0, 0.0), (0.0, 0.0, 512.0, 256.0, 1.0), (64.0, 5e3, 9.0, 9.0, 1.0)]
)
@pytest.mark.parametrize("model", [samples.DENSE, samples.MOE])
def test_both_paths_agree(model, load):
    specs = measured(model)
    assert total_step_s(specs, ZERO, *load)[0] == pytest.approx(step_time_s(specs, ZERO, *load).total_s[0])


def test_launches_depend_on_what_a_step_holds():
    specs, layers = measured(), samples.DENSE.layers
    fixed = lambda *load: step_time_s(specs, ZERO, *load).fixed_s[0]  # noqa: E731
    decode, prefill, both = fixed(1.0, 256.0), fixed(0.0, 0.0, 8.0, 4.0), fixed(1.0, 256.0, 8.0, 4.0)
    assert both - prefill == pytest.approx(layers * (10.0 + 0.1) * 1e-6 + 1e-6)
    assert both - decode == pytest.approx(layers * 12.0 * 1e-6)
    assert fixed(1.0, 1024.0) - decode == pytest.approx(layers * 2 * 1e-6)  # two doublings


def test_formats_run_on_the_kernels_that_they_name():
    int4 = samples.BF16.model_copy(update={"id": "int4", "bits": Decimal(4)})
    awq = int4.model_copy(update={"id": "awq", "kernels": "int4"})
    routed = {**OPERATORS["hopper"]["moe.bf16"], "start_us": 50.0}
    tables = {"hopper": OPERATORS["hopper"] | {"moe.int4": routed}}
    plain, int4_s, awq_s = (
        step_time_s(measured(samples.MOE, operators=tables, weights=form), ZERO, 4.0, 256.0).fixed_s[0]
        for form in (samples.BF16, int4, awq)
    )
    assert int4_s == awq_s
    assert awq_s - plain == pytest.approx(samples.MOE.moe_layers * (50.0 - 20.0) * 1e-6)


def test_windows_end_the_growth_of_launches():
    specs = measured(samples.WINDOWED)  # three of four layers
    shorter, longer = (step_time_s(specs, ZERO, 1.0, c).fixed_s[0] for c in (512.0, 1024.0))
    assert longer - shorter == pytest.approx(1 * 1.0 * 1e-6)


def test_the_factor_of_an_engine_multiplies_every_launch():
    one, two = (step_time_s(measured(factor=f), ZERO, 2.0, 256.0).fixed_s[0] for f in (1.0, 2.0))
    # Four products, three small kernels of the mixer, two of the feed-forward part, attention.
    layer_us = 4 * 4.0 + (3 + 2) * 2.0 + 10.0 + 2 * 0.1
    assert two - one == pytest.approx(samples.DENSE.layers * layer_us * 1e-6)


def test_a_step_holds_the_times_of_its_operators():
    specs = measured()
    box, model = samples.BOX, samples.DENSE
    context, sequences = 4096.0, 32.0
    alone_s = operator_times.decode_attention_s(
        sequences,
        context,
        float(model.decode_attention_flops_per_context_token),
        2.0 * model.kv_elements_per_token_layer,
        0.8 * float(box.compute.bf16),
        0.9 * float(box.memory.bandwidth),
        2.0,
        10e-6,
        1e-6,
        0.1e-6,
    )
    parts = step_time_s(specs, ZERO, sequences, context)
    launch_s = (10.0 + 4 * 1.0 + 0.1 * sequences) * 1e-6
    assert parts.decode_attention_s[0] == pytest.approx(model.layers * (alone_s - launch_s))


def test_engines_without_counted_launches_keep_the_numbers_of_all():
    item = samples.configuration()
    with_tables = item.calibration.model_copy(update={"operators": OPERATORS})
    plain, same = (
        build_specs([dataclasses.replace(item, calibration=c)]) for c in (item.calibration, with_tables)
    )
    assert total_step_s(plain, ZERO, 4.0, 100.0)[0] == total_step_s(same, ZERO, 4.0, 100.0)[0]


def test_other_architectures_keep_the_numbers_of_all():
    other = measured(operators={"ampere": OPERATORS["hopper"]})
    plain = build_specs([samples.configuration()])
    assert total_step_s(other, ZERO, 4.0, 100.0)[0] == total_step_s(plain, ZERO, 4.0, 100.0)[0]


@pytest.mark.parametrize(("name", "value"), [("start_us", -1.0), ("memory_fraction", 2.0), ("statr_us", 4.0)])
def test_numbers_of_operators_have_bounds(name, value):
    fields = samples.ROUND.model_dump() | {"operators": {"hopper": {"gemm.bf16": {name: value}}}}
    with pytest.raises(ValueError, match="outside its bounds"):
        Calibration.model_validate(fields)


def test_int8_runs_like_fp8_where_that_alone_was_measured():
    """As many bits and the same kernels: what nobody measured must not look faster than what somebody did."""
    narrow = OPERATORS["hopper"]["gemm.bf16"] | {"start_us": 9.0, "scaling_passes": 1.0}
    routed = OPERATORS["hopper"]["moe.bf16"] | {"start_us": 30.0}
    tables = {"hopper": OPERATORS["hopper"] | {"gemm.fp8": narrow, "moe.fp8": routed}}
    int8 = samples.FP8.model_copy(update={"id": "int8", "rate": "int8"})
    plain = samples.accelerator()
    rates = plain.compute.model_copy(update={"int8": plain.compute.fp8, "native": ("fp8", "int8")})
    both = plain.model_copy(update={"compute": rates})
    for model in (samples.DENSE, samples.MOE):
        found = [
            step_time_s(
                measured(model, operators=tables, weights=form, accelerator=both),
                ZERO,
                4.0,
                256.0,
                64.0,
                32.0,
                1.0,
            )
            for form in (samples.FP8, int8)
        ]
        assert found[0].fixed_s[0] == pytest.approx(found[1].fixed_s[0])
        assert found[0].total_s[0] == pytest.approx(found[1].total_s[0])
