"""Reads tables of published runs with percentiles."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from planner.errors import Fault, InputError, input_error
from planner.loaders.csv_table import Cells, header_faults, read_table
from planner.loaders.measurement_notes import read_note
from planner.loaders.measurements import MAX_FAULTS, repeated, told_legacy
from planner.schema.measurement import Kind, Measurement
from planner.schema.percentiles import MEANS, METRICS, NUMBERS, LengthKind, PercentileRow, SharedPrompts
from planner.schema.routing import RoutingPolicy

COLUMNS = (
    "id", "source", "date", "model", "model_note", "gpu", "n_gpus", "tp", "pp", "dp", "replicas", "router",
    "engine", "engine_version", "weight_precision", "kv_precision", "dataset", "isl_mean", "isl_kind",
    "osl_mean", "osl_kind", "prefix_share", "load_kind", "request_rate_rps", "burstiness", "concurrency",
    "n_requests", "duration_s", "request_throughput_rps", "output_tok_s",
    *(f"{metric}_{name}_ms" for metric in METRICS for name in ("mean", "p50", "p90", "p95", "p99")),
    "prefix_cache", "chunked_prefill", "quality", "note",
)  # fmt: skip
NEEDED = ("id", "model", "gpu", "engine", "load_kind", "isl_mean", "osl_mean")
_LOADS: dict[str, Kind] = {"rate": "open-loop", "concurrency": "closed-loop", "burst": "burst"}
_ROUTERS: tuple[tuple[str, RoutingPolicy], ...] = (
    (r"load scorers only", "least-loaded"),
    (r"prefix|kv-aware|default scorers|predicted latency", "cache-aware"),
    (r"round.?robin", "round-robin"),
    (r"power.of.two", "power-of-two"),
    (r"shared.queue", "shared-queue"),
    (r"random", "random"),
    (r"least.load|load.aware", "least-loaded"),
)
"""The first pattern that a name holds decides; what looks at prefixes and at loads looks at prefixes."""
_GROUPS = re.compile(r"(\d+) (?:groups|prefixes) x (\d+) (?:prompts|users)")
_REASONS = (
    (r"decode steps per (?:scheduler )?call", "tokens come in groups: several decode steps a call"),
    (r"streaming interval|chunks of \d+ tokens", "tokens come in groups: several in one chunk"),
    (r"speculative decoding|accept_length", "speculative decoding"),
    (r"marked experimental", "software that its own source marks as experimental"),
    (r"medians give far fewer in flight", "its own numbers disagree (Little's law)"),
)
"""What a note says of numbers that mean something else than they do elsewhere."""
_OLD_ENGINE = re.compile(r"(?i)\bV0 engine\b")
"""A present version that was told to run its former engine."""
_PRESENT_SINCE = {"tensorrt-llm": "2025-09-24", "vllm": "2025-01-27"}
"""Release of the first version of an engine's present generation."""
_CONSTANT = 0.0
EXPECTED = f"a table of runs with percentiles (CSV) with the columns {', '.join(NEEDED)}"


def holds_percentiles(path: Path) -> bool:
    """Whether the header of a table is that of this layout: percentiles of TTFT, and a kind of load.

    Raises:
        InputError: a file that cannot be read.
    """
    _, header = read_table(path, EXPECTED)[0]
    return "load_kind" in header and any(name.startswith("ttft_p") for name in header)


def read_percentiles(path: Path) -> tuple[PercentileRow, ...]:
    """The rows of a table, in its order.

    Raises:
        InputError: unknown or missing columns, bad cells, repeated ids; all at once.
    """
    lines = read_table(path, EXPECTED)
    where, header = lines[0]
    faults = header_faults(where, header, COLUMNS, NEEDED)
    if faults:
        raise InputError(faults)
    rows = [percentile_row(Cells(place, header, cells, faults)) for place, cells in lines[1:]]
    faults += repeated([row.measured for row in rows])
    if faults:
        raise InputError(faults[:MAX_FAULTS])
    if not rows:
        raise input_error(where, "", "a header without rows", "at least one run")
    return tuple(rows)


