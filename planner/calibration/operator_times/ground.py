"""Rows of a table on the ground of the catalog: GPUs, formats and engines by name, numbers as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from planner.errors import nearest
from planner.physics import kernels
from planner.physics.arrays import FloatArray
from planner.schema.catalog import Accelerator, Calibration, Engine, NumberFormat
from planner.schema.catalog_index import Catalog
from planner.schema.operator_times import OperatorTable
from planner.steptime import rates

T = TypeVar("T")
MICRO = 1e6
"""Microseconds of one second."""
IN_BLOCKS = "fp8_block"
FORMATS = {
    IN_BLOCKS: "fp8",
    "fp4": "nvfp4",
    "int4_wo": "int4",
    "int8_wo": "w8a16",
    "w4a16_mxfp4": "mxfp4",
    "w4a8_mxfp4_mxfp8": "mxfp4",
    "w4afp8": "int4",
}
"""Names of the collector -> formats of the catalog; all others are ids or aliases there."""
ACTIVATIONS = {"w4a8_mxfp4_mxfp8": "fp8", "w4afp8": "fp8", "w4a16_mxfp4": "bf16"}
"""Rate at which a format is multiplied where it is not the format's own."""


class Unpredicted(Exception):  # noqa: N818 - not an error: a reason that the answer shows
    """A row without a prediction, and why."""


class Ground:
    """A table with everything that its rows name."""

    def __init__(self, table: OperatorTable, catalog: Catalog, calibration: Calibration) -> None:
        """Look every name up once."""
        self.table = table
        self.catalog = catalog
        self.calibration = calibration
        self.skipped = [""] * len(table)

    def number(self, name: str) -> FloatArray:
        """A column of sizes."""
        return np.array(self.table.numbers[name], dtype=np.float64)

    def by(self, names: Sequence[str], values: Callable[..., float], *sizes: FloatArray) -> FloatArray:
        """``values(accelerator, *words, *sizes)`` of every row, evaluated once for each distinct combination.

        Rows for which it gives a reason in place of a number are left out with that reason.
        """
        known: dict[tuple[object, ...], float | str] = {}
        columns = [self.table.words["gpu"], *(self.table.words[name] for name in names)]
        result = np.full(len(self.table), np.nan)
        for row, key in enumerate(zip(*columns, *(size.tolist() for size in sizes), strict=True)):
            if key not in known:
                known[key] = self._value(values, key)
            found = known[key]
            if isinstance(found, str):
                self.skipped[row] = self.skipped[row] or found
            else:
                result[row] = found
        return result

    def _value(self, values: Callable[..., float], key: tuple[object, ...]) -> float | str:
        try:
            return float(values(self.accelerator(str(key[0])), *key[1:]))
        except Unpredicted as reason:
            return str(reason)

    def leave_out(self, rows: np.ndarray[tuple[int], np.dtype[np.bool_]], reason: str) -> None:
        """Note why some rows have no prediction."""
        for row in np.flatnonzero(rows):
            self.skipped[row] = self.skipped[row] or reason

    # -- names --------------------------------------------------------------------------------------------

    def accelerator(self, name: str) -> Accelerator:
        """By the name of a GPU."""
        found = self.catalog.accelerator(name)
        return self._named(found, "GPU", name, "accelerators")

    def engine(self, name: str) -> Engine:
        """By the name of an engine."""
        return self._named(self.catalog.engine(name), "engine", name, "engines")

    def form(self, name: str) -> NumberFormat:
        """By the collector's name of a format."""
        return self._named(self.catalog.number_format(FORMATS.get(name, name)), "format", name, "formats")

    def _named(self, found: T | None, what: str, name: str, folder: str) -> T:
        if found is None:
            hint = nearest(name, self.catalog.names(folder))
            raise Unpredicted(f'{what} "{name}" is not in the catalog' + (f" (maybe {hint})" if hint else ""))
        return found

    # -- rates of the step --------------------------------------------------------------------------------

    def parameter(self, name: str) -> float:
        """A number of the calibration."""
        return rates.parameter(self.calibration, name)

    def memory_bytes_per_s(self, share: str | None = None) -> FloatArray:
        """Memory bandwidth, or what a share of the calibration leaves of it."""

        def rate(gpu: Accelerator) -> float:
            reached = 1.0
            if share is not None:
                factor = rates.architecture_factor(self.calibration, gpu, "memory_efficiency")
                reached = self.parameter(share) * factor
            return float(gpu.memory.bandwidth) * reached

        return self.by((), rate)

    def reachable_flops_per_s(self, column: str = "format") -> FloatArray:
        """What large matrix products in the format of a column reach."""

        def rate(gpu: Accelerator, name: str) -> float:
            form, peak = self.form(name), self.peak_flops_per_s(gpu, name)
            return peak * rates.reachable_fraction(self.calibration, gpu, form, name == IN_BLOCKS)

        return self.by((column,), rate)

    def peak_flops_per_s(self, gpu: Accelerator, name: str) -> float:
        """Dense peak at which a GPU multiplies the collector's format."""
        if name not in ACTIVATIONS:
            return rates.peak_flops_per_s(gpu, self.form(name))
        narrow = ACTIVATIONS[name]
        return rates.peak_flops_per_s(gpu, self.form(narrow))

    def bytes_per_value(self, column: str) -> FloatArray:
        """Bytes of a stored value in the format of a column, scales included."""
        return self.by((column,), lambda _, name: float(self.form(name).bits) / 8.0)

    def kernel_s(self) -> FloatArray:
        """Time that the step counts for one kernel that does nothing."""
        overhead_s = self.parameter("layer_overhead_s")
        return (
            overhead_s
            / kernels.REFERENCE
            * self.by((), lambda gpu: rates.architecture_factor(self.calibration, gpu, "launch"))
        )
