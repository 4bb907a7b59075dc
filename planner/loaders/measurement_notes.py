"""What the free text of a measurement says that no column holds."""

from __future__ import annotations

import re
from dataclasses import dataclass

from planner.schema.measurement import Kind, Pool

_LIMIT = re.compile(r"\b(TTFT|TPOT|ITL)\b\s*(?:<=|<|≤|:|=)?\s*([0-9][0-9,]*(?:\.[0-9]+)?)\s*(ms|s)?\b", re.I)
_SPLIT = re.compile(r"DISAGGREGATED\s+(\d+)\s*P\s*(\d+)\s*D", re.I)
_WORKER = re.compile(r"each worker TP\s*(\d+)", re.I)
_CHUNK = re.compile(r"max[-_]num[-_](?:batched[-_])?tokens[= ]+([0-9]+)", re.I)
_RUNNING = re.compile(r"max[-_]num[-_]seqs[= ]+([0-9]+)|max[-_]running[-_]requests[= ]+([0-9]+)", re.I)
_SHARE = re.compile(
    r"(?:gpu-memory-utilization|mem-fraction-static|KV fraction up to)[= ]+(0?\.[0-9]+)", re.I
)
_RANKS = re.compile(r"--(?:dp|dp-size|data-parallel-size)[= ]+([0-9]+)")
_STATIC = re.compile(
    r"static batch|offline batch|whole batch|batch latency|published \"speed|speed\(tokens/s\)", re.I
)
_KV = re.compile(r"--kv[-_]cache[-_]dtype[= ]+([a-z0-9_]+)", re.I)
_SENT = re.compile(r"queueing for ([0-9]+) requests|all ([0-9]+) requests sent at once", re.I)
_RUN = re.compile(r"\b([0-9]{2,6}) requests\b")
_ALONE = re.compile(r"pure prefill|whole batch|no http", re.I)


@dataclass(frozen=True)
class Note:
    """The statements of one note."""

    static: bool
    alone: bool
    """A time to first token without a server in front."""
    speculation: bool
    disaggregated: bool
    prefill: Pool
    decode: Pool
    ttft_limit_ms: float
    tpot_limit_ms: float
    batched_tokens: int
    max_running: int
    memory_fraction: float
    attention_dp: int
    spread: bool
    """Attention is data-parallel over all GPUs, whatever the columns say."""
    kv: str
    sent: float
    """Requests sent at once."""
    run: float
    """Requests of a whole run."""
    poor: bool
    pytorch: bool


def read_note(text: str) -> Note:
    """The statements of a note; what it does not say is 0 or empty."""
    split, worker = _SPLIT.search(text), _WORKER.search(text)
    tp = int(worker.group(1)) if worker else 0
    limits = _limits(text)
    sent = _SENT.search(text)
    return Note(
        static=bool(_STATIC.search(text)),
        alone=bool(_ALONE.search(text)),
        speculation="speculative decoding on" in text.lower(),
        disaggregated=split is not None,
        prefill=Pool(workers=int(split.group(1)), tp=tp) if split else Pool(),
        decode=Pool(workers=int(split.group(2)), tp=tp) if split else Pool(),
        ttft_limit_ms=limits.get("TTFT", 0.0),
        tpot_limit_ms=limits.get("TPOT", limits.get("ITL", 0.0)),
        batched_tokens=_whole(_CHUNK, text),
        max_running=_whole(_RUNNING, text),
        memory_fraction=float(share.group(1)) if (share := _SHARE.search(text)) else 0.0,
        attention_dp=_whole(_RANKS, text),
        spread="enable_attention_dp" in text,
        kv=kv.group(1).lower() if (kv := _KV.search(text)) else "",
        sent=float(next(group for group in sent.groups() if group)) if sent else 0.0,
        run=float(_whole(_RUN, text)),
        poor="POOR SOFTWARE" in text or "DOUBTFUL" in text,
        pytorch="pytorch backend" in text.lower(),
    )


def kind_of(scenario: str, note: Note, requests: float, output_tokens: float) -> Kind:
    """How the load of a row is to be understood."""
    if scenario == "open_loop_rate":
        return "open-loop"
    if scenario == "server_slo":
        return "server-slo"
    if scenario == "offline_max":
        return "burst" if requests else "offline"
    if output_tokens == 1.0:
        return "first-token"
    return "static-batch" if note.static else "closed-loop"


def _limits(text: str) -> dict[str, float]:
    """The limits of ``p99 SLO (ms): TTFT 2000 TPOT 200``: only those up to the end of that statement."""
    start = re.search(r"\bSLO\b|\blimits?\b", text, re.I)
    if start is None:
        return {}
    statement = text[start.end() :].split(";")[0]
    seconds = re.match(r"\s*\(s\)", statement) is not None
    found: dict[str, float] = {}
    for name, number, unit in _LIMIT.findall(statement):
        scale = 1000.0 if unit.lower() == "s" or (seconds and not unit) else 1.0
        found.setdefault(name.upper(), float(number.replace(",", "")) * scale)
    return found


def _whole(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return int(next(group for group in found.groups() if group)) if found else 0
