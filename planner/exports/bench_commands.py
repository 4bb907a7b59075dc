"""Command lines of the tools that take no configuration file.

vLLM's burstiness is the shape of a gamma distribution, the inverse of the squared coefficient of variation
that a plan states. Its dataset ``burstgpt`` takes lengths alone; AIPerf takes arrivals, too.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from planner.exports.bench_target import URL, BenchTarget
from planner.schema.slo import STATISTICS

_EQUAL_GAPS = 1000.0
"""Shape of gaps that hardly vary: by 3 %."""
_GOODPUT = {"ttft": "ttft", "tpot": "tpot", "e2e": "e2el"}
"""Limits of a single request, as vLLM names them."""
_HEAD = f'#!/usr/bin/env bash\nset -euo pipefail\ncd "$(dirname "$0")"\nTARGET="${{TARGET:-{URL}}}"\n'


def vllm(at: BenchTarget) -> str:
    """``vllm bench serve``."""
    sample = at.sample
    scv = sample.arrival_scv_ratio
    words = ["--model", at.tokenizer, "--served-model-name", at.served_name]
    words += ["--dataset-name", "burstgpt", "--dataset-path", at.burstgpt_csv]
    words += ["--num-prompts", str(len(sample.arrive_s)), "--request-rate", f"{sample.rate_rps:.10g}"]
    words += ["--burstiness", f"{1 / scv if scv > 1 / _EQUAL_GAPS else _EQUAL_GAPS:.6g}", "--ignore-eos"]
    words += ["--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,90,95,99"]
    goodput = list(_goodput(at))
    words += ["--goodput", *goodput] if goodput else []
    headers = [f"{name}={value}" for name, value in at.headers.items()]
    words += ["--header", *headers] if headers else []
    words += ["--save-result", "--result-filename", f"vllm-{at.name}.json"]
    return _script("vllm bench serve --backend vllm --base-url", words)


def aiperf(at: BenchTarget) -> str:
    """``aiperf profile``."""
    words = ["--model", at.served_name, "--tokenizer", at.tokenizer]
    words += ["--endpoint-type", "completions", "--streaming"]
    words += ["--custom-dataset-type", "mooncake_trace", "--input-file", at.trace_jsonl, "--fixed-schedule"]
    words += ["--isl-block-size", str(at.sample.block_tokens), "--extra-inputs", "ignore_eos:true"]
    for name, value in at.headers.items():
        words += ["--header", f"{name}:{value}"]
    words += ["--artifact-dir", f"aiperf-{at.name}"]
    return _script("aiperf profile --url", words)


def _goodput(at: BenchTarget) -> Iterator[str]:
    """The tightest limit of each metric, in milliseconds."""
    for metric, name in _GOODPUT.items():
        stated = [getattr(at.workload.slo, f"{metric}_{statistic}") for statistic in STATISTICS]
        limits = [float(limit) for limit in stated if limit is not None]
        if limits:
            yield f"{name}:{min(limits) * 1000:.10g}"


def _script(command: str, words: Iterable[str]) -> str:
    return f'{_HEAD}exec {command} "$TARGET" {shlex.join(words)}\n'
