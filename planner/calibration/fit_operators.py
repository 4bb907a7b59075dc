"""Numbers of operators out of tables of measured times, and errors on what the fit did not see.

Half of the shapes are fitted, the other half scored; and each accelerator of an architecture is scored under
numbers of the others.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from planner.calibration.operator_rows import OperatorRows
from planner.calibration.operator_terms import predicted_s, rows_by_name
from planner.errors import input_error
from planner.loaders.operator_tables import operator_kind, read_operator_table
from planner.performance.fitting import FitParameter, RobustFit
from planner.physics.arrays import FloatArray
from planner.physics.operators import BYTES_PER_ACTIVATION
from planner.schema.calibration import OPERATOR_BOUNDS, OperatorError
from planner.schema.catalog_index import Catalog
from planner.schema.operator_times import OperatorTable
from planner.steptime.board_power import watts_per_tflops
from planner.steptime.operators import (
    ALL_REDUCE,
    GIGA,
    LEAST_WATTS,
    MOST_WATTS,
    ONE_WAY_GB,
    PCIE,
    SIXTEEN_BIT_PRODUCT,
    architecture_names,
)

SCALE_LOG = 0.15
ROUNDS = 60
LOOSE, FIRM = 2.0, 1.0
"""Log-sigmas of what is known before: little of rates, more of how a roofline bends."""
SIGNIFICANT = 3
SMALL_KERNEL = "kernel.small"
SMALL_KERNELS_OF = "causal_conv1d_update"
"""A kernel that moves next to nothing: what the like (norms, rotations, activations) take."""
_SHARES = (("compute_fraction", 0.5, LOOSE), ("memory_fraction", 0.8, LOOSE))
_NEAR = (("near_mib", 60.0, FIRM), ("near_ratio", 2.0, 0.5))
_SPLIT = (("context_start_us", 0.4, LOOSE), ("sequence_us", 0.01, LOOSE))
_LINK = (("link_fraction", 0.7, LOOSE), ("direct_fraction", 0.5, LOOSE), ("second_us", 6.0, LOOSE))
_NAMES: dict[str, tuple[tuple[str, float, float], ...]] = {
    "gemm": (
        *_SHARES,
        ("overlap_exponent", 2.0, FIRM),
        ("scaling_passes", 1.0, 0.5),
        ("ceiling_tflops", 4500.0, FIRM),
    ),
    "decode_attention": (*_SHARES, ("overlap_exponent", 2.0, FIRM), *_SPLIT, *_NEAR),
    "mla_decode": (*_SHARES, ("overlap_exponent", 2.0, FIRM), *_SPLIT),
    "prefill_attention": (
        *_SHARES,
        ("half_context_tokens", 100.0, LOOSE),
        ("head_64", 0.75, FIRM),
        ("head_256", 1.05, FIRM),
    ),
    "mla_prefill": (*_SHARES, ("half_context_tokens", 100.0, LOOSE)),
    "moe": (
        *_SHARES,
        ("overlap_exponent", 2.0, FIRM),
        ("routing_share", 0.8, 0.5),
        ("row_passes", 5.0, FIRM),
    ),
    "all_reduce.nvlink": (*_LINK, ("rank_us", 0.3, LOOSE)),
    "exchange.nvlink": (_LINK[0], ("doubling_us", 3.0, LOOSE)),
    "all_reduce.pcie": (*_LINK, ("rank_us", 3.0, LOOSE), ("rank_exponent", 1.0, LOOSE)),
}
"""Operator -> numbers beside the launch, their prior and its log-sigma."""
_START_US = 8.0
DIFFERENT_PEAKS = 1.3
ENGINE_ROWS = 20
"""An engine with fewer rows has no launch time of its own."""
POOR_FRACTION = 0.3
"""Kernels that reach less of the memory bandwidth are left out: no engine would choose them."""

Numbers = dict[str, float]


@dataclass(frozen=True)
class FittedOperators:
    """Architecture -> operator and format -> numbers; and errors in the same order."""

    numbers: dict[str, dict[str, Numbers]]
    errors: tuple[OperatorError, ...]


def read_operator_folder(folder: Path) -> tuple[OperatorTable, ...]:
    """Every table of operators in a folder, by name of the file.

    Raises:
        InputError: no such folder, no table in it, or a broken one.
    """
    if not folder.is_dir():
        raise input_error("--operators", "", f'"{folder}"', "a folder with tables of operator times")
    paths = [path for path in sorted(folder.glob("*.csv")) if operator_kind(path) is not None]
    if not paths:
        raise input_error(str(folder), "", "no table of operator times", "at least one, as CSV")
    return tuple(read_operator_table(path) for path in paths)


def fit_operators(
    tables: tuple[OperatorTable, ...], catalog: Catalog, progress: Callable[[str], None] = lambda _: None
) -> FittedOperators:
    """All operators of `_NAMES` on all architectures that the tables hold."""
    numbers: dict[str, dict[str, Numbers]] = {}
    errors: list[OperatorError] = []
    for table in tables:
        progress(f"operators: {table.kind}")
        for (architecture, name), every in rows_by_name(table, catalog).items():
            rows = every.chosen()
            if fitted_half(rows).sum() < ENGINE_ROWS:
                continue
            found = _fitted(rows, fitted_half(rows), name)
            if found.get("memory_fraction", 1.0) < POOR_FRACTION:
                continue
            if name == f"{ALL_REDUCE}.{PCIE}":
                found[ONE_WAY_GB] = float(f"{np.median(rows.bytes_per_s) / GIGA:.{SIGNIFICANT}g}")
            if name == SIXTEEN_BIT_PRODUCT:
                found |= _boards(rows, catalog)
            numbers.setdefault(architecture, {})[name] = found
            errors.append(_error(architecture, name, rows, found))
        for architecture, start_us in _small_kernels(table, catalog).items():
            numbers.setdefault(architecture, {})[SMALL_KERNEL] = {"start_us": start_us}
    ordered = {key: dict(sorted(inner.items())) for key, inner in sorted(numbers.items())}
    return FittedOperators(ordered, tuple(sorted(errors, key=lambda one: (one.operator, one.architecture))))


def _boards(rows: OperatorRows, catalog: Catalog) -> Numbers:
    """Board power over the dense 16-bit peak of what was measured: the least and the most."""
    boards = [catalog.accelerator(gpu) for gpu in sorted(set(rows.gpu.tolist()))]
    watts = [
        found for board in boards if board is not None and (found := watts_per_tflops(board)) is not None
    ]
    if not watts:
        return {}
    # Rounded away from each other, they hold all that was measured.
    return {
        LEAST_WATTS: math.floor(100.0 * min(watts)) / 100.0,
        MOST_WATTS: math.ceil(100.0 * max(watts)) / 100.0,
    }


def fitted_half(rows: OperatorRows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """The half of the shapes that is fitted: by the shape alone, alike on every accelerator."""
    columns = zip(*(values.tolist() for values in rows.sizes.values()), strict=True)
    return np.array(
        [zlib.crc32("|".join(f"{size:g}" for size in shape).encode()) % 2 == 0 for shape in columns]
    )


def _fitted(rows: OperatorRows, kept: np.ndarray[tuple[int], np.dtype[np.bool_]], name: str) -> Numbers:
    """Numbers from some of the rows; the cache of repeated shapes only where it explains them better."""
    seen = rows.take(kept)
    engines = [name for name, count in sorted(Counter(seen.engine.tolist()).items()) if count >= ENGINE_ROWS]
    wanted = [(f"start_us/{engine}", _START_US, LOOSE) for engine in engines or ("any",)]
    wanted += [item for item in _NAMES.get(name, _NAMES.get(rows.kind, ())) if _tells(seen, item[0])]
    plain = _best(seen, [item for item in wanted if item not in _NEAR])
    found = _best(seen, wanted) if any(item in _NEAR for item in wanted) else plain
    return min(plain, found, key=lambda one: one[1])[0]


def _best(seen: OperatorRows, wanted: Sequence[tuple[str, float, float]]) -> tuple[Numbers, float]:
    """The wanted numbers (name, prior, its log-sigma), and the cost that they leave."""
    parameters = [FitParameter(name, prior, *_bounds(name), prior, sigma) for name, prior, sigma in wanted]

    def residuals(values: FloatArray) -> FloatArray:
        numbers = dict(zip([one.path for one in parameters], values.tolist(), strict=True))
        return np.log(predicted_s(seen, _complete(numbers)) / seen.measured_s)

    fit = RobustFit(parameters, residuals, np.ones(len(seen)), SCALE_LOG).run(rounds=ROUNDS)
    values = zip([one.path for one in parameters], fit.values.tolist(), strict=True)
    return _complete({name: float(f"{value:.{SIGNIFICANT}g}") for name, value in values}), fit.cost


def _bounds(name: str) -> tuple[float, float]:
    low, high = OPERATOR_BOUNDS[name.split("/")[0]]
    return max(low, 1e-4), high


def _tells(rows: OperatorRows, name: str) -> bool:
    """Whether the rows say anything about a number.

    Head sizes that were not measured do not, a ceiling needs accelerators of the same kernels whose peaks
    differ much, and only narrow inputs are scaled.
    """
    if name == "scaling_passes":
        return rows.activation_bytes < BYTES_PER_ACTIVATION
    if name == "ceiling_tflops":
        return float(rows.flops_per_s.max()) > DIFFERENT_PEAKS * float(rows.flops_per_s.min())
    return not name.startswith("head_") or bool(np.any(rows.sizes["head_dim"] == float(name[5:])))


def _complete(numbers: Numbers) -> Numbers:
    """With the launch of engines that were not measured: the shortest of those that were."""
    starts = [value for name, value in numbers.items() if name.startswith("start_us/")]
    return {"start_us": min(starts), **numbers}


def _error(architecture: str, name: str, rows: OperatorRows, found: Numbers) -> OperatorError:
    half = fitted_half(rows)
    logs = np.log(predicted_s(rows, found) / rows.measured_s)
    gpus = sorted(set(rows.gpu.tolist()))
    apart = np.full(len(rows), np.nan)
    for gpu in gpus if len(gpus) > 1 else ():
        out = rows.gpu == gpu
        apart[out] = np.log(
            predicted_s(rows.take(out), _fitted(rows, ~out & half, name)) / rows.measured_s[out]
        )
    other = np.exp(logs[~half])
    away = np.abs(np.expm1(apart[~half & np.isfinite(apart)]))
    return OperatorError(
        architecture=architecture,
        operator=name,
        rows=int((~half).sum()),
        bias=round(float(np.median(other) - 1.0), 4),
        median=round(float(np.median(np.abs(other - 1.0))), 4),
        p90=round(float(np.percentile(np.abs(other - 1.0), 90.0)), 4),
        gpu_left_out=round(float(np.median(away)), 4) if away.size else None,
    )


def _small_kernels(table: OperatorTable, catalog: Catalog) -> Mapping[str, float]:
    """Median over accelerators and engines of the shortest time of a kernel that does next to nothing."""
    if table.kind != "gated_delta_net":
        return {}
    shortest: dict[tuple[str, str], float] = {}
    for gpu, engine, kernel, time_us in zip(
        table.words["gpu"], table.words["engine"], table.words["kernel"], table.measured_us, strict=True
    ):
        if kernel == SMALL_KERNELS_OF:
            shortest[gpu, engine] = min(shortest.get((gpu, engine), np.inf), time_us)
    by_architecture: dict[str, list[float]] = {}
    for (gpu, _), time_us in sorted(shortest.items()):
        found = catalog.accelerator(gpu)
        if found is not None:
            by_architecture.setdefault(architecture_names(found)[0], []).append(time_us)
    return {
        key: float(f"{float(np.median(values)):.{SIGNIFICANT}g}") for key, values in by_architecture.items()
    }
