"""Rows of operator tables as arrays, by architecture and format, with the rates of their accelerators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from planner.calibration.hot_ranks import hot_ratios
from planner.physics.arrays import FloatArray, IntArray
from planner.physics.operators import BYTES_PER_ACTIVATION
from planner.schema.catalog import Accelerator, NumberFormat
from planner.schema.catalog_index import Catalog
from planner.schema.operator_times import OperatorKind, OperatorTable
from planner.steptime.operators import UNPACKED, architecture_names
from planner.steptime.rates import multiplies_narrow, peak_flops_per_s

MICRO = 1e-6
FORMATS = {
    "bfloat16": "bf16",
    "fp8": "fp8",
    "fp8_block": "fp8-block",
    "nvfp4": "nvfp4",
    "int4_wo": "int4",
    "int8_wo": "w8a16",
    "w4a16_mxfp4": "mxfp4",
    "w4a8_mxfp4_mxfp8": "mxfp4-fp8",
}
"""Words of the tables -> formats of the calibration."""
FORMAT_COLUMN: Mapping[OperatorKind, str] = {
    "gemm": "format",
    "decode_attention": "kv_format",
    "prefill_attention": "attention_format",
    "mla_decode": "kv_format",
    "mla_prefill": "kv_format",
    "moe": "format",
}
"""Operators that have terms here, and the format that tells their kernels apart."""
PRODUCTS = ("gemm", "moe")
EVEN = "balanced"
"""Routing of MoE tables that touches as many experts as it can."""
CHOSEN_RATIO = 2.0
"""No engine chooses a kernel that takes so many times as long as the best on the same shape."""


@dataclass(frozen=True, eq=False)
class OperatorRows:
    """Rows of one operator, architecture and format."""

    kind: OperatorKind
    sizes: Mapping[str, FloatArray]
    engine: np.ndarray[tuple[int], np.dtype[np.str_]]
    gpu: np.ndarray[tuple[int], np.dtype[np.str_]]
    shape: IntArray
    """Rows of one number have the same sizes."""
    flops_per_s: FloatArray
    """Peak."""
    bytes_per_s: FloatArray
    value_bytes: float
    """Of a weight, or of a cached value."""
    activation_bytes: float
    expert_multiple: float
    """Experts are padded to it."""
    measured_s: FloatArray
    place: IntArray
    """Row in the table."""

    def __len__(self) -> int:
        """Rows."""
        return int(self.measured_s.size)

    def take(self, rows: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> OperatorRows:
        """Some of them."""
        return OperatorRows(
            self.kind,
            {name: values[rows] for name, values in self.sizes.items()},
            self.engine[rows],
            self.gpu[rows],
            self.shape[rows],
            self.flops_per_s[rows],
            self.bytes_per_s[rows],
            self.value_bytes,
            self.activation_bytes,
            self.expert_multiple,
            self.measured_s[rows],
            self.place[rows],
        )

    def chosen(self) -> OperatorRows:
        """The best kernel of each engine for a shape, without those that no engine would choose."""
        best: dict[tuple[object, ...], float] = {}
        own: dict[tuple[object, ...], int] = {}
        for row, (gpu, engine, shape, time_s) in enumerate(
            zip(
                self.gpu.tolist(),
                self.engine.tolist(),
                self.shape.tolist(),
                self.measured_s.tolist(),
                strict=True,
            )
        ):
            best[gpu, shape] = min(best.get((gpu, shape), np.inf), time_s)
            before = own.get((gpu, engine, shape))
            if before is None or time_s < self.measured_s[before]:
                own[gpu, engine, shape] = row
        keep = np.zeros(len(self), dtype=bool)
        for (where, _, size), row in own.items():
            keep[row] = self.measured_s[row] <= CHOSEN_RATIO * best[where, size]
        return self.take(keep)


def operator_rows(
    table: OperatorTable, catalog: Catalog, spread: bool = False
) -> dict[tuple[str, str], OperatorRows]:
    """Rows by architecture (see `architecture_names`) and ``operator.format``, of formats with terms.

    One rank alone, from which kernels are fitted: what spreading experts over ranks adds is no matter of the
    kernel. With ``spread`` the others, their hottest rank's tokens over the mean as ``hot_ratio``.
    """
    word = FORMAT_COLUMN.get(table.kind)
    if word is None:
        return {}
    words = {name: np.array(values) for name, values in table.words.items()}
    alone = np.array(table.numbers.get("expert_ep", (1.0,) * len(table))) == 1.0
    wanted = ~alone if spread else alone
    if not wanted.any():
        return {}
    sizes = {name: np.array(values) for name, values in table.numbers.items()}
    if spread:
        sizes["hot_ratio"] = hot_ratios(table)
    if "distribution" in words:
        sizes["even"] = (words["distribution"] == EVEN).astype(np.float64)
    measured = np.array(table.measured_us) * MICRO
    _, shape = np.unique(np.array(list(sizes.values())), axis=1, return_inverse=True)
    found: dict[tuple[str, str], OperatorRows] = {}
    known = {name: catalog.accelerator(name) for name in sorted(set(table.words["gpu"]))}
    for architecture in sorted({architecture_names(gpu)[0] for gpu in known.values() if gpu is not None}):
        mine = {
            name: gpu for name, gpu in known.items() if gpu and architecture_names(gpu)[0] == architecture
        }
        for text, form in FORMATS.items():
            picked = np.isin(words["gpu"], list(mine)) & (words[word] == text) & wanted
            if not picked.any():
                continue
            peaks = {name: _peak(table.kind, gpu, form, catalog) for name, gpu in mine.items()}
            names = words["gpu"][picked].tolist()
            bits = float(_format(form, catalog).bits)
            narrow = all(multiplies_narrow(gpu, _rate(form, catalog)) for gpu in mine.values())
            found[architecture, f"{table.kind}.{form}"] = OperatorRows(
                table.kind,
                {name: values[picked] for name, values in sizes.items()},
                words["engine"][picked],
                words["gpu"][picked],
                shape.reshape(-1)[picked],
                np.array([peaks[name] for name in names]),
                np.array([float(mine[name].memory.bandwidth) for name in names]),
                bits / 8.0,
                bits / 8.0 if narrow else BYTES_PER_ACTIVATION,
                float(_format(form, catalog).expert_multiple),
                measured[picked],
                np.flatnonzero(picked),
            )
    return found


def _format(name: str, catalog: Catalog) -> NumberFormat:
    found = catalog.number_format(name.split("-")[0])
    assert found is not None, name
    return found


def _rate(name: str, catalog: Catalog) -> NumberFormat:
    """The format in which products of a format run: that of the activations where the name says so."""
    weights, _, activations = name.partition("-")
    return _format(weights if activations in ("", "block") else activations, catalog)


def _peak(kind: OperatorKind, gpu: Accelerator, form: str, catalog: Catalog) -> float:
    """Of the format for products; attention counts against the 16-bit peak."""
    if kind not in PRODUCTS:
        return float(gpu.compute.bf16)
    return float(gpu.compute.bf16) if form == UNPACKED else peak_flops_per_s(gpu, _rate(form, catalog))
