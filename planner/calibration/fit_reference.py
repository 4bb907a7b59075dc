"""The reference calibration out of tables of measurements: step times first, then times to first token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from planner.calibration.accuracy import scored
from planner.calibration.doubts import start_ups, without
from planner.calibration.fit_operators import fit_operators, read_operator_folder
from planner.calibration.measured_rows import MeasuredRows, measured_rows
from planner.calibration.operator_merge import with_operators
from planner.errors import InputError, input_error
from planner.loaders.catalog import load_catalog
from planner.loaders.measurements import read_measurements
from planner.performance.distance import PLAIN_LAYOUT, layout_kind
from planner.performance.fitting import FitParameter, Fitted, RobustFit
from planner.performance.rows import RowPredictions, predict_rows
from planner.performance.spread import QUANTITIES
from planner.physics.arrays import FloatArray, IntArray
from planner.schema.calibration import OperatorError
from planner.schema.catalog import Calibration
from planner.schema.catalog_index import Catalog
from planner.schema.measurement import Measurement
from planner.steptime.calibration_paths import parameters_of, with_values

SCALE_LOG = 0.15
"""Log ratios beyond it count less and less: the spread of engine versions and hosts."""
ROW_WEIGHT = 10.0
"""Weight of a mean row against a prior at one sigma: rows of one group share their errors."""
GROUP_POWER = 0.5
"""A group of n rows counts as n to this power less: large sources must not outvote small ones."""
MISSING_LOG = 3.0
"""Log ratio of a row without a finite prediction."""
FULL_RATIO = 1.0
"""Requests over those that fit, beyond which the cache counts as full."""
FEW_IN_FLIGHT = 8.0
"""Loads beyond it are left out together: errors of larger batches than any in the fit."""
SHORT_TOKENS = 2300.0
"""The same for requests of more tokens."""
ROUNDS = 2
"""Rounds of step times and first tokens: the clumping of the second is part of the first."""
_TTFT = ("ttft_overhead", "closed_loop")
"""How the names of numbers of the second fit start."""
SPLIT = "disaggregated"
"""And of the third; also how the names of numbers of rows with workers for prompts alone start."""
_PARTS = {
    "throughput": "steps",
    "tpot": "steps",
    "first-token": "steps",
    "ttft": "first",
    f"{SPLIT} ttft": SPLIT,
}
"""Number -> the fit that looks at it; the others are scored alone."""
_NUMBERS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "throughput": (
        "output_tokens_per_s",
        "output_tokens_per_s",
        ("static-batch", "closed-loop", "offline"),
    ),
    "tpot": ("tpot_s", "tpot_ms", ("closed-loop",)),
    "first-token": ("ttft_s", "ttft_ms", ("first-token", "static-batch")),
    "ttft": ("ttft_s", "ttft_ms", ("closed-loop",)),
    f"{SPLIT} tpot": ("tpot_s", "tpot_ms", ("closed-loop",)),
    f"{SPLIT} ttft": ("ttft_s", "ttft_ms", ("closed-loop",)),
}
"""Number -> prediction, measurement, kinds of rows. Bursts measure admission and drain: not fitted."""


@dataclass(frozen=True, eq=False)
class Observations:
    """Numbers of rows that the fit looks at."""

    number: np.ndarray[tuple[int], np.dtype[np.str_]]
    row: IntArray
    measured: FloatArray
    """Tokens per second, or seconds."""

    def __len__(self) -> int:
        """How many."""
        return int(self.row.size)

    def log_ratios(self, predictions: RowPredictions) -> FloatArray:
        """Logarithm of predicted over measured time (for throughput, of measured over predicted)."""
        ratios = np.full(len(self), np.nan)
        for number, (field, _, _) in _NUMBERS.items():
            picked = self.number == number
            ratios[picked] = getattr(predictions, field)[self.row[picked]] / self.measured[picked]
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(ratios)
        logs = np.where(self.number == "throughput", -logs, logs)
        return np.where(np.isfinite(logs), logs, MISSING_LOG)


@dataclass(frozen=True, eq=False)
class ReferenceFit:
    """The result, with everything that the report needs."""

    calibration: Calibration
    rows: MeasuredRows
    observations: Observations
    log_ratios: FloatArray
    left_out: dict[str, FloatArray]
    """Way of leaving out -> log ratios of the rows while they were left out; NaN for rows that never were."""
    left_out_keys: dict[str, np.ndarray[tuple[int], np.dtype[np.str_]]]
    """The same -> what each row was left out with; empty for rows that never were."""
    weights: FloatArray
    cost: float
    operators: tuple[OperatorError, ...]
    """Errors of measured operators."""
    doubts: dict[str, str]
    """Id -> why the time to first token of a row was not counted."""


def read_folder(folder: Path) -> tuple[Measurement, ...]:
    """Rows of every table of measurements in a folder, by name of the file.

    Raises:
        InputError: no such folder, or no table in it.
    """
    if not folder.is_dir():
        raise input_error("--measurements", "", f'"{folder}"', "a folder with tables of measurements")
    rows: list[Measurement] = []
    for path in sorted(folder.glob("*.csv")):
        try:
            rows += read_measurements(path)
        except InputError as problem:
            # Other tables may lie beside; what has the layout and is broken is a fault.
            if not all(fault.expected.startswith("a table of measurements") for fault in problem.faults):
                raise
    if not rows:
        raise input_error(str(folder), "", "no table of measurements", "at least one, as CSV")
    return tuple(rows)


def fit_reference(
    folder: Path,
    overlays: tuple[Path, ...] = (),
    progress: Callable[[str], None] = lambda _: None,
    operators: Path | None = None,
) -> ReferenceFit:
    """Fit everything, and leave out pairs, GPUs and models in turn.

    Measured operators (a folder of their tables) come first: their numbers are facts of the kernels that the
    fit to whole steps takes as they are. Those of the calibration stay where the folder has no table of them.

    Raises:
        InputError: no tables, or broken ones.
    """
    catalog = load_catalog(overlays)
    start, errors = catalog.calibration, catalog.calibration.fit.operators if catalog.calibration.fit else ()
    if operators is not None:
        tables = read_operator_folder(operators)
        start, errors = with_operators(catalog, tables, fit_operators(tables, catalog, progress))
    fitter, doubts = _fitter_of(folder, catalog, start)
    progress("fitting")
    calibration, parts = fitter.all(at_priors(start))
    left_out, ways = {}, fitter.ways()
    for way, keys in ways.items():
        progress(f"leaving out one {way} at a time")
        left_out[way] = fitter.leave_out(calibration, parts, keys)
    logs = fitter.logs(calibration)
    cost = sum(part.fitted.cost for part in parts)
    return ReferenceFit(
        calibration,
        fitter.rows,
        fitter.observations,
        logs,
        left_out,
        ways,
        fitter.weights,
        cost,
        errors,
        doubts,
    )


def fitted_to(folder: Path, catalog: Catalog) -> tuple[Calibration, int]:
    """The calibration of a catalog, fitted to all rows of a folder, and how many numbers of rows that saw.

    Numbers of operators stay as they are, and nothing is left out.

    Raises:
        InputError: as for `fit_reference`.
    """
    fitter, _ = _fitter_of(folder, catalog, catalog.calibration)
    return fitter.all(at_priors(catalog.calibration))[0], int((fitter.weights > 0).sum())


def at_priors(calibration: Calibration) -> Calibration:
    """Every number that will be fitted at its prior: the result must not depend on an earlier fit."""
    fitted = {
        path: item.value if item.prior is None else item.prior
        for path, item in parameters_of(calibration)
        if item.prior_log_sigma is not None
    }
    return with_values(calibration, fitted)


@dataclass(frozen=True, eq=False)
class _Part:
    """One of the fits: which numbers of the calibration, over which observations."""

    names: tuple[str, ...]
    fit: RobustFit
    fitted: Fitted


def _fitter_of(folder: Path, catalog: Catalog, start: Calibration) -> tuple[_Fitter, dict[str, str]]:
    """What is fitted to the rows of a folder, and which of them are doubted."""
    rows = measured_rows(read_folder(folder), catalog, start)
    doubts = start_ups(rows, at_priors(start))
    fitter = _Fitter(without(rows, doubts))
    _refuse_without(fitter, folder)
    return fitter, doubts


def _refuse_without(fitter: _Fitter, folder: Path) -> None:
    seen = set(fitter.observations.number[fitter.weights > 0].tolist())
    lacking = [number for number in QUANTITIES if number not in seen]
    if lacking:
        found = f"no row that counts with {', '.join(lacking)}"
        expected = f"rows with each of {', '.join(QUANTITIES)}: every one has a spread of its own"
        raise input_error(str(folder), "", found, expected)
    for way in ("GPU", "model"):
        if not any(fitter.ways()[way]):
            raise input_error(
                str(folder), "", f"rows of one {way} alone", "two at least: each is left out once"
            )


class _Fitter:
    """Observations, weights and the fits over them."""

    def __init__(self, rows: MeasuredRows) -> None:
        self.rows = rows
        self.observations = _observations(rows)
        self.weights = _weights(rows, self.observations)
        self._part_of = np.array([_PARTS.get(number, "") for number in self.observations.number.tolist()])

    def logs(self, calibration: Calibration) -> FloatArray:
        """Log ratios of all observations under a calibration."""
        specs = self.rows.prepared.specs(calibration)
        return self.observations.log_ratios(predict_rows(specs, self.rows.loads, calibration))

    def all(self, calibration: Calibration) -> tuple[Calibration, tuple[_Part, ...]]:
        """The fits over all rows, in turn."""
        parts: tuple[_Part, ...] = ()
        for _ in range(ROUNDS):
            parts = ()
            for name in sorted(set(_PARTS.values()), key=("steps", "first", SPLIT).index):
                part = self._part(calibration, name, self.weights)
                calibration = _with(calibration, part.names, part.fitted.values)
                parts = (*parts, part)
        return calibration, parts

    def _part(self, calibration: Calibration, name: str, weights: FloatArray) -> _Part:
        names = tuple(
            path
            for path, found in parameters_of(calibration)
            if found.prior_log_sigma is not None and _part_of(path) == name
        )
        picked = self._part_of == name
        fit = RobustFit(
            part_parameters(calibration, names),
            self._residuals(calibration, names),
            np.where(picked, weights, 0.0),
            SCALE_LOG,
        )
        return _Part(names, fit, fit.run())

    def ways(self) -> dict[str, np.ndarray[tuple[int], np.dtype[np.str_]]]:
        """What is left out at a time, by observation; rows without a name stay in."""
        rows, loads = self.observations.row, self.rows.loads
        items = [self.rows.configurations[row] for row in rows]
        on = [item.accelerator.architecture for item in items]
        kinds = [layout_kind(item) for item in items]
        many = np.isfinite(loads.requests) & (loads.requests > FEW_IN_FLIGHT)
        long = loads.input_tokens + loads.output_tokens > SHORT_TOKENS
        named = {
            "pair": np.array([f"{item.model.id}|{item.accelerator.id}" for item in items]),
            "GPU": np.array([item.accelerator.id for item in items]),
            "model": np.array([item.model.id for item in items]),
            "architecture": np.array(on),
            "family": np.array([self.rows.families[row] for row in rows]),
            "engine": np.array([f"{item.engine.id}|{name}" for item, name in zip(items, on, strict=True)]),
            "format": np.array([f"{item.weights.id}|{name}" for item, name in zip(items, on, strict=True)]),
            "layout": np.array(["" if kind == PLAIN_LAYOUT else kind for kind in kinds]),
            "batch": np.where(many[rows], "large", ""),
            "context": np.where(long[rows], "long", ""),
        }
        # Without what all rows have in common nothing is left to fit.
        return {way: keys if len(set(keys)) > 1 else np.full_like(keys, "") for way, keys in named.items()}

    def leave_out(
        self,
        calibration: Calibration,
        parts: Sequence[_Part],
        keys: np.ndarray[tuple[int], np.dtype[np.str_]],
    ) -> FloatArray:
        """Log ratios of each group under a fit that did not see it.

        Each fit starts from the one over all rows, first with its slopes, then with its own. Rows without a
        name are never left out.
        """
        result = np.full(len(self.observations), np.nan)
        for key in sorted(set(keys.tolist()) - {""}):
            out = keys == key
            changed = calibration
            for part in parts:
                fit = RobustFit(
                    part_parameters(changed, part.names),
                    self._residuals(changed, part.names),
                    part.fit.weights,
                    SCALE_LOG,
                )
                kept = np.where(out, 0.0, part.fit.weights)
                near = fit.run(np.log(part.fitted.values), kept, part.fitted.jacobian, rounds=4)
                place = np.log(near.values)
                own = fit.run(place, kept, fit.jacobian(place, near.residuals), rounds=3)
                changed = _with(changed, part.names, own.values)
            result[out] = self.logs(changed)[out]
        return result

    def _residuals(
        self, calibration: Calibration, names: Sequence[str]
    ) -> Callable[[FloatArray], FloatArray]:
        return lambda values: self.logs(_with(calibration, names, values))


def part_parameters(calibration: Calibration, names: Sequence[str]) -> list[FitParameter]:
    """Values, bounds and priors of numbers of the calibration."""
    found = dict(parameters_of(calibration))
    return [
        FitParameter(
            name,
            found[name].value,
            found[name].low,
            found[name].high,
            found[name].prior or found[name].value,
            found[name].prior_log_sigma or 1.0,
        )
        for name in names
    ]


def _with(calibration: Calibration, names: Sequence[str], values: FloatArray) -> Calibration:
    return with_values(calibration, dict(zip(names, values.tolist(), strict=True)))


def _part_of(path: str) -> str:
    name = path.split(".")[-1]
    return SPLIT if name.startswith(SPLIT) else "first" if name.startswith(_TTFT) else "steps"


def _observations(rows: MeasuredRows) -> Observations:
    number, place, measured = [], [], []
    for index, row in enumerate(rows.measurements):
        if not scored(row):
            continue
        for name, (field, column, kinds) in _NUMBERS.items():
            value = float(getattr(row, column))
            if row.kind not in kinds or value <= 0.0 or name.startswith(SPLIT) != row.disaggregated:
                continue
            number.append(name)
            place.append(index)
            measured.append(value / 1e3 if field.endswith("_s") and column.endswith("_ms") else value)
    return Observations(np.array(number), np.array(place, dtype=np.intp), np.array(measured))


def _weights(rows: MeasuredRows, observations: Observations) -> FloatArray:
    keys = []
    for number, row in zip(observations.number, observations.row, strict=True):
        item, source = rows.configurations[row], rows.measurements[row].source
        keys.append(f"{item.model.id}|{item.accelerator.id}|{item.engine.id}|{source}|{number}")
    _, place, count = np.unique(np.array(keys), return_inverse=True, return_counts=True)
    weights = count[place.reshape(-1)] ** -GROUP_POWER
    full = _full(rows)[observations.row] & (observations.number == "ttft")
    return np.where(full, 0.0, weights / weights.mean() * ROW_WEIGHT)


def _full(rows: MeasuredRows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Where more requests are in flight than fit: then the wait for the cache rules."""
    calibration = rows.configurations[0].calibration
    fitting = predict_rows(rows.prepared.specs(calibration), rows.loads, calibration).fitting
    return rows.loads.requests > FULL_RATIO * fitting
