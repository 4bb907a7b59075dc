"""Measurements -> configurations and loads: names by the catalog, assumptions where tables are silent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from planner.calibration.generations import generation_of
from planner.calibration.measured_load import load_of
from planner.calibration.row_layouts import Skipped, held_sequences, linked, prefill_side, workers
from planner.calibration.run_limits import raised_limit, with_limit
from planner.candidates.space import network as default_network
from planner.errors import nearest
from planner.performance.row_loads import RowLoads, Service, configurations_of, row_loads
from planner.planning.requests import with_utilization
from planner.schema.catalog import Accelerator, Calibration, Engine, NumberFormat
from planner.schema.catalog_index import Catalog
from planner.schema.configuration import Configuration
from planner.schema.engine import EngineGeneration
from planner.schema.facts import ModelFacts
from planner.schema.hardware import Fleet
from planner.schema.measurement import Measurement
from planner.steptime.build import PreparedSpecs
from planner.steptime.model_facts import model_facts
from planner.steptime.weights import attention_format

LEGACY = "-legacy"
"""How the names of former generations end."""
UNNAMED = "unnamed"
"""Overheads of tables that name no engine; memory and limits are those of the next name."""
UNNAMED_ENGINE = "vllm"
_TP = (1, 2, 4, 8)
_RUNS = "run_requests."
"""Judgment on runs of a document: its name, then prompt and answer tokens."""
_COMFORT_SEQUENCES = 16.0
"""An audited run of unknown layout takes the smallest degree that holds so many sequences."""
_HELD = 0.8
"""And this share of what it had in flight."""


@dataclass(frozen=True, eq=False)
class MeasuredRows:
    """Rows that can be predicted, with the reasons of those that cannot."""

    measurements: tuple[Measurement, ...]
    """Those that can."""
    configurations: tuple[Configuration, ...]
    """The first ones belong to the measurements, one each; prefill workers follow."""
    services: tuple[Service, ...]
    """Of the measurements, one each."""
    families: tuple[str, ...]
    """Family of the model of each measurement."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Id -> why not."""

    @cached_property
    def loads(self) -> RowLoads:
        """The loads as columns."""
        return row_loads(self.services)

    @cached_property
    def prepared(self) -> PreparedSpecs:
        """Columns that outlive a change of the calibration."""
        return PreparedSpecs(self.configurations)


def measured_rows(
    measurements: Sequence[Measurement], catalog: Catalog, calibration: Calibration
) -> MeasuredRows:
    """Resolve every row."""
    reader = _Reader(catalog, calibration)
    kept: list[Measurement] = []
    items: list[Configuration] = []
    workers: list[Configuration | None] = []
    skipped: dict[str, str] = {}
    for row in measurements:
        try:
            complete = reader.completed(row)
            item, prefill = reader.configuration(complete)
        except Skipped as reason:
            skipped[row.id] = str(reason)
            continue
        workers.append(prefill)
        kept.append(complete)
        items.append(item)
    services = tuple(
        reader.service(row, item, worker) for row, item, worker in zip(kept, items, workers, strict=True)
    )
    family = {name: reader.family(name) for name in {row.model for row in kept}}
    families = tuple(family[row.model] for row in kept)
    return MeasuredRows(tuple(kept), configurations_of(services), services, families, skipped)


