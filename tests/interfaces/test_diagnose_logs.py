"""Logs given to ``diagnose``: alone, beside other sources, through a pipe, hostile ones."""

import io
import json
import sys
from pathlib import Path

import pytest

from planner.interfaces.cli import run

SAMPLES = Path(__file__).parents[1] / "data" / "logs"
STATS = (
    "INFO 03-18 10:00:{:02d} [loggers.py:123] Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg "
    "generation throughput: 8.0 tokens/s, Running: 60 reqs, Waiting: {} reqs, GPU KV cache usage: 99.0%, "
    "Prefix cache hit rate: 12.5%\n"
)


def said(capsys):
    return json.loads(capsys.readouterr().out)


def test_a_log_alone_is_diagnosed(capsys, tmp_path):
    path = tmp_path / "engine.log"
    path.write_text("".join(STATS.format(second, 40 + second) for second in range(0, 60, 10)))
    assert run(["diagnose", "--logs", str(path), "--json"]) == 0
    document = said(capsys)
    assert document["exporters"] == ["vllm-log"]
    assert "requests-wait" in document["symptoms"]
    assert any(note["kind"] == "sources" and "6 lines" in note["text"] for note in document["notes"])


@pytest.mark.parametrize("sample", sorted(path.name for path in SAMPLES.iterdir()))
def test_every_sample_is_read(capsys, sample):
    assert run(["diagnose", "--logs", str(SAMPLES / sample), "--json"]) == 0
    assert said(capsys)["exporters"]


def test_a_log_comes_through_a_pipe(capsys, monkeypatch):
    class Pipe:
        buffer = io.BytesIO(STATS.format(0, 40).encode())

    monkeypatch.setattr(sys, "stdin", Pipe())
    assert run(["diagnose", "--logs", "-", "--json"]) == 0
    assert said(capsys)["exporters"] == ["vllm-log"]


def test_sources_are_read_as_one_and_conflicts_are_named(capsys, tmp_path):
    log, values = tmp_path / "engine.log", tmp_path / "values.yaml"
    log.write_text(STATS.format(0, 40))
    values.write_text("queue_depth: 3\nmax_batch: 64\n")
    assert run(["diagnose", "--logs", str(log), "--observed", str(values), "--json"]) == 0
    document = said(capsys)
    assert document["origins"]["max_batch"] == document["origins"]["queue_depth"] == "observed values"
    assert document["origins"]["kv_usage_ratio"] == "logs"
    (conflict,) = [note for note in document["notes"] if note["kind"] == "conflict"]
    assert conflict["metric"] == "queue_depth"
    assert conflict["text"] == "3 by observed values, 40 by logs; the first is taken"


def test_a_range_is_the_end_of_the_log(capsys, tmp_path):
    path = tmp_path / "engine.log"
    path.write_text(STATS.format(0, 500) + STATS.format(50, 0))
    for window, seen in (("5s", False), ("15m", True)):
        assert run(["diagnose", "--logs", str(path), "--range", window, "--json"]) == 0
        assert ("requests-wait" in said(capsys)["symptoms"]) is seen


@pytest.mark.parametrize(
    "text",
    [
        "\x1b]0;owned\x07\x1b[2J secret\n",
        "Initializing a V1 LLM engine (v\x1b[31m0.9\u202e) with config: x\n",
        "\u202eAvg prompt throughput: \x9b31m\n",
        "attention_backend='\x1b[2Jx' KV Cache is allocated. #tokens: \x1b[31m5\n",
    ],
)
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_nothing_of_a_log_steers_the_terminal(capfd, tmp_path, text, flags):
    path = tmp_path / "engine.log"
    path.write_text(text, encoding="utf-8")
    assert run(["diagnose", "--logs", str(path), *flags]) in (0, 2)
    shown = "".join(capfd.readouterr())
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)


def test_what_is_no_log_says_what_was_found(capsys, tmp_path):
    path = tmp_path / "other.txt"
    path.write_text("once upon a time\nthere was a file\n")
    assert run(["diagnose", "--logs", str(path), "--json"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "2 lines" in shown.err
    assert 'begins "once upon a time"' in shown.err


GRAPHS = (
    "[2025-11-20 08:00:01] server_args=ServerArgs(model_path='x', tp_size=1, disable_cuda_graph={}, "
    "cuda_graph_max_bs=8, disable_radix_cache=False)\n"
    "[2025-11-20 08:10:00 TP0] Decode batch, #running-req: 60, #token: 81234, token usage: 0.30, cuda graph: "
    "False, gen throughput (token/s): 600.0, #queue-req: 0,\n"
)
PEERS = (
    "(EngineCore_DP0 pid=2) INFO 11-20 08:00:15 [core.py:75] x with config: model='x', "
    "tensor_parallel_size=4, pipeline_parallel_size=1\n"
    "(Worker_TP0 pid=3) WARNING 11-20 08:00:31 [custom_all_reduce.py:154] Custom allreduce is disabled "
    "because your platform lacks GPU P2P capability or P2P test failed.\n"
)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (GRAPHS.format("False"), "batch-beyond-captured-graphs"),
        (GRAPHS.format("True"), "cuda-graphs-off"),
        (PEERS + STATS.format(0, 0).replace("99.0%", "18.0%"), "peer-access-off"),
        ("WARNING Using default MoE config. Performance might be sub-optimal!\n", "kernels-fall-back"),
    ],
)
def test_what_engines_say_of_their_steps_is_judged(capsys, tmp_path, text, first):
    path = tmp_path / "engine.log"
    path.write_text(text)
    assert run(["diagnose", "--logs", str(path), "--json"]) == 0
    found = said(capsys)["findings"][0]
    assert found["rule"] == first
    if first == "kernels-fall-back":
        assert found["actions"][0]["id"] == "tune-experts"
