"""Benchmark files of every tool and version: the same run in the same words and units, or a refusal."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from planner.errors import InputError
from planner.loaders.benchmarks import read_benchmarks

DATA = Path(__file__).parents[2] / "data" / "benchmarks"
TOTALS = "benchmarks__0__metrics__request_totals"

# All of these hold the run with 32 clients, 1024 -> 256 tokens, TTFT 110 ms, TPOT 12 ms.
SAME_RUN = [
    ("vllm/0.33.0/closed-32.json", 0, "vllm"),
    ("vllm/0.33.0/detailed.json", 0, "vllm"),
    ("vllm/0.33.0/appended.jsonl", 1, "vllm"),
    ("vllm/0.6.3/closed-32.json", 0, "vllm"),
    ("sglang/0.5.23/three.jsonl", 1, "sglang"),
    ("sglang/0.4.0/one.jsonl", 0, "sglang"),
    ("aiperf/0.13.0/profile_export_aiperf.json", 0, "aiperf"),
    ("aiperf/0.13.0/in-seconds.json", 0, "aiperf"),
    ("genai-perf/0.0.16/profile_export_genai_perf.json", 0, "genai-perf"),
    ("guidellm/0.8.1/benchmarks.json", 1, "guidellm"),
    ("guidellm/0.3.0/benchmarks.json", 0, "guidellm"),
    ("inference-perf/0.7.0/stage_1_concurrency.json", 0, "inference-perf"),
    ("inference-perf/0.1.0/summary_lifecycle_metrics.json", 0, "inference-perf"),
]


def read(name):
    return read_benchmarks([DATA / name])


def changed(tmp_path, name, **changes):
    """A copy of a sample with keys replaced (``a.b`` reaches inside); a value of None takes a key away."""
    document = json.loads((DATA / name).read_text())
    for key, value in changes.items():
        *steps, last = key.split("__")
        place = document
        for step in steps:
            place = place[int(step) if step.isdigit() else step]
        if value is None:
            del place[last]
        else:
            place[last] = value
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document))
    return path


def faults(*paths):
    with pytest.raises(InputError) as problem:
        read_benchmarks(list(paths))
    return [str(fault) for fault in problem.value.faults]


@pytest.mark.parametrize(("name", "index", "tool"), SAME_RUN)
def test_every_tool_says_the_same_run_in_seconds(name, index, tool):
    point = read(name)[index]
    assert point.source == tool
    assert point.concurrency == pytest.approx(32, rel=1e-3)
    assert point.offered_rps is None
    assert point.isl_mean_tokens == pytest.approx(1024)
    assert point.osl_mean_tokens == pytest.approx(256)
    assert point.ttft_s["mean"] == pytest.approx(0.110)
    assert point.mean_tpot_s == pytest.approx(0.012)
    # 32 clients, each 110 ms + 255 x 12 ms.
    assert point.requests_per_s == pytest.approx(32 / 3.17, rel=1e-4)
    assert point.output_tokens_per_s == pytest.approx(32 / 3.17 * 256, rel=1e-3)
    assert (point.completed, point.failed) == (640, 0)
    assert point.raw_sha256 == hashlib.sha256((DATA / name).read_bytes()).hexdigest()


def test_appended_lines_are_runs_of_their_own():
    assert [point.concurrency for point in read("vllm/0.33.0/appended.jsonl")] == [8, 32, 64]
    assert read("vllm/0.33.0/appended.jsonl")[2].where.endswith("appended.jsonl:3")


@pytest.mark.parametrize(
    "name", ["aiperf/0.13.0/profile_export_aiperf.json", "genai-perf/0.0.16/profile_export_genai_perf.json"]
)
def test_inter_token_latency_of_aiperf_is_a_tpot(name):
    point = read(name)[0]
    assert point.tpot_s["mean"] == pytest.approx(0.012)
    assert point.tpot_s["p99"] == pytest.approx(0.0144)


def test_the_raw_gap_of_aiperf_is_the_itl():
    assert read("aiperf/0.13.0/profile_export_aiperf.json")[0].itl_s["p99"] == pytest.approx(0.048)


def test_vllm_keeps_tpot_and_itl_apart():
    point = read("vllm/0.33.0/closed-32.json")[0]
    assert (point.tpot_s["p99"], point.itl_s["p99"]) == (pytest.approx(0.0144), pytest.approx(0.048))
    assert "p90" not in point.ttft_s  # only the 99th is written by default


def test_loads_of_guidellm_are_those_of_the_strategies():
    synchronous, concurrent, poisson, throughput = read("guidellm/0.8.1/benchmarks.json")
    assert synchronous.concurrency == 1
    assert concurrent.concurrency == 32
    assert (poisson.offered_rps, poisson.concurrency) == (pytest.approx(4.0371), None)
    assert throughput.concurrency == pytest.approx(63.36)  # seen, since the strategy sets none


def test_rates_are_offered_rates():
    assert read("vllm/0.33.0/rate.json")[0].offered_rps == pytest.approx(4.0371)
    stage = read("inference-perf/0.7.0/stage_0_lifecycle_metrics.json")[0]
    assert (stage.offered_rps, stage.concurrency) == (pytest.approx(4.0371), None)


def test_missing_percentiles_are_missing():
    stage = read("inference-perf/0.7.0/stage_1_concurrency.json")[0]
    assert set(stage.ttft_s) == {"mean", "p50", "p99", "max"}


def test_facts_come_from_metadata_and_from_the_server():
    assert read("vllm/0.33.0/closed-32.json")[0].facts == {"gpu": "h100-sxm", "tp": 1}
    facts = read("sglang/0.5.23/three.jsonl")[0].facts
    assert facts == {"tp": 1, "pp": 1, "engine": "sglang"}


def test_attention_ranks_of_sglang_lie_inside_its_tensor_parallel_degree(tmp_path):
    line = json.loads((DATA / "sglang/0.5.23/three.jsonl").read_text().splitlines()[0])
    line["server_info"] |= {"tp_size": 8, "dp_size": 8, "enable_dp_attention": True}
    path = tmp_path / "dp.jsonl"
    path.write_text(json.dumps(line))
    facts = read_benchmarks([path])[0].facts
    assert (facts["tp"], facts["attention_dp"]) == (1, 8)


def test_infinite_rate_is_no_rate(tmp_path):
    assert read("sglang/0.5.23/three.jsonl")[0].offered_rps is None
    traced = changed(tmp_path, "sglang/0.4.0/one.jsonl", request_rate="trace", max_concurrency=None)
    assert read_benchmarks([traced])[0].concurrency == pytest.approx(31.68)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("aiperf/0.13.0/cancelled.json", "was_cancelled: found true, expected a run that ended by itself"),
        ("aiperf/0.13.0/incomplete.json", "is_complete: found false, expected a complete run"),
        ("aiperf/0.13.0/unknown-unit.json", 'time_to_first_token.unit: found "fortnights", expected a unit'),
    ],
)
def test_runs_that_did_not_end_or_have_strange_units_are_refused(name, words):
    (fault,) = faults(DATA / name)
    assert words in fault


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("vllm/0.33.0/closed-32.json", {"completed": 0}, "completed: found 0, expected a run with completed"),
        ("vllm/0.33.0/closed-32.json", {"completed": None}, "completed: found nothing, expected a number"),
        ("vllm/0.33.0/closed-32.json", {"mean_ttft_ms": "fast"}, "mean_ttft_ms: found 'fast'"),
        ("vllm/0.33.0/closed-32.json", {"mean_tpot_ms": float("nan")}, "mean_tpot_ms: found nan"),
        ("vllm/0.33.0/closed-32.json", {"p99_ttft_ms": 1.0}, "expected percentiles that never fall"),
        ("vllm/0.33.0/closed-32.json", {"request_rate": -1.0}, "request_rate: found -1.0"),
        ("vllm/0.33.0/closed-32.json", {"tp": "two"}, "tp: found 'two', expected a whole number of 1"),
        ("vllm/0.33.0/detailed.json", {"mean_ttft_ms": 0.11}, "Maybe the units are mixed?"),
        ("vllm/0.33.0/detailed.json", {"itls": [[12.0, 12.1]]}, "Maybe the units are mixed?"),
        ("guidellm/0.8.1/benchmarks.json", {"benchmarks": []}, "benchmarks: found an empty list"),
        ("guidellm/0.8.1/benchmarks.json", {"metadata__version": 9}, "expected version 1 or 2 of the report"),
        ("guidellm/0.3.0/benchmarks.json", {f"{TOTALS}__successful": 0}, "successful: found 0"),
        ("inference-perf/0.7.0/stage_1_concurrency.json", {"successes__count": 0}, "successes.count: found"),
        (
            "aiperf/0.13.0/profile_export_aiperf.json",
            {"request_count__avg": 0.0},
            "request_count.avg: found 0, expected a run with completed requests",
        ),
    ],
)  # fmt: skip
def test_broken_numbers_are_named(tmp_path, name, changes, words):
    found = faults(changed(tmp_path, name, **changes))
    assert any(words in fault for fault in found), found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "found an empty file"),
        ("  \n", "found an empty file"),
        ('{"a": 1', "found broken JSON"),
        ("[1, 2]", "found a number"),
        ("3", "found a number"),
        ('{"hello": 1}', "found an object with hello, expected a result of vLLM bench serve"),
        ("\ufffd", "found broken JSON"),
    ],
)
def test_files_that_are_no_benchmark_are_refused(tmp_path, text, words):
    path = tmp_path / "x.json"
    path.write_text(text)
    assert words in faults(path)[0]


def test_a_line_that_breaks_off_is_named(tmp_path):
    path = tmp_path / "x.jsonl"
    lines = (DATA / "vllm/0.33.0/appended.jsonl").read_text()
    path.write_text(lines[:-200])
    (fault,) = faults(path)
    assert fault.startswith(f"{path}:3: found broken JSON")


def test_all_faults_of_all_files_come_together(tmp_path):
    (tmp_path / "empty.json").write_text("")
    found = faults(tmp_path / "empty.json", tmp_path / "none.json", DATA / "aiperf/0.13.0/cancelled.json")
    assert len(found) == 3
    assert "no such file" in found[1]


def test_the_same_run_twice_is_refused(tmp_path):
    copy = tmp_path / "copy.json"
    copy.write_bytes((DATA / "vllm/0.33.0/closed-32.json").read_bytes())
    (fault,) = faults(DATA / "vllm/0.33.0/closed-32.json", copy)
    assert "found the same content as" in fault


def test_deep_nesting_is_no_crash(tmp_path):
    path = tmp_path / "deep.json"
    path.write_text("[" * 100_000)
    assert "nested too deeply" in faults(path)[0]
