"""Load tests that put exactly the planned peak on the running system, for four tools.

One list of requests for all of them: when each arrives, its lengths, and which blocks of its prompt
others have.

Source: options and configuration models of vLLM 0.33.0 (bench serve, dataset burstgpt), AIPerf 0.13.0
(mooncake_trace), GuideLLM 0.8.1 (scenario files, replay) and inference-perf 0.7.0 (trace_replay).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from planner import numbers
from planner.errors import CannotExpressError
from planner.explain.problem_values import sizing_of
from planner.exports.bench_commands import aiperf, vllm
from planner.exports.bench_target import URL, BenchTarget
from planner.exports.case import ExportCase
from planner.exports.http_routes import BUCKET_HEADER, WORKLOAD_HEADER
from planner.exports.load_sample import LoadSample, load_sample
from planner.exports.readme import plain
from planner.loaders.write import documents_yaml
from planner.schema.exported import Exported, ExportFile

_MIDNIGHT = datetime(2000, 1, 1)
"""Of the dates in traces: only differences count."""
_PERCENTILES = [50, 90, 95, 99]
_WORTH_SAYING = 0.005
"""Shares below are shown as no percent."""
_SERVERS = {"vllm": "vllm", "sglang": "sglang", "tensorrt-llm": "vllm"}
"""Servers as inference-perf calls them; all are asked in the words of OpenAI."""


def benchmark(case: ExportCase) -> Exported:
    """Commands, configurations and requests of every workload."""
    found = [_target(case, workload) for workload in case.workloads]
    files = [file for at in found for file in _files(at)]
    steps = [step for at in found for step in _steps(at)]
    return Exported(tuple(files), tuple(steps), tuple(dict.fromkeys(_notes(case, found))))


def _target(case: ExportCase, workload: str) -> BenchTarget:
    sizing, pools = sizing_of(case.plan, workload), case.of_workload(workload)
    if sizing is None:
        raise CannotExpressError(
            [f"{workload}: the plan states no lengths; plan it again with this version."]
        )
    asked = next(one for one in case.problem.workloads if one.name == workload)
    own = None if asked.trim or asked.images or asked.demand.sessions else asked.lengths
    longest_s = max((item.pool.e2e_s.get("p99", 0.0) for item in pools), default=0.0)
    sample = load_sample(sizing, own, longest_s, case.plan.guardrails_of(workload))
    headers = {WORKLOAD_HEADER: workload} if len(case.workloads) > 1 else {}
    return BenchTarget(
        workload=asked,
        name=case.workloads[workload],
        served_name=pools[0].served_name,
        tokenizer=pools[0].launch.weights.name,
        engine=pools[0].pool.engine,
        headers=headers,
        sample=sample,
    )


def _files(at: BenchTarget) -> Iterator[ExportFile]:
    sample = at.sample
    yield ExportFile(at.trace_jsonl, "".join(_mooncake(sample)).encode())
    yield ExportFile(at.azure_csv, _table(["TIMESTAMP", "ContextTokens", "GeneratedTokens"], _azure(sample)))
    columns = ["Timestamp", "Model", "Request tokens", "Response tokens", "Total tokens", "Log Type"]
    yield ExportFile(at.burstgpt_csv, _table(columns, _burstgpt(sample)))
    yield ExportFile(f"vllm-{at.name}.sh", vllm(at).encode(), executable=True)
    yield ExportFile(f"aiperf-{at.name}.sh", aiperf(at).encode(), executable=True)
    yield ExportFile(at.guidellm_yaml, documents_yaml([_guidellm(at)]).encode())
    yield ExportFile(at.inference_perf_yaml, documents_yaml([_inference_perf(at)]).encode())


def _mooncake(sample: LoadSample) -> Iterator[str]:
    """Lines in the layout of the Mooncake traces: milliseconds, lengths, ids of blocks."""
    rows = zip(sample.arrive_s, sample.input_tokens, sample.output_tokens, sample.blocks(), strict=True)
    for arrive_s, prompt, answer, blocks in rows:
        row = {"timestamp": round(arrive_s * 1000), "input_length": prompt, "output_length": answer}
        yield json.dumps(row | {"hash_ids": blocks}, separators=(",", ":")) + "\n"


def _azure(sample: LoadSample) -> Iterator[Iterable[object]]:
    for arrive_s, prompt, answer in zip(
        sample.arrive_s, sample.input_tokens, sample.output_tokens, strict=True
    ):
        time = _MIDNIGHT + timedelta(seconds=arrive_s)
        yield time.strftime("%Y-%m-%d %H:%M:%S.%f"), prompt, answer


def _burstgpt(sample: LoadSample) -> Iterator[Iterable[object]]:
    """Lengths alone are read of it, of the rows of this model."""
    for prompt, answer in zip(sample.input_tokens, sample.output_tokens, strict=True):
        yield 0, "GPT-4", prompt, answer, prompt + answer, "Conversation log"


def _table(columns: list[str], rows: Iterable[Iterable[object]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode()


def _guidellm(at: BenchTarget) -> dict[str, Any]:
    """A scenario that replays the trace, whose times are milliseconds."""
    extras: dict[str, Any] = {"body": {"ignore_eos": True}}
    if at.headers:
        extras["headers"] = dict(at.headers)
    return {
        "spec": {
            "backend": {
                "kind": "openai_http",
                "target": URL,
                "model": at.served_name,
                "request_format": "/v1/completions",
                "extras": extras,
            },
            "profile": {"kind": "replay", "time_scale": 0.001, "schedule_turn": "timestamp"},
            "tokenizer": {"kind": "huggingface_auto", "model": at.tokenizer},
            "data": [
                {
                    "kind": "mooncake",
                    "source": {"kind": "json_file", "path": at.trace_jsonl},
                    "hash_id_block_size": at.sample.block_tokens,
                }
            ],
            "constraints": [{"kind": "max_requests", "count": len(at.sample.arrive_s)}],
            "outputs": [{"kind": "json", "path": f"guidellm-{at.name}.json"}],
        }
    }


def _inference_perf(at: BenchTarget) -> dict[str, Any]:
    trace = {"file": at.azure_csv, "format": "AzurePublicDataset"}
    api: dict[str, Any] = {"type": "completion", "streaming": True}
    if at.headers:
        api["headers"] = dict(at.headers)
    return {
        "api": api,
        "data": {"type": "random", "trace": trace},
        "load": {"type": "trace_replay", "trace": trace},
        "server": {
            "type": _SERVERS[at.engine],
            "model_name": at.served_name,
            "base_url": URL,
            "ignore_eos": True,
        },
        "tokenizer": {"pretrained_model_name_or_path": at.tokenizer},
        "report": {"request_lifecycle": {"percentiles": _PERCENTILES}},
        "storage": {"local_storage": {"path": f"inference-perf-{at.name}"}},
    }


def _steps(at: BenchTarget) -> Iterator[str]:
    sample = at.sample
    yield (
        f"{plain(at.workload.name)}: {numbers.count(len(sample.arrive_s), 'request')} at {sample.rate_rps:g} "
        f"a second, about {sample.duration_s / 60:.0f} min. One of these, with `TARGET` set to the address "
        f"of the gateway (in YAML files, in place of `{URL}`): `./vllm-{at.name}.sh`; "
        f"`./aiperf-{at.name}.sh`; `guidellm run --config {at.guidellm_yaml}`; "
        f"`inference-perf --config_file {at.inference_perf_yaml}`."
    )


def _notes(case: ExportCase, found: list[BenchTarget]) -> Iterator[str]:
    yield "Run it for the whole fleet of the plan, at its peak: fewer replicas carry less."
    if len(found) > 1:
        yield "Workloads that share GPUs are tested at the same time: start their commands together."
    for at in found:
        yield from _of_target(case, at)
    yield "Then: planner verify PLAN --results FILE."


def _of_target(case: ExportCase, at: BenchTarget) -> Iterator[str]:
    sample, name = at.sample, at.name
    if sample.cached_fraction > 0:
        share = numbers.share(sample.cached_fraction)
        yield (
            f"{name}: {share} of the prompt tokens are in the prefix cache. AIPerf and GuideLLM send such "
            "prompts; vllm bench serve and inference-perf cannot together with these lengths: their "
            "prompts are all new, and first tokens take longer than planned."
        )
    if sample.arrival_scv_ratio == 0:
        yield f"{name}: vllm bench serve cannot send at equal gaps; its gaps vary by 3 %."
    if sample.cut_fraction >= _WORTH_SAYING:
        share = numbers.share(sample.cut_fraction)
        yield f"{name}: the guardrails of the plan cut {share} of its tokens off; nothing longer is sent."
    if not sample.complete:
        yield f"{name}: the run is shorter than ten longest requests: its start counts in its percentiles."
    if at.workload.images is not None:
        yield f"{name}: images are sent as so many tokens of text."
    if at.workload.lora is not None:
        yield f"{name}: requests name no adapter: name yours (vllm bench serve: --lora-modules)."
    routes = [row for row in case.routes.workloads if row.workload == at.workload.name]
    if any(len(row.buckets) > 1 for row in routes):
        yield f"{name}: no tool sends the header {BUCKET_HEADER} by length; what stands in front must set it."
