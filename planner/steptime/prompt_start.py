"""What the host takes for a prompt before it is computed: text to tokens, and launches without graphs.

Decode steps replay captured graphs, so their launches cost what the device takes for each. Prompts are of any
length: the host launches every kernel of every layer one by one, which takes it several times as long.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.physics.arrays import FloatArray, Floats
from planner.schema.catalog import Calibration
from planner.schema.configuration import Configuration
from planner.steptime.rates import optional_parameter_of
from planner.steptime.specs import StepSpecs

LAUNCHES = "ttft_overhead_launches"
"""Number of an engine: host time of a prompt, over what the launches of a step take on the device."""


def launched_s(specs: StepSpecs) -> FloatArray:
    """Seconds that the launches of one step take on the device: all layers of all stages.

    Equation: ``s (L t_layer + L_moe t_moe)`` with the launches of a layer's kernels, without attention's.
    """
    dense_s = specs.stage_layers * specs.layer_overhead_s
    return np.asarray(specs.pp * (dense_s + specs.stage_moe_layers * specs.moe_layer_overhead_s))


def launch_ratios(calibrations: Sequence[Calibration], engines: Sequence[str]) -> FloatArray:
    """`LAUNCHES` of each engine under its calibration; 0 where it has none."""
    pairs = zip(calibrations, engines, strict=True)
    return np.array([optional_parameter_of(calibration, engine, LAUNCHES) for calibration, engine in pairs])


def token_overhead_s(calibration: Calibration) -> float:
    """Text to tokens, one prompt token; 0 where the calibration does not say."""
    found = calibration.parameters.get("token_overhead_s")
    return 0.0 if found is None else found.value


def prompt_start_s(ratio: Floats, launches_s: Floats, token_s: Floats, prompt_tokens: Floats) -> FloatArray:
    """Seconds before a prompt: ``n_e l + tau ISL``.

    Args:
        ratio: n_e. launches_s: l, as in `launched_s`. token_s: tau, text to tokens of one prompt token.
        prompt_tokens: ISL.

    Source: fitted to closed loops (docs/accuracy.md): models of more layers and kernels answer later at
    prompts of the same computing time, whatever the tensor-parallel degree.
    """
    return np.asarray(np.asarray(ratio) * launches_s + np.asarray(token_s) * prompt_tokens)


def prompt_starts_s(
    configurations: Sequence[Configuration], specs: StepSpecs, prompt_tokens: Floats
) -> FloatArray:
    """The same of configurations, one entry each."""
    calibrations = [item.calibration for item in configurations]
    ratio = launch_ratios(calibrations, [item.engine.id for item in configurations])
    token_s = np.array([token_overhead_s(calibration) for calibration in calibrations])
    return prompt_start_s(ratio, launched_s(specs), token_s, prompt_tokens)
