"""Calibrate: one or two factors from benchmark files of one's own, written as a catalog entry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np

from planner import numbers
from planner.app.validate import predict
from planner.calibration.benchmark_checks import has_ttft, load_text
from planner.calibration.benchmark_runs import WHERE, Flags, Run, Runs, resolve
from planner.calibration.measured_rows import measured_rows
from planner.errors import Fault, InputError, input_error
from planner.loaders.benchmarks import read_benchmarks
from planner.loaders.catalog import load_catalog
from planner.loaders.files_out import check_target, write_whole
from planner.loaders.write import entry_yaml
from planner.performance.shrinkage import SharedFactor, Spread, shared_factor, untouched
from planner.performance.spread import class_sigma_log, known_sigma_log
from planner.physics.arrays import FloatArray, IntArray
from planner.planning.requests import Names
from planner.schema.benchmark import BenchmarkPoint, Calibrated, CalibratedRow, FactorChange
from planner.schema.catalog import Calibration, SourceText, UserFactor, UserFactors
from planner.schema.catalog_index import FOLDERS
from planner.schema.configuration import Configuration

FOLDER = "user_factors"
FEWEST_TTFT_ROWS = 2
"""One row makes TTFT worse than none."""
MS = 1e3
WIDEST = 20.0
"""Factors beyond it, or below its inverse, are mistakes of the flags or of units: refused."""
LARGEST_SIGMA = 2.0


def calibrate(
    benchmarks: Sequence[Path], flags: Flags, *, out: Path, overlays: tuple[Path, ...] = ()
) -> Calibrated:
    """Fit the factors of one configuration and write them.

    Raises:
        InputError: everything wrong with the files, the flags, or what they leave open.
    """
    catalog = load_catalog(overlays)
    names = Names(catalog, WHERE)
    if flags.gpu is not None:
        names.accelerator(flags.gpu)
    if flags.engine is not None:
        names.engine(flags.engine)
    names.number_format("--weights", flags.weights, of_kv=False)
    names.number_format("--kv", flags.kv, of_kv=True)
    points: tuple[BenchmarkPoint, ...] = ()
    try:
        points = read_benchmarks(benchmarks)
    except InputError as problem:
        names.faults += problem.faults
    runs = resolve(points, flags, names)
    names.done()
    assert runs is not None, "without runs there are faults"
    return written(runs, benchmarks, out)


def written(runs: Runs, benchmarks: Sequence[Path], out: Path) -> Calibrated:
    """Fit the factors of runs and write them.

    Args:
        runs: of one configuration.
        benchmarks: the files that they come from.
        out: a file that ends in .yaml, or a folder.

    Raises:
        InputError: runs that cannot be predicted or are far off, and a place that cannot be written.
    """
    target = target_of(out, entry_id(runs))
    fit = _Fit(runs)
    fit.refuse_far()
    step = fit.step_factor()
    ttft = fit.ttft_factor(step)
    entry = fit.entry(target.stem, step, ttft, benchmarks)
    if not target.parent.is_dir():
        target.parent.mkdir(parents=True)
    check_target("--out", target)
    write_whole(target, entry_yaml(entry).encode())
    return fit.answer(step, ttft, target)


@dataclass(frozen=True, eq=False)
class _Numbers:
    """Predictions by run, in seconds; NaN where there is none."""

    tpot_s: FloatArray
    ttft_s: FloatArray


class _Fit:
    """The runs of one configuration with their predictions under any factor."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self.calibration: Calibration = runs.catalog.calibration.model_copy(update={"user_factors": ()})
        self.limits = runs.catalog.find("judgment", "benchmarks").parameters
        self.measured = [_per_token_s(run) for run in runs.runs]
        self.bare = self._predicted(self.calibration)
        self._refuse_unpredicted()
        self.ttft_notes = [has_ttft(run.point, self.limits) for run in runs.runs]
        rows = measured_rows((runs.runs[0].measurement,), runs.catalog, self.calibration)
        (item,) = rows.configurations
        self.step_spread = self._spread(item, "tpot")
        self.ttft_spread = self._spread(item, "ttft")

    def _spread(self, item: Configuration, number: str) -> Spread:
        """Before any run: published rows share their hosts, so the user's may be as far off as any pair.

        Half of the variance near measured rows is scatter, the rest is common to a configuration.
        """
        host = self.calibration.sigma_log[f"{number}_new"].value
        wide = max(class_sigma_log(item)[number], host)
        return Spread.of(wide, known_sigma_log(item)[number] / math.sqrt(2.0))

    def _predicted(self, calibration: Calibration) -> _Numbers:
        found = predict(tuple(run.measurement for run in self.runs.runs), self.runs.catalog, calibration).rows
        skipped = [Fault(row.measured.where, "", row.skipped, "a run that can be predicted") for row in found]
        if any(row.skipped for row in found):
            raise InputError([fault for fault in skipped if fault.found])
        # Without a TPOT in the file, the time of a token follows from the throughput.
        per_token = [
            row.tpot_ms if run.point.mean_tpot_s else _inverse_ms(row.output_tokens_per_s)
            for row, run in zip(found, self.runs.runs, strict=True)
        ]
        return _Numbers(_seconds(per_token), _seconds([row.ttft_ms for row in found]))

    def _refuse_unpredicted(self) -> None:
        known = np.isfinite(self.bare.tpot_s) & (self.bare.tpot_s > 0.0)
        faults = [
            Fault(
                run.point.where, "", "a load beyond what the model describes", "a run that can be predicted"
            )
            for run, is_known in zip(self.runs.runs, known, strict=True)
            if not is_known
        ]
        if faults:
            raise InputError(faults)

    def refuse_far(self) -> None:
        """Runs so far from the prediction that the file, or a flag, must mean something else.

        Raises:
            InputError: naming each of them.
        """
        faults = [
            Fault(
                run.point.where,
                "",
                f"{measured * MS:.3g} ms per output token, against {predicted * MS:.3g} ms predicted",
                f"at most a factor of {WIDEST:g} between the two; wrong unit, model, GPU, degree or format",
            )
            for run, measured, predicted in zip(self.runs.runs, self.measured, self.bare.tpot_s, strict=True)
            if not 1.0 / WIDEST <= measured / predicted <= WIDEST
        ]
        if faults:
            raise InputError(faults)

    def at(self, log_factor: float) -> _Numbers:
        """Predictions with step times multiplied by exp(log_factor)."""
        entry = self._factor(SharedFactor(_bounded(math.exp(log_factor)), 1, 0.1, None), None)
        return self._predicted(self.calibration.model_copy(update={"user_factors": (entry,)}))

    def step_factor(self) -> SharedFactor:
        """The factor on step times, from all runs."""
        measured = np.array(self.measured)
        return shared_factor(lambda b: np.log(measured / self.at(b).tpot_s), self.step_spread)

    def ttft_factor(self, step: SharedFactor) -> SharedFactor:
        """The factor on TTFT beyond the one on steps; none from a single run."""
        predicted = self.at(math.log(step.factor)).ttft_s
        for row, value in enumerate(predicted):
            if not self.ttft_notes[row] and not np.isfinite(value):
                self.ttft_notes[row] = "no finite prediction of TTFT"
        used = [row for row, note in enumerate(self.ttft_notes) if not note]
        measured = np.array([self.runs.runs[row].point.ttft_s["mean"] for row in used])
        logs = np.log(measured / predicted[used]) if used else np.zeros(0)
        if len(used) < FEWEST_TTFT_ROWS:
            return untouched(self.ttft_spread, logs)
        return shared_factor(lambda b: logs - b, self.ttft_spread)

    # -- the answer ---------------------------------------------------------------------------------------

    def _factor(self, step: SharedFactor, ttft: SharedFactor | None) -> UserFactor:
        return UserFactor(
            model=self.runs.model.id,
            accelerator=self.runs.accelerator.id,
            engine=self.runs.engine.id,
            weights=self.runs.weights,
            step_factor=_bounded(step.factor) if ttft is None else _rounded(_bounded(step.factor)),
            ttft_factor=1.0 if ttft is None else _rounded(_bounded(ttft.factor)),
            sigma_log=_rounded(min(step.sigma_log, LARGEST_SIGMA)),
            ttft_sigma_log=_rounded(min((ttft or step).sigma_log, LARGEST_SIGMA)),
            rows=max(step.rows, 1),
            ttft_rows=ttft.rows if ttft is not None else 0,
            source="runs",
        )

    def entry(self, name: str, step: SharedFactor, ttft: SharedFactor, paths: Sequence[Path]) -> UserFactors:
        """The catalog entry, with the digests of the files behind it."""
        digests = {run.point.where: run.point.raw_sha256[:12] for run in self.runs.runs}
        title = "Own benchmarks: " + ", ".join(f"{where} ({digest})" for where, digest in digests.items())
        return UserFactors(
            id=name,
            name=f"{self.runs.model.name} on {self.runs.accelerator.name} ({self.runs.engine.name})",
            factors=(self._factor(step, ttft),),
            sources={"runs": SourceText(title=title, date=_date(self.runs.runs, paths), grade="B")},
        )

    def answer(self, step: SharedFactor, ttft: SharedFactor, target: Path) -> Calibrated:
        """What was found and what it changes."""
        after = self.at(math.log(step.factor))
        after = replace(after, ttft_s=after.ttft_s * ttft.factor)
        every = np.arange(len(self.measured), dtype=np.intp)
        used = np.array([row for row, note in enumerate(self.ttft_notes) if not note], dtype=np.intp)
        ttfts = np.array([run.point.ttft_s.get("mean", np.nan) for run in self.runs.runs])
        few = "" if ttft.rows else f"{numbers.count(used.size, 'usable run')}; at least two make a factor"
        changes = (
            _change(
                "step",
                step,
                self.step_spread,
                np.array(self.measured),
                self.bare.tpot_s,
                after.tpot_s,
                every,
                "",
            ),
            _change("ttft", ttft, self.ttft_spread, ttfts, self.bare.ttft_s, after.ttft_s, used, few),
        )
        folder = target.parent.parent if target.parent.name == FOLDER else target
        return Calibrated(
            model=self.runs.model.id,
            gpu=self.runs.accelerator.id,
            engine=self.runs.engine.id,
            weights=self.runs.weights,
            factors=changes,
            rows=tuple(self._row(index, after) for index in range(every.size)),
            path=str(target),
            use=str(folder),
            warnings=self._warnings(step),
        )

    def _row(self, index: int, after: _Numbers) -> CalibratedRow:
        run = self.runs.runs[index]
        ttft = run.point.ttft_s.get("mean")
        return CalibratedRow(
            where=run.point.where,
            source=run.point.source,
            load=load_text(run.point),
            tpot_ms=self.measured[index] * MS,
            predicted_tpot_ms=_finite(self.bare.tpot_s[index] * MS),
            calibrated_tpot_ms=_finite(after.tpot_s[index] * MS),
            ttft_ms=None if ttft is None else ttft * MS,
            predicted_ttft_ms=_finite(self.bare.ttft_s[index] * MS),
            calibrated_ttft_ms=_finite(after.ttft_s[index] * MS),
            note=self.ttft_notes[index],
        )

    def _warnings(self, step: SharedFactor) -> tuple[str, ...]:
        lines = []
        distance = abs(math.log(step.mean_ratio or 1.0)) / self.step_spread.total
        if distance > self.limits["doubt_sigmas"].value:
            lines.append(
                f"the runs are {distance:.1f} standard deviations from the prediction: "
                "are model, GPU, TP, engine and formats those of the runs?"
            )
        return tuple(lines)


