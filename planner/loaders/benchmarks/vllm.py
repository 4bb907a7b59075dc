"""vLLM ``bench serve --save-result``: one object, or one a line with ``--append-result``; times in ms."""

from __future__ import annotations

from typing import Any

from planner.loaders.benchmarks import serving
from planner.loaders.benchmarks.details import lengths, samples
from planner.loaders.benchmarks.reading import METADATA, Reading, iso_date
from planner.schema.benchmark import BenchmarkPoint

NAME = "vllm"
_ENGINES = {"vllm": "vllm", "vllm-chat": "vllm", "sglang": "sglang", "sglang-native": "sglang",
            "tensorrt-llm": "tensorrt-llm"}  # fmt: skip


def matches(value: dict[str, Any]) -> bool:
    """A flat object with the totals of vLLM's client."""
    return "request_throughput" in value and ("mean_ttft_ms" in value or "model_id" in value)


def points(reading: Reading) -> list[BenchmarkPoint]:
    """The one run of an object. What ``--metadata`` adds stands as text at top level."""
    completed = serving.counted(reading)
    latency = {name: serving.latency_s(reading, name) for name in ("ttft", "tpot", "itl", "e2el")}
    serving.check_details(reading, latency)
    listed = samples(reading)
    facts = reading.listed_facts(METADATA)
    engine = _ENGINES.get(str(reading.text("engine", "backend") or "").lower())
    if engine:
        facts["engine"] = engine
    rate, concurrency = reading.rate("request_rate"), reading.number("max_concurrency")
    return [
        BenchmarkPoint(
            source=NAME,
            where=reading.where,
            raw_sha256=reading.sha256,
            model=reading.text("model_id", "model"),
            facts=facts,
            isl_mean_tokens=serving.mean_tokens(reading, "total_input_tokens", completed),
            osl_mean_tokens=serving.mean_tokens(reading, "total_output_tokens", completed),
            offered_rps=rate,
            concurrency=concurrency,
            arrival_scv_ratio=_arrivals(reading),
            input_tokens=lengths(listed, "input_tokens"),
            output_tokens=lengths(listed, "output_tokens"),
            ttft_s=latency["ttft"],
            tpot_s=latency["tpot"],
            itl_s=latency["itl"],
            e2e_s=latency["e2el"],
            output_tokens_per_s=reading.number("output_throughput", needed=True),
            requests_per_s=reading.number("request_throughput", needed=True),
            completed=completed,
            failed=serving.failures(reading, completed),
            tokens_per_step=max(reading.number("spec_decode_acceptance_length") or 1.0, 1.0),
            date=iso_date(reading.text("date")),
            samples=listed,
        )
    ]


def _arrivals(reading: Reading) -> float | None:
    """Gaps follow a gamma distribution whose shape is the burstiness: its inverse is their variation."""
    shape = reading.number("burstiness") if reading.rate("request_rate") is not None else None
    return 1.0 / shape if shape else None