def percentile_row(cells: Cells) -> PercentileRow:
    """One line; faults are gathered in the cells."""
    kind = _LOADS.get(cells.word("load_kind", tuple(_LOADS)), "open-loop")
    note, engine, version = cells.text("note"), cells.text("engine"), cells.text("engine_version")
    completed, limits = cells.number("n_requests"), read_note(note)
    rate = 0.0 if cells.text("request_rate_rps") == "inf" else cells.number("request_rate_rps")
    gpus, replicas = cells.count("n_gpus"), cells.count("replicas")
    tp, pp = cells.count("tp"), cells.count("pp")
    if not tp and replicas and gpus and gpus % replicas == 0:
        tp = gpus // replicas // (pp or 1)
    measured = Measurement(
        id=cells.needed("id"),
        where=cells.where,
        kind=kind,
        model=cells.needed("model"),
        gpu=cells.needed("gpu"),
        engine=engine,
        engine_version=version,
        weights=cells.text("weight_precision"),
        kv=cells.text("kv_precision"),
        gpus=gpus,
        tp=tp,
        pp=pp,
        input_tokens=cells.number("isl_mean"),
        output_tokens=cells.number("osl_mean"),
        equal_lengths=cells.text("isl_kind") == cells.text("osl_kind") == "fixed",
        requests=completed if kind == "burst" else cells.number("concurrency"),
        run_requests=completed,
        rate_rps=rate,
        ttft_limit_ms=limits.ttft_limit_ms,
        tpot_limit_ms=limits.tpot_limit_ms,
        max_running=_number(r"max_num_seqs[ =]+(\d+)", note),
        doubtful=cells.text("quality") == "C",
        published_format=not re.search(r"not the quanti[sz]ed engine", note),
        legacy=True if _OLD_ENGINE.search(note) else _is_legacy(engine, version, cells.text("date")),
        output_tokens_per_s=cells.number("output_tok_s"),
        ttft_ms=cells.number("ttft_mean_ms"),
        itl_ms=cells.number("itl_mean_ms"),
        tpot_ms=cells.number("tpot_mean_ms"),
        source=cells.text("source"),
    )
    return PercentileRow(
        measured=measured,
        source=cells.text("source"),
        router=cells.text("router"),
        policy=policy_of(cells.text("router")),
        replicas=replicas,
        burstiness=_burstiness(cells),
        window_s=cells.number("duration_s"),
        completed_rps=cells.number("request_throughput_rps"),
        input_kind=_lengths(cells, "isl_kind"),
        output_kind=_lengths(cells, "osl_kind"),
        prompts=_prompts(cells),
        prefix_cache=cells.text("prefix_cache") != "off",
        doubt=_reason(cells, note),
        observed_ms={
            name: value for name in (*NUMBERS, *MEANS) if (value := cells.number(f"{name}_ms")) > 0.0
        },
    )


def _is_legacy(engine: str, version: str, day: str) -> bool | None:
    """By the day of the run where no version is stated."""
    if version:
        return told_legacy(version)
    since = next((day for name, day in _PRESENT_SINCE.items() if engine.casefold().startswith(name)), "")
    return bool(day and since and day < since)


def policy_of(name: str) -> RoutingPolicy | None:
    """The policy that a router's name stands for; None for an empty or unknown one."""
    folded = name.casefold()
    return next((policy for pattern, policy in _ROUTERS if re.search(pattern, folded)), None)


def _reason(cells: Cells, note: str) -> str:
    if cells.text("quality") == "C":
        return "graded C by the table: survivors, pooled loads, coarse rounding or speculation"
    if cells.text("router") and policy_of(cells.text("router")) is None:
        return "a router that is not known"
    if re.search(r"growing history|multi-turn", cells.text("dataset")) and not cells.text("prefix_share"):
        return "conversations that grow, without the share of their prompts that is found again"
    if cells.text("burstiness") == "trace":
        return "arrivals of a trace that is not in the table"
    return next((reason for pattern, reason in _REASONS if re.search(pattern, note.casefold())), "")


def _prompts(cells: Cells) -> SharedPrompts | None:
    share = cells.number("prefix_share")
    if not share:
        return None
    found = _GROUPS.search(cells.text("dataset"))
    groups, prompts = (int(found.group(1)), int(found.group(2))) if found else (0, 0)
    return SharedPrompts(min(share, 1.0), groups, prompts)


def _burstiness(cells: Cells) -> float:
    text = cells.text("burstiness")
    if text == "constant":
        return _CONSTANT
    return 1.0 if text in ("", "trace") else cells.number("burstiness")


def _lengths(cells: Cells, column: str) -> LengthKind:
    text = cells.text(column) or "other"
    if text not in get_args(LengthKind):
        known = ", ".join(get_args(LengthKind))
        cells.faults.append(Fault(cells.where, column, f'"{text[:60]}"', f"one of {known}"))
        return "other"
    return text  # type: ignore[return-value]  # a word of the noun


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    return int(found.group(1)) if found else 0
