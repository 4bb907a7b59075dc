"""Reads tables of published measurements: two layouts, told apart by their header."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from planner.errors import Fault, InputError, input_error
from planner.loaders.csv_table import Cells, header_faults, read_table
from planner.loaders.measurement_notes import kind_of, read_note
from planner.schema.measurement import Measurement, Pool

PUBLIC = (
    "id", "source", "source_ref", "date", "model", "model_arch_note", "params_total_b", "params_active_b",
    "gpu", "n_gpus", "engine", "engine_version", "weight_precision", "kv_precision", "tp", "pp", "ep", "dp",
    "scenario", "isl_mean", "osl_mean", "concurrency_or_batch", "request_rate_rps", "output_tok_s",
    "total_tok_s", "ttft_ms", "itl_ms", "tpot_ms", "quality", "note",
)  # fmt: skip
SERVING = (
    "id", "engine", "engine_version", "model", "gpu", "mode", "weight_precision", "kv_precision_assumed",
    "isl", "osl", "length_factor", "concurrency", "n_gpus", "tp", "pp", "attention_dp", "ep", "speculation",
    "prefill_workers", "prefill_ep", "prefill_attention_dp", "decode_workers", "decode_ep",
    "decode_attention_dp", "prefill_tp", "prefill_pp", "decode_tp", "decode_pp", "decode_batch",
    "prefill_batch", "layout_candidates", "ttft_ms", "tpot_ms", "doubtful",
)  # fmt: skip
_PUBLIC_NEEDED = ("id", "model", "gpu", "engine", "weight_precision", "scenario", "isl_mean", "osl_mean")
_SERVING_NEEDED = ("id", "engine", "model", "gpu", "mode", "weight_precision", "isl", "osl", "concurrency")
_SCENARIOS = ("offline_max", "concurrency", "open_loop_rate", "server_slo")
_SPECULATION = {"none": "none", "": "none", "mtp": "on", "on": "on", "unknown": "unknown"}
_MODES = ("agg", "disagg")
MAX_FAULTS = 50
_MISSPELLED = 5
"""With more unknown columns than this a table has a layout of its own."""


def read_measurements(path: Path) -> tuple[Measurement, ...]:
    """The rows of a table, in its order.

    Raises:
        InputError: unknown or missing columns, bad cells, repeated ids; all at once.
    """
    lines = read_table(path, f"a table of measurements (CSV) with the columns {', '.join(_PUBLIC_NEEDED)}")
    where, header = lines[0]
    columns, needed, read = _layout(where, header)
    faults = header_faults(where, header, columns, needed)
    if faults:
        raise InputError(faults)
    rows = [read(Cells(place, header, cells, faults)) for place, cells in lines[1:]]
    faults += repeated(rows)
    if faults:
        raise InputError(faults[:MAX_FAULTS])
    if not rows:
        raise input_error(where, "", "a header without rows", "at least one measurement")
    return tuple(rows)


Reader = Callable[[Cells], Measurement]


def _layout(where: str, header: Sequence[str]) -> tuple[Sequence[str], Sequence[str], Reader]:
    """The layout that shares more columns with the header."""
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        found = f'"{header[0][:60]}"'
        raise input_error(where, "", found, "columns separated by commas", "the separator is not a comma")
    own = set(header)
    strange = own - set(PUBLIC) - set(SERVING)
    public, serving = len(own & set(PUBLIC) - set(SERVING)), len(own & set(SERVING) - set(PUBLIC))
    if public == serving == 0 or len(strange) > _MISSPELLED:
        expected = f"a table of measurements: {', '.join(_PUBLIC_NEEDED)} or {', '.join(_SERVING_NEEDED)}"
        # The way in which most tools check an input file.
        problem = PurePath(where.rpartition(":")[0]).suffix in (".yaml", ".yml")
        maybe = "it is a problem, which planner plan checks and answers" if problem else ""
        raise input_error(where, "", f"a table of other columns ({len(header)})", expected, maybe)
    if public >= serving:
        return PUBLIC, _PUBLIC_NEEDED, _public_row
    return SERVING, _SERVING_NEEDED, _serving_row


def _public_row(cells: Cells) -> Measurement:
    note = read_note(cells.text("note"))
    scenario = cells.word("scenario", _SCENARIOS)
    requests, output_tokens = cells.number("concurrency_or_batch"), cells.number("osl_mean")
    if scenario == "offline_max" and not requests:
        requests = note.sent
    dp = cells.count("dp")
    engine, version = cells.text("engine"), cells.text("engine_version")
    return Measurement(
        id=cells.needed("id"),
        where=cells.where,
        kind=kind_of(scenario, note, requests, output_tokens),
        model=cells.needed("model"),
        gpu=cells.needed("gpu"),
        engine=engine,
        engine_version=version,
        weights=cells.text("weight_precision"),
        kv=cells.text("kv_precision") or note.kv,
        gpus=cells.count("n_gpus"),
        tp=cells.count("tp"),
        pp=cells.count("pp"),
        ep=cells.count("ep"),
        attention_dp=dp or note.attention_dp or (cells.count("tp") if note.spread else 0),
        input_tokens=cells.number("isl_mean"),
        output_tokens=output_tokens,
        requests=requests,
        run_requests=note.run if scenario in ("open_loop_rate", "concurrency") else 0.0,
        rate_rps=cells.number("request_rate_rps"),
        ttft_limit_ms=note.ttft_limit_ms,
        tpot_limit_ms=note.tpot_limit_ms,
        batched_tokens=note.batched_tokens,
        max_running=note.max_running,
        memory_fraction=note.memory_fraction,
        speculation="on" if note.speculation else "none",
        disaggregated=note.disaggregated,
        prefill=note.prefill,
        decode=note.decode,
        layout_candidates=1 if note.disaggregated and note.prefill.tp else 0,
        doubtful=note.poor or cells.text("quality") == "C",
        whole_batch_prompt=note.alone,
        legacy=False if note.pytorch else told_legacy(version),
        output_tokens_per_s=cells.number("output_tok_s"),
        ttft_ms=cells.number("ttft_ms"),
        itl_ms=cells.number("itl_ms"),
        tpot_ms=cells.number("tpot_ms"),
        source=cells.text("source"),
    )


def _serving_row(cells: Cells) -> Measurement:
    factor = cells.number("length_factor") or 1.0
    split = cells.word("mode", _MODES) == "disagg"
    said = cells.text("speculation")
    if said not in _SPECULATION:
        cells.word("speculation", tuple(word for word in _SPECULATION if word))
    row = Measurement(
        id=cells.needed("id"),
        where=cells.where,
        kind="closed-loop",
        model=cells.needed("model"),
        gpu=cells.needed("gpu"),
        engine=cells.needed("engine"),
        engine_version=cells.text("engine_version"),
        weights=cells.needed("weight_precision"),
        kv=cells.text("kv_precision_assumed"),
        gpus=cells.count("n_gpus"),
        tp=cells.count("tp"),
        pp=cells.count("pp"),
        ep=cells.count("ep"),
        attention_dp=cells.count("attention_dp"),
        input_tokens=cells.number("isl") * factor,
        output_tokens=cells.number("osl") * factor,
        equal_lengths=cells.number("length_factor") == 1.0,
        requests=cells.number("concurrency"),
        speculation=_SPECULATION.get(said, "unknown"),  # type: ignore[arg-type]  # words of the noun
        disaggregated=split,
        layout_candidates=cells.count("layout_candidates"),
        doubtful=cells.text("doubtful") == "yes",
        # The version of a split row may be that of what starts its workers.
        legacy=False if split else None,
        ttft_ms=cells.number("ttft_ms"),
        tpot_ms=cells.number("tpot_ms"),
        source="serving",
    )
    return replace(row, prefill=_pool(cells, "prefill"), decode=_pool(cells, "decode")) if split else row


def _pool(cells: Cells, side: str) -> Pool:
    """Workers of one side.

    Attention-DP of a pool is a switch in the launch lists behind the table: 1 is on, which spreads attention
    over all GPUs of a worker. A table that gives more than 1 gives the degree.
    """
    tp, spread = cells.count(f"{side}_tp"), cells.count(f"{side}_attention_dp")
    return Pool(
        workers=cells.count(f"{side}_workers"),
        tp=tp,
        pp=cells.count(f"{side}_pp"),
        ep=cells.count(f"{side}_ep"),
        attention_dp=tp if spread == 1 else spread,
    )


def told_legacy(version: str) -> bool | None:
    """A release of TensorRT in place of TensorRT-LLM stands for the former engine, built from it."""
    return True if version.startswith("TensorRT ") else None


def repeated(rows: Sequence[Measurement]) -> list[Fault]:
    """Ids that stand in two rows."""
    first: dict[str, str] = {}
    faults = []
    for row in rows:
        if row.id and row.id in first:
            faults.append(Fault(row.where, "id", f'"{row.id}" again, as in {first[row.id]}', "every id once"))
        first.setdefault(row.id, row.where)
    return faults
