"""What the calibration says of rows of measurement tables, engine by engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.physics.arrays import FloatArray
from planner.schema.catalog import Calibration
from planner.steptime.prompt_start import launch_ratios, token_overhead_s
from planner.steptime.rates import (
    engine_parameter_of,
    first_token_overhead_s,
    optional_parameter_of,
    parameter,
)


@dataclass(frozen=True, eq=False)
class RowConstants:
    """Numbers of the calibration that rows of an engine share."""

    ttft_overhead_s: FloatArray
    launch_ratio: FloatArray
    token_overhead_s: float
    absorbed_ratio: float
    tokens_per_step: float
    draft_work: float
    split_overhead_s: float
    split_prefill_factor: float
    first_wave: float
    ttft_factor: FloatArray
    clumping: FloatArray
    together: FloatArray
    rank_wait_steps: FloatArray

    @classmethod
    def of(cls, calibration: Calibration, engines: Sequence[str]) -> RowConstants:
        """Look every engine up once."""
        names = sorted(set(engines))
        place = np.array([names.index(name) for name in engines], dtype=np.intp)

        def column(key: str) -> FloatArray:
            return np.array([engine_parameter_of(calibration, name, key) for name in names])[place]

        return cls(
            ttft_overhead_s=np.array([first_token_overhead_s(calibration, name) for name in names])[place],
            launch_ratio=launch_ratios([calibration] * len(names), names)[place],
            token_overhead_s=token_overhead_s(calibration),
            absorbed_ratio=parameter(calibration, "absorbed_ratio"),
            tokens_per_step=parameter(calibration, "speculative_tokens_per_step"),
            draft_work=parameter(calibration, "speculative_draft_work"),
            split_overhead_s=parameter(calibration, "disaggregated_ttft_overhead_s"),
            split_prefill_factor=parameter(calibration, "disaggregated_prefill_factor"),
            first_wave=parameter(calibration, "disaggregated_first_wave"),
            ttft_factor=column("closed_loop_ttft_factor"),
            clumping=column("closed_loop_clumping"),
            together=column("closed_loop_together"),
            rank_wait_steps=np.array(
                [optional_parameter_of(calibration, name, "closed_loop_rank_wait_steps") for name in names]
            )[place],
        )
