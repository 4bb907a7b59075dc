"""Runs of benchmark files -> measurements of one configuration, with what flags and files say about it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from planner.calibration.benchmark_checks import faults_of, load_of
from planner.candidates.enumerate import heads_divide
from planner.errors import Fault, nearest
from planner.planning.requests import Names
from planner.planning.workload.case import find_model
from planner.schema.benchmark import BenchmarkPoint
from planner.schema.catalog import Accelerator, Engine, Model
from planner.schema.catalog_index import Catalog, folded
from planner.schema.measurement import Measurement
from planner.steptime.model_facts import model_facts

WHERE = "planner calibrate"
DEFAULT_ENGINE = "vllm"
_DEGREES = ("tp", "pp", "ep", "attention_dp")
_FORMAT_IN_NAME = re.compile(r"(?i)[-_.](fp8|nvfp4|fp4|mxfp4|awq|gptq|int4|int8|w4a16|w8a8|w8a16)\b")


@dataclass(frozen=True)
class Flags:
    """What the command line says; None where it is silent."""

    model: str | None = None
    gpu: str | None = None
    engine: str | None = None
    weights: str | None = None
    kv: str | None = None
    tp: int | None = None
    pp: int | None = None
    ep: int | None = None
    attention_dp: int | None = None
    isl: int | None = None
    osl: int | None = None


@dataclass(frozen=True)
class Run:
    """A point with the measurement that stands for it."""

    point: BenchmarkPoint
    measurement: Measurement


@dataclass(frozen=True)
class Runs:
    """All runs, of one configuration but for its layout."""

    runs: tuple[Run, ...]
    model: Model
    accelerator: Accelerator
    engine: Engine
    weights: str
    catalog: Catalog
    """With the model in it, where it was read from a config.json."""


def resolve(points: Sequence[BenchmarkPoint], flags: Flags, names: Names) -> Runs | None:
    """Look everything up; None, with the reasons among the faults of ``names``, where that fails."""
    reader = _Resolver(flags, names)
    found = [reader.run(point) for point in points]
    kept = [run for run in found if run is not None]
    if names.faults or len(kept) < len(found) or not kept:
        return None
    return reader.together(kept)


class _Resolver:
    """Flags, then what a file says; the two must not contradict each other."""

    def __init__(self, flags: Flags, names: Names) -> None:
        self.flags, self.names, self.catalog = flags, names, names.catalog
        self.judgment: Mapping[str, Any] = self.catalog.find("judgment", "benchmarks").parameters
        self.own_model: Model | None = None
        if flags.model is not None:
            names.model(flags.model)
            if not names.faults:
                self.own_model = find_model(flags.model, Path(), self.catalog)
                self.catalog = _with_model(self.catalog, self.own_model)

    def run(self, point: BenchmarkPoint) -> Run | None:
        before = len(self.names.faults)
        self.names.faults += faults_of(point, self.judgment)
        model, gpu, engine = self._model(point), self._gpu(point), self._engine(point)
        degrees = {name: self._degree(point, name) for name in _DEGREES}
        isl = self._tokens(point, "isl", point.isl_mean_tokens)
        osl = self._tokens(point, "osl", point.osl_mean_tokens)
        weights = self._weights(point, model)
        tp = degrees["tp"] or 1
        if model is not None and not heads_divide(model_facts(model), tp):
            heads = model_facts(model).query_heads
            self._fault(point, "tp", str(tp), f"a degree that divides the {heads} query heads of {model.id}")
        if len(self.names.faults) > before or model is None or gpu is None or engine is None:
            return None
        kind, requests = load_of(point)
        return Run(
            replace(point, isl_mean_tokens=isl, osl_mean_tokens=osl),
            Measurement(
                id=f"{point.where}",
                where=point.where,
                kind=kind,
                model=model.id,
                gpu=gpu.id,
                engine=engine.id,
                engine_version="",
                weights=weights,
                kv=self._kv(point),
                gpus=tp * (degrees["pp"] or 1) * (degrees["attention_dp"] or 1),
                tp=tp,
                pp=degrees["pp"] or 1,
                ep=degrees["ep"] or 1,
                attention_dp=degrees["attention_dp"] or 1,
                input_tokens=isl,
                output_tokens=osl,
                requests=requests,
                run_requests=float(point.completed + point.failed),
                rate_rps=point.offered_rps or 0.0,
                output_tokens_per_s=point.output_tokens_per_s or 0.0,
                ttft_ms=point.ttft_s.get("mean", 0.0) * 1e3,
                tpot_ms=(point.mean_tpot_s or 0.0) * 1e3,
                source=point.source,
            ),
        )

    def together(self, runs: Sequence[Run]) -> Runs | None:
        """One model, accelerator, engine and format; different ones need files of their own."""
        keys = {
            (run.measurement.model, run.measurement.gpu, run.measurement.engine, run.measurement.weights)
            for run in runs
        }
        if len(keys) > 1:
            found = " and ".join(sorted(", ".join(key) for key in keys))
            expected = "runs of one model, GPU, engine and format; calibrate the others on their own"
            self.names.faults.append(Fault(WHERE, "BENCHMARK", found, expected))
            return None
        ((model, gpu, engine, weights),) = keys
        entry, accelerator = self.catalog.model(model), self.catalog.accelerator(gpu)
        found_engine = self.catalog.engine(engine)
        assert entry is not None
        assert accelerator is not None
        assert found_engine is not None
        return Runs(tuple(runs), entry, accelerator, found_engine, weights, self.catalog)

    # -- facts --------------------------------------------------------------------------------------------

    def _fault(self, point: BenchmarkPoint, key: str, found: str, expected: str, maybe: str = "") -> None:
        self.names.faults.append(Fault(point.where, key, found, expected, maybe))

    def _model(self, point: BenchmarkPoint) -> Model | None:
        said = self._known_model(point.model)
        if self.flags.model is None:
            if said is None:
                found = f'"{point.model}"' if point.model else "nothing"
                hint = nearest(point.model or "", self.catalog.names("models"))
                self._fault(point, "model", found, "a model of the catalog, or --model", hint)
            return said
        own = self.own_model
        if own is not None and said is not None and said.id != own.id:
            self._fault(point, "model", f'"{point.model}"', f'"{self.flags.model}", as --model says')
        return own

    def _known_model(self, name: str | None) -> Model | None:
        if not name:
            return None
        return self.catalog.model(name) or self.catalog.model(name.rstrip("/").rsplit("/", 1)[-1])

    def _gpu(self, point: BenchmarkPoint) -> Accelerator | None:
        return self._named(point, "gpu", "accelerators", "an accelerator", self.catalog.accelerator)  # type: ignore[no-any-return]

    def _engine(self, point: BenchmarkPoint) -> Engine | None:
        if self.flags.engine is None and "engine" not in point.facts:
            return self.catalog.engine(DEFAULT_ENGINE)
        return self._named(point, "engine", "engines", "an engine", self.catalog.engine)  # type: ignore[no-any-return]

    def _named(self, point: BenchmarkPoint, fact: str, folder: str, what: str, find: Any) -> Any:
        """The entry that the flag or the file names."""
        flag, said = getattr(self.flags, fact), point.facts.get(fact)
        known = find(str(said)) if said is not None else None
        if flag is None:
            if known is None:
                found = "nothing" if said is None else f'"{said}"'
                hint = nearest(str(said or ""), self.catalog.names(folder))
                self._fault(point, fact, found, f"{what} of the catalog, or --{fact}", hint)
            return known
        own = find(flag)
        if own is None:
            return None  # the names of the flags are checked once
        if known is not None and known.id != own.id:
            self._fault(point, fact, f'"{said}"', f'"{flag}", as --{fact} says')
        return own

    def _degree(self, point: BenchmarkPoint, name: str) -> int | None:
        flag, said = getattr(self.flags, name), point.facts.get(name)
        if flag is not None and said is not None and flag != said:
            self._fault(point, name, str(said), f"{flag}, as --{name.replace('_', '-')} says")
        return flag if flag is not None else (int(said) if said is not None else None)

    def _tokens(self, point: BenchmarkPoint, name: str, stated: float | None) -> float:
        flag = getattr(self.flags, name)
        if stated:
            return stated
        if flag is None:
            self._fault(point, name, "no mean length", f"--{name}, the mean tokens of a request")
        return float(flag or 1)

    def _weights(self, point: BenchmarkPoint, model: Model | None) -> str:
        flag, said = self.flags.weights, point.facts.get("weights")
        known = self.catalog.number_format(str(said)) if said is not None else None
        if flag is not None:
            own = self.catalog.number_format(flag)
            if own is not None and known is not None and own.id != known.id:
                self._fault(point, "weights", f'"{said}"', f'"{flag}", as --weights says')
            return own.id if own is not None else ""
        if said is not None and known is None:
            hint = nearest(str(said), self.catalog.names("formats"))
            self._fault(point, "weights", f'"{said}"', "a number format of the catalog, or --weights", hint)
        stored = self._known_model(point.model)
        hinted = None if stored is not None else _FORMAT_IN_NAME.search(point.model or "")
        if said is None and hinted is not None:
            found = f'only the name "{point.model}"'
            self._fault(point, "weights", found, "the format of the weights, --weights", f"{hinted.group(1)}")
        if known is not None:
            return known.id
        of = stored or model
        return of.native_format if of is not None else ""

    def _kv(self, point: BenchmarkPoint) -> str:
        if self.flags.kv is not None:
            own = self.catalog.number_format(self.flags.kv)
            return own.id if own is not None else ""
        known = self.catalog.number_format(str(point.facts.get("kv", "")))
        return known.id if known is not None else ""


def _with_model(catalog: Catalog, model: Model) -> Catalog:
    """The catalog with a model that was read from a config.json."""
    if model.id in catalog.by_folder["models"]:
        return catalog
    models = {**catalog.by_folder["models"], model.id: model}
    ids = {**catalog.ids["models"], folded(model.id): model.id}
    return replace(
        catalog, by_folder={**catalog.by_folder, "models": models}, ids={**catalog.ids, "models": ids}
    )
