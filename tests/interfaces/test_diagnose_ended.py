"""Engines that ended: before they were ready or while they served, whatever the error says."""

import json

import pytest

from planner.interfaces.cli import run

START = "(APIServer pid=1) INFO 11-20 08:00:05 [api_server.py:1805] vLLM API server version 0.11.0\n"
LOADED = "(EngineCore_DP0 pid=9) INFO 11-20 08:01:11 [x.py:1] Model loading took 61.03 GiB and 41.2 seconds\n"
READY = "(APIServer pid=1) INFO:     Application startup complete.\n"
SERVED = (
    "INFO 11-20 08:10:00 [loggers.py:123] Engine 000: Avg prompt throughput: 90.0 tokens/s, Avg generation "
    "throughput: 800.0 tokens/s, Running: 6 reqs, Waiting: 0 reqs, GPU KV cache usage: 9.0%, Prefix cache "
    "hit rate: 12.5%\n"
)
ENTRY = '(APIServer pid=1)   File "/usr/local/bin/vllm", line 10, in <module>\n'
TRACE = "(APIServer pid=1) Traceback (most recent call last):\n" + ENTRY
GATED = TRACE + "(APIServer pid=1) OSError: You are trying to access a gated repo.\n"
OOM = (
    "(EngineCore_DP0 pid=9) ERROR 11-20 08:00:31 [core.py:708] torch.OutOfMemoryError: CUDA out of memory. "
    "Tried to allocate 448.00 MiB.\n" + TRACE + "RuntimeError: Engine core initialization failed.\n"
)
CHILD = 'Traceback:\n  File "/usr/lib/python3.12/multiprocessing/process.py", line 314, in _bootstrap\n'
FRAME = 'File "/usr/lib/python3/dist-packages/vllm/entrypoints/openai/api_server.py", line 9, in handle\n'
SGLANG = """[2025-11-20 08:00:01] server_args=ServerArgs(model_path='x', tp_size=2, mem_fraction_static=0.85)
[2025-11-20 08:01:12 TP0] Load weight end. elapsed=41.8 s, avail mem=12 GB, mem usage=66.2 GB.
[2025-11-20 08:01:13 TP0] Scheduler hit an exception: Traceback (most recent call last):
RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.
[2025-11-20 08:01:13] Received sigquit from a child process. It usually means the child failed.
"""
EVENTS = """Events:
  Warning  Unhealthy  40s  kubelet  Startup probe failed: Get "http://10.0.0.4:8000/health": refused
  Normal   Killing    10s  kubelet  Container engine failed startup probe, will be restarted
"""
TRTLLM = """[11/20/2025-08:00:31] [TRT-LLM] [E] Failed to initialize executor on rank 0: CUDA out of memory.
Traceback (most recent call last):
  File "/usr/local/bin/trtllm-serve", line 8, in <module>
"""


def found(capsys, tmp_path, text, *words):
    path = tmp_path / "engine.log"
    path.write_text(text)
    code = run(["diagnose", "--logs", str(path), "--fail-on", "degraded", *words])
    return code, capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (START + GATED, "engine-does-not-start"),
        (START + LOADED + GATED, "engine-does-not-start"),
        ("vllm serve: error: unrecognized arguments: --enable-chunk\n", "engine-does-not-start"),
        (START + OOM, "weights-exceed-memory"),
        (START + LOADED + OOM, "memory-short-from-the-start"),
        (START + READY + SERVED + GATED, "engine-dies-in-service"),
        (SGLANG, "memory-short-from-the-start"),
        (TRTLLM, "weights-exceed-memory"),
        (EVENTS, "probe-ends-starts"),
    ],
)
def test_an_engine_that_ended_is_down(capsys, tmp_path, text, first):
    code, shown = found(capsys, tmp_path, text, "--json")
    document = json.loads(shown)
    assert (code, document["severity"], document["findings"][0]["rule"]) == (1, "down", first)


@pytest.mark.parametrize(
    "text",
    [
        START + LOADED + READY,
        START + READY + SERVED,
        START + TRACE + "ImportError: x\n" + LOADED + READY,
        START + READY + SERVED + "Traceback (most recent call last):\n" + FRAME + "ValueError: bad request\n",
        START + READY + SERVED + GATED + START + LOADED + READY,
        START + READY + SERVED + TRACE + "KeyboardInterrupt: terminated\n",
        START + READY + SERVED + CHILD + "    raise SystemExit()\nSystemExit\n",
    ],
    ids=["ready", "serves", "survives", "one request", "started again", "interrupted", "stopped"],
)
def test_an_engine_that_goes_on_or_was_stopped_is_well(capsys, tmp_path, text):
    code, shown = found(capsys, tmp_path, text, "--json")
    assert (code, json.loads(shown)["severity"]) == (0, "healthy")


def test_the_screen_names_the_first_error(capsys, tmp_path):
    _, text = found(capsys, tmp_path, START + GATED)
    assert "seen     exit_error OSError: You are trying to access a gated repo.\n" in text


def test_a_share_without_room_for_a_cache_is_raised(capsys, tmp_path):
    _, text = found(capsys, tmp_path, SGLANG)
    assert "--mem-fraction-static 0.93   # now: 0.8500" in text


def test_other_programs_have_no_engine_that_ends(capsys, tmp_path):
    code, _ = found(capsys, tmp_path, TRACE.replace("vllm", "other") + "ValueError: x\n")
    assert code == 2
