"""SGLang ``bench_serving``: one object a line; times in ms, details in seconds."""

from __future__ import annotations

from typing import Any

from planner.loaders.benchmarks import serving
from planner.loaders.benchmarks.details import lengths, samples
from planner.loaders.benchmarks.reading import METADATA, Reading, iso_date
from planner.schema.benchmark import BenchmarkPoint

NAME = "sglang"
_OWN = ("total_output_tokens_retokenized", "accept_length", "mean_e2e_latency_ms", "server_info")
_ENGINES = {
    "sglang": "sglang",
    "sglang-oai": "sglang",
    "sglang-oai-chat": "sglang",
    "sglang-native": "sglang",
    "vllm": "vllm",
    "vllm-chat": "vllm",
    "trt": "tensorrt-llm",
}
_MODEL = ("model_id", "model", "server_info.model_path", "server_info.served_model_name")


def matches(value: dict[str, Any]) -> bool:
    """A flat object with keys that only SGLang's client writes."""
    return "request_throughput" in value and any(key in value for key in _OWN)


def points(reading: Reading) -> list[BenchmarkPoint]:
    """The one run of a line. ``server_info`` holds the arguments of the server."""
    completed = serving.counted(reading)
    latency = {name: serving.latency_s(reading, name) for name in ("ttft", "tpot", "itl", "e2e_latency")}
    serving.check_details(reading, latency)
    hits = reading.number("cache_report.cache_hit_rate_pct") or 0.0
    listed = samples(reading)
    rate, concurrency = reading.rate("request_rate"), reading.number("max_concurrency")
    if rate is None and concurrency is None and reading.at("request_rate") == "trace":
        concurrency = reading.number("concurrency", needed=True)
    return [
        BenchmarkPoint(
            source=NAME,
            where=reading.where,
            raw_sha256=reading.sha256,
            model=reading.text(
                "model_id", "model", "server_info.model_path", "server_info.served_model_name"
            ),
            facts=_facts(reading),
            isl_mean_tokens=serving.mean_tokens(reading, "total_input_tokens", completed),
            osl_mean_tokens=serving.mean_tokens(reading, "total_output_tokens", completed),
            offered_rps=rate,
            concurrency=concurrency,
            # Its client draws exponential gaps for any finite rate.
            arrival_scv_ratio=None if rate is None else 1.0,
            input_tokens=lengths(listed, "input_tokens"),
            output_tokens=lengths(listed, "output_tokens"),
            ttft_s=latency["ttft"],
            tpot_s=latency["tpot"],
            itl_s=latency["itl"],
            e2e_s=latency["e2e_latency"],
            output_tokens_per_s=reading.number("output_throughput", needed=True),
            requests_per_s=reading.number("request_throughput", needed=True),
            completed=completed,
            failed=serving.failures(reading, completed),
            prefix_hit_fraction=min(hits / 100.0, 1.0),
            tokens_per_step=max(reading.number("accept_length") or 1.0, 1.0),
            date=iso_date(reading.text("date")),
            samples=listed,
        )
    ]


def _facts(reading: Reading) -> dict[str, str | int]:
    """The server's own arguments, then what the line says at top level.

    Attention-data-parallel groups lie inside SGLang's tensor-parallel degree: tp = tp_size / ranks.
    """
    info = {fact: [f"server_info.{key}" for key in keys] for fact, keys in METADATA.items()}
    facts = reading.listed_facts(info) | reading.listed_facts(METADATA)
    if reading.at("server_info.enable_dp_attention") and reading.has("server_info.dp_size"):
        facts["attention_dp"] = reading.count("server_info.dp_size")
    ranks, tp = int(facts.get("attention_dp", 1)), int(facts.get("tp", 1))
    if ranks > 1 and tp % ranks == 0:
        facts["tp"] = tp // ranks
    facts["engine"] = _ENGINES.get(str(reading.text("backend") or NAME).lower(), NAME)
    return facts