def _change(
    name: str,
    factor: SharedFactor,
    spread: Spread,
    measured: FloatArray,
    before: FloatArray,
    after: FloatArray,
    used: IntArray,
    text: str,
) -> FactorChange:
    def error(predicted: FloatArray) -> float | None:
        return float(np.median(np.abs(predicted[used] / measured[used] - 1.0))) if used.size else None

    return FactorChange(
        name=name,
        factor=factor.factor,
        rows=factor.rows,
        mean_ratio=factor.mean_ratio,
        median_error_before=error(before),
        median_error_after=error(after),
        sigma_log_before=spread.total,
        sigma_log_after=factor.sigma_log,
        text=text,
    )


def _per_token_s(run: Run) -> float:
    """Measured time of a token: TPOT, else from the throughput."""
    tpot = run.point.mean_tpot_s
    return tpot if tpot else 1.0 / (run.point.output_tokens_per_s or math.nan)


def _inverse_ms(rate: float | None) -> float | None:
    return MS / rate if rate else None


def _seconds(values_ms: Sequence[float | None]) -> FloatArray:
    return np.array([math.nan if value is None else value / MS for value in values_ms])


def _bounded(factor: float) -> float:
    return min(max(factor, 1.0 / WIDEST), WIDEST)


def _rounded(value: float) -> float:
    """Four significant digits: what people read is what is used."""
    return float(f"{value:.4g}")


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def entry_id(runs: Runs) -> str:
    """Of the entry that holds the factors of these runs."""
    return f"{runs.model.id}-{runs.accelerator.id}-{runs.engine.id}-{runs.weights}"


def target_of(out: Path, name: str) -> Path:
    """The file to write: the one named, or one inside an overlay folder."""
    if out.is_dir() or (not out.suffix and not out.exists()):
        return out / FOLDER / f"{name}.yaml"
    if out.suffix != ".yaml":
        hint = f'"{out.with_suffix(".yaml")}"'
        raise input_error("--out", "", f'"{out}"', "a file that ends in .yaml, or a folder", hint)
    if out.parent.name != FOLDER and out.parent.name in FOLDERS:
        hint = f'"{out.parents[1] / FOLDER / out.name}"'
        raise input_error("--out", "", f'a file in "{out.parent.name}"', f"one in {FOLDER}", hint)
    return out


def _date(runs: Sequence[Run], paths: Sequence[Path]) -> date:
    """Of the newest run: as stated, else when its file was written."""
    stated = [date.fromisoformat(run.point.date) for run in runs if run.point.date]
    return max(stated) if stated else max(date.fromtimestamp(path.stat().st_mtime) for path in paths)
