"""From configurations to columns: each catalog object is read once, whatever the number of configurations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.schema.configuration import Configuration
from planner.steptime.coefficients import coefficient_rows
from planner.steptime.rate_columns import calibration_columns, compute_columns, link_columns
from planner.steptime.specs import StepSpecs
from planner.steptime.stage_columns import attention_columns, memory_columns, shape_columns, weight_columns
from planner.steptime.table import Columns, ConfigurationTable


def build_specs(configurations: Sequence[Configuration]) -> StepSpecs:
    """Columns of a list of configurations, in its order.

    Raises:
        ValueError: the list is empty.
        InputError: the calibration lacks a parameter, or GPUs that must talk have no link.
    """
    if not configurations:
        raise ValueError("build_specs needs at least one configuration")
    table = ConfigurationTable(configurations)
    columns: Columns = {
        "tp": table.tp,
        "pp": table.pp,
        "ep": table.ep,
        "attention_dp": table.attention_dp,
        "stage_gpus": table.stage_gpus,
        "batched_tokens": table.batched_tokens,
        "node_gpus": table.node_gpus,
    }
    for group in (
        shape_columns,
        weight_columns,
        attention_columns,
        compute_columns,
        link_columns,
        calibration_columns,
        memory_columns,
    ):
        columns |= group(table)
    exponents = np.unique(columns["overlap_exponent"])
    return StepSpecs(
        **columns,
        coefficients=coefficient_rows(columns),
        shared_exponent=float(exponents[0]) if len(exponents) == 1 else None,
    )
