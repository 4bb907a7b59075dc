"""From configurations to columns: each catalog object is read once, whatever the number of configurations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from planner.schema.catalog import Calibration
from planner.schema.configuration import Configuration
from planner.steptime.coefficients import OVERLAP_EXPONENTS, coefficient_rows
from planner.steptime.collective_columns import collective_columns
from planner.steptime.operator_columns import operator_columns
from planner.steptime.option_columns import adapter_columns, draft_columns, expert_columns
from planner.steptime.rate_columns import calibration_columns, compute_columns, link_columns
from planner.steptime.remembered import Remembered
from planner.steptime.specs import StepSpecs
from planner.steptime.stage_columns import attention_columns, memory_columns, shape_columns, weight_columns
from planner.steptime.table import Columns, ConfigurationTable


class PreparedSpecs:
    """Configurations as columns, those of the calibration still open: for fits, which change it often."""

    def __init__(self, configurations: Sequence[Configuration]) -> None:
        """Read everything that does not depend on the calibration.

        Raises:
            ValueError: the list is empty.
        """
        if not configurations:
            raise ValueError("build_specs needs at least one configuration")
        self._table = table = ConfigurationTable(configurations)
        self._columns: Columns = {
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
            memory_columns,
            expert_columns,
            adapter_columns,
        ):
            self._columns |= group(table)
        self._add_drafts(draft_columns(configurations))

    def _add_drafts(self, drafts: Columns) -> None:
        """What writes the drafts keeps weights and a cache beside those of the model."""
        columns = self._columns
        columns["decode_tokens"] = drafts["decode_tokens"]
        columns["weight_bytes"] = columns["weight_bytes"] + drafts["draft_weight_bytes"]
        columns["kv_full_bytes_per_token"] = columns["kv_full_bytes_per_token"] + drafts["draft_kv_bytes"]
        columns["kept_state_bytes"] = columns["state_bytes_per_sequence"] + drafts["draft_state_bytes"]

    def specs(self, calibration: Calibration | None = None, overrides: Columns | None = None) -> StepSpecs:
        """The columns under a calibration, or under the one of each configuration.

        ``overrides`` replace columns of the calibration.

        Raises:
            InputError: the calibration lacks a parameter, or GPUs that must talk have no link.
        """
        table = self._table if calibration is None else self._table.recalibrated(calibration)
        columns = dict(self._columns)
        for group in (compute_columns, link_columns, calibration_columns):
            columns |= group(table)
        columns |= collective_columns(table, columns)
        columns |= operator_columns(table, columns)
        columns |= overrides or {}
        exponents = np.unique([columns[name] for name in OVERLAP_EXPONENTS])
        return StepSpecs(
            **columns,
            coefficients=coefficient_rows(columns),
            shared_exponent=float(exponents[0]) if len(exponents) == 1 else None,
            has_launches=bool(np.any((columns["decode_start_s"] > 0.0) | (columns["tp_second_s"] > 0.0))),
            has_adapters=bool(np.any(columns["adapters"] > 0.0)),
            has_experts=bool(np.any(columns["experts"] > 0.0)),
            spreads_experts=bool(np.any(columns["ep"] > 1.0)),
        )


_SINGLE: Remembered[StepSpecs] = Remembered(64)


def build_specs(configurations: Sequence[Configuration]) -> StepSpecs:
    """Columns of a list of configurations, in its order; nobody writes to them.

    Raises:
        ValueError: the list is empty.
        InputError: the calibration lacks a parameter, or GPUs that must talk have no link.
    """
    if len(configurations) != 1:
        return PreparedSpecs(configurations).specs()
    # One configuration is asked about again and again, at other lengths and other loads.
    parts = (getattr(configurations[0], field.name) for field in fields(Configuration))
    return _SINGLE.of(parts, lambda: PreparedSpecs(configurations).specs())