class _Reader:
    """Looks names up once, and fills in what a row leaves out."""

    def __init__(self, catalog: Catalog, calibration: Calibration) -> None:
        self.catalog = catalog
        self.calibration = calibration
        self.judgment = catalog.find("judgment", "measurements").parameters
        self.formats = catalog.formats
        self.network = default_network(Fleet(), catalog)
        self._facts: dict[str, ModelFacts] = {}
        self._engines: dict[tuple[object, ...], Engine] = {}

    # -- names --------------------------------------------------------------------------------------------

    def model(self, name: str) -> ModelFacts:
        if name not in self._facts:
            found = self.catalog.model(name)
            if found is None:
                raise Skipped(self._unknown("model", name, "models"))
            self._facts[name] = model_facts(found)
        return self._facts[name]

    def family(self, name: str) -> str:
        found = self.catalog.model(name)
        return found.family if found else ""

    def published(self, name: str) -> str:
        """The format of a checkpoint by its name."""
        found = self.catalog.model(name)
        return found.native_format if found else ""

    def accelerator(self, name: str) -> Accelerator:
        found = self.catalog.accelerator(name)
        if found is None:
            raise Skipped(self._unknown("GPU", name, "accelerators"))
        return found

    def format(self, name: str, what: str) -> NumberFormat:
        found = self.catalog.number_format(name)
        if found is None:
            raise Skipped(self._unknown(f"format of {what}", name, "formats"))
        return found

    def engine(self, row: Measurement) -> Engine:
        key = (
            row.engine, row.legacy, row.engine_version, row.memory_fraction, row.max_running, row.in_flight,
        )  # fmt: skip
        if key not in self._engines:
            found = self.catalog.engine(row.engine or UNNAMED_ENGINE)
            if found is None:
                raise Skipped(self._unknown("engine", row.engine, "engines"))
            found = self._named(row, found)
            limit = row.max_running or raised_limit(found, row)
            if limit:
                found = with_limit(found, limit)
            if row.memory_fraction:
                found = with_utilization(found, row.memory_fraction)
            self._engines[key] = found
        return self._engines[key]

    def _named(self, row: Measurement, engine: Engine) -> Engine:
        """The engine under the name that its overheads have in the calibration."""
        if not row.engine and UNNAMED in self.calibration.engines:
            return engine.model_copy(update={"id": UNNAMED})
        if row.legacy is None:
            former = generation_of(engine, row.engine, row.engine_version)
        else:
            former = engine.generations[-1] if row.legacy and engine.generations else None
        return self._former(engine, former) if former is not None else engine

    def _former(self, engine: Engine, generation: EngineGeneration) -> Engine:
        """A generation before: numbers of its own, and its smaller batch where the catalog has one."""
        if generation.id in self.calibration.engines:
            engine = engine.model_copy(update={"id": generation.id})
        modest = engine.limits.modest
        return with_limit(engine, modest.max_running) if modest else engine

    def _unknown(self, what: str, name: str, folder: str) -> str:
        hint = nearest(name, self.catalog.names(folder))
        return f'{what} "{name}" is not in the catalog' + (f" (maybe {hint})" if hint else "")

    # -- what rows leave out ------------------------------------------------------------------------------

    def completed(self, row: Measurement) -> Measurement:
        """The row with lengths and load; a reason where they are missing."""
        if not row.input_tokens:
            known = self.judgment.get(f"input_tokens.{self.model(row.model).id}")
            if known is None:
                raise Skipped("the input length is not stated")
            row = replace(row, input_tokens=known.value)
        if not row.output_tokens:
            raise Skipped("the output length is not stated")
        if not row.requests and row.kind in ("static-batch", "closed-loop", "burst", "first-token"):
            raise Skipped("the number of requests in flight is not stated")
        if row.kind == "open-loop" and not row.rate_rps:
            raise Skipped("the offered rate is not stated")
        if row.kind == "server-slo" and not (row.ttft_limit_ms or row.tpot_limit_ms):
            raise Skipped("the note names no p99 limits")
        return self._as_run(row)

    def _as_run(self, row: Measurement) -> Measurement:
        """With the length of its run where the document behind it says how many equal requests that were."""
        if row.kind != "offline":
            return row
        lengths = f"{row.input_tokens:.0f}.{row.output_tokens:.0f}"
        for name, known in self.judgment.items():
            document = name.removeprefix(_RUNS).removesuffix(f".{lengths}")
            if name == f"{_RUNS}{document}.{lengths}" and document in row.source:
                return replace(row, run_requests=known.value, equal_lengths=True)
        return row

    def configuration(self, row: Measurement) -> tuple[Configuration, Configuration | None]:
        """The replica of a row (the decode worker where it is disaggregated), and its prefill worker."""
        model, accelerator, engine = self.model(row.model), self.accelerator(row.gpu), self.engine(row)
        weights = self.weights(row)
        base = Configuration(
            model=model,
            accelerator=accelerator,
            weights=weights,
            attention_weights=attention_format(model, weights, self.formats),
            kv=self.kv(row, weights, accelerator),
            engine=engine,
            calibration=self.calibration,
            batched_tokens=row.batched_tokens or engine.limits.batched_on(accelerator),
            node_gpus=max(accelerator.host.node_size, 1),
            # A bridge that is sold apart would be named.
            fast_link=not accelerator.link.optional,
        )
        if row.disaggregated:
            return workers(base, row, self.network)
        return self._aggregated(base, row), None

    def weights(self, row: Measurement) -> NumberFormat:
        """The stated format; audited runs that do not say used FP8 wherever the hardware has it."""
        if row.weights:
            return self.format(row.weights, "the weights")
        if row.published_format:
            return self.format(self.published(row.model), "the weights")
        native = self.accelerator(row.gpu).compute.native
        return self.formats["fp8" if "fp8" in native else "bf16"]

    def kv(self, row: Measurement, weights: NumberFormat, accelerator: Accelerator) -> NumberFormat:
        """The stated format; else what the engine takes by default for such a checkpoint."""
        if row.kv and row.kv != "auto":
            return self.format(row.kv, "the KV cache")
        quantized = weights.id in ("fp8", "nvfp4") and "fp8" in accelerator.compute.native
        with_cache = self.engine(row).id.startswith("tensorrt-llm")
        return self.formats["fp8" if quantized and with_cache else "bf16"]

    def _aggregated(self, base: Configuration, row: Measurement) -> Configuration:
        tp, pp, ranks = row.tp, row.pp or 1, row.attention_dp or 1
        gpus = row.gpus or tp * pp * ranks
        if not gpus:
            raise Skipped("the number of GPUs is not stated")
        if tp and ranks > 1 and tp * ranks * pp > gpus and tp % ranks == 0:
            tp //= ranks  # engines that count attention ranks inside the tensor-parallel degree
        if not tp and row.kind in ("offline", "server-slo", "open-loop") and ranks == 1:
            tp = self._smallest(base, row, gpus)
        tp = tp or max(gpus // (pp * ranks), 1)
        if tp * pp * ranks > gpus:
            raise Skipped(f"a layout of {tp * pp * ranks} GPUs on {gpus}")
        # Tables that give no degree spread the experts of data-parallel attention over all its ranks.
        ep = min(row.ep or (tp * ranks if ranks > 1 else 1), tp * ranks)
        return linked(replace(base, tp=tp, pp=pp, ep=ep, attention_dp=ranks), self.network)

    def _smallest(self, base: Configuration, row: Measurement, gpus: int) -> int:
        for tp in _TP:
            item = replace(base, tp=tp)
            if tp > gpus or base.model.query_heads % tp:
                continue
            if held_sequences(item, row.input_tokens + row.output_tokens) >= max(
                _COMFORT_SEQUENCES, _HELD * row.in_flight * tp / gpus
            ):
                return tp
        return 0

    # -- loads --------------------------------------------------------------------------------------------

    def service(self, row: Measurement, item: Configuration, prefill: Configuration | None) -> Service:
        """The row as a service under its load."""
        # Workers of disaggregated serving share one queue: no replicas, however many GPUs.
        replicas = 1 if row.disaggregated else max(row.gpus // item.gpus, 1)
        side = None
        if prefill is not None:
            side = prefill_side(row, item, prefill, self.network)
        spread = self.judgment["length_log_sigma"].value
        return Service(
            item=item,
            load=load_of(row),
            input_tokens=row.input_tokens,
            output_tokens=row.output_tokens,
            held_answer_fraction=self._held(item),
            replicas=replicas,
            input_log_sigma=spread,
            output_log_sigma=spread,
            speculative=row.speculation == "on",
            prefill=side,
        )

    def _held(self, item: Configuration) -> float:
        name = UNNAMED_ENGINE if item.engine.id == UNNAMED else item.engine.id.removesuffix(LEGACY)
        return float(self.judgment[f"{name}.held_answer_fraction"].value)
