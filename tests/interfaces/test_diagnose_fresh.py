"""Evidence as strangers paste it, in the engines' documented formats: prefixes, colors, noise, cut pages."""

import gzip
import json
import random

import pytest

import planner

STEPS = 60
CONFIG = (
    "(EngineCore_DP0 pid=271) INFO 11-20 09:58:20 [core.py:77] Initializing a V1 LLM engine (v0.10.2) with "
    "config: model='m', max_seq_len=32768, tensor_parallel_size={tp}, pipeline_parallel_size=1, "
    "quantization=None, enforce_eager={eager}, enable_prefix_caching=True, chunked_prefill_enabled=True"
)
ACCESS = '(APIServer pid=1) INFO:     10.0.3.7:51234 - "POST /v1/chat/completions HTTP/1.1" 200 OK'


def clock(step):
    seconds = 10 * 3600 + step * 10
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def stats(running, waiting, kv, written=1200.0, read=4000.0):
    return (
        f"Engine 000: Avg prompt throughput: {read:.1f} tokens/s, "
        f"Avg generation throughput: {written:.1f} tokens/s, Running: {running} reqs, "
        f"Waiting: {waiting} reqs, GPU KV cache usage: {kv:.1f}%, Prefix cache hit rate: 35.0%"
    )


def plain(row, **config):
    config = {"tp": 1, "eager": False} | config
    head = [CONFIG.format(**config), "huggingface/tokenizers: The current process just got forked"]
    lines = (f"(APIServer pid=1) INFO 11-20 {clock(n)} [loggers.py:123] {row(n)}" for n in range(STEPS))
    return [*head, *(part for line in lines for part in (line, ACCESS))]


def compose(row):
    return [f"\x1b[36mvllm-1  |\x1b[0m {line}" for line in plain(row)]


def docker(row):
    return [json.dumps({"log": f"{line}\n", "stream": "stdout"}) for line in plain(row)]


def structured(row):
    return [
        json.dumps({"timestamp": f"2026-11-20T{clock(n)}.001Z", "level": "INFO", "message": row(n)})
        for n in range(STEPS)
    ]


def kubelet(row):
    return [
        f"2026-11-20T{clock(n)}.1Z stdout F INFO 11-20 {clock(n)} [x.py:1] {row(n)}" for n in range(STEPS)
    ]


def sglang(running, usage, queue, retract=0):
    lines = []
    for n in range(STEPS):
        head = f"[2026-11-20 {clock(n)} TP0]"
        lines.append(
            f"{head} Decode batch. #running-req: {running}, #token: 9, token usage: {usage:.2f}, "
            f"cuda graph: True, gen throughput (token/s): 1200.00, #queue-req: {queue}, "
        )
        if retract:
            lines.append(f"{head} KV cache pool is full. Retract requests. #retracted_reqs: {retract}, x: 1")
    return lines


def tensorrt(host_ms, device_ms):
    return [
        f"[11/20/2026-{clock(n)}] [TRT-LLM] [I] iter = {n}, global_rank = 0, rank = 0, "
        f"currank_total_requests = 17/17, host_step_time = {host_ms}ms, "
        f"prev_device_step_time = {device_ms}ms, num_scheduled_requests: 17, states = x"
        for n in range(STEPS)
    ]


def few(warning, **config):
    """Some requests that are served slowly, and one line that says why."""
    return [warning, *plain(lambda _: stats(12, 0, 6.0, written=88.0, read=300.0), **config)]


NCCL = "node1:271:271 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.1.12<0>"
ALL_REDUCE = (
    "(Worker_TP0 pid=300) WARNING 11-20 09:59:10 [custom_all_reduce.py:137] Custom allreduce is disabled "
    "because it's not supported on more than two PCIe-only GPUs."
)
LOADED = "(Worker_TP0 pid=3) INFO 11-20 09:52:05 [x.py:2392] Model loading took 65.7 GiB and 645.1 seconds"
SICK = {
    "cache full, colored": (compose(lambda n: stats(44, 20 + n, 99.3)), "kv-cache-nearly-full"),
    "queue grows, one JSON a line": (structured(lambda n: stats(124, 4 * n, 88.0)), "fleet-too-small"),
    "room in the cache, in docker's files": (docker(lambda _: stats(64, 65, 33.0)), "batch-limit-too-low"),
    "cache full, from a node": (kubelet(lambda _: stats(64, 30, 99.0)), "kv-cache-nearly-full"),
    "retracted": (sglang(150, 0.99, 250, retract=12), "kv-eviction-early"),
    "host slower than the device": (tensorrt(41.0, 10.0), "host-cpu-bound"),
    "eager": (plain(lambda _: stats(4, 0, 3.0, 61.0, 100.0), eager=True), "cuda-graphs-off"),
    "over TCP": (few(NCCL, tp=16), "collectives-over-tcp"),
    "no all-reduce of its own": (few(ALL_REDUCE, tp=4), "custom-all-reduce-off"),
    "weights for minutes": ([LOADED], "weights-load-slowly"),
}
CALM = {
    "few requests, a flicker": plain(lambda n: stats(9, int(n % 13 == 7), 14.0)),
    "nothing to do": plain(lambda _: stats(0, 0, 0.0, 0.0, 0.0)),
    "one burst": plain(lambda n: stats(50, 14 if n == 30 else 0, 44.0)),
    "a cache full of prefixes": plain(lambda _: stats(25, 0, 87.0)),
    "many at once": plain(lambda _: stats(200, 0, 70.0, written=1900.0)),
    "sglang": sglang(20, 0.12, 0),
    "tensorrt": tensorrt(11.0, 10.0),
}


def diagnosed(lines, tmp_path, pack=False):
    text = "\n".join(lines) + "\n"
    file = tmp_path / ("engine.log.gz" if pack else "engine.log")
    file.write_bytes(gzip.compress(text.encode()) if pack else text.encode())
    return planner.diagnose(logs=[file])


@pytest.mark.parametrize("name", SICK)
def test_the_cause_is_named_whatever_stands_around_the_lines(name, tmp_path):
    lines, rule = SICK[name]
    for pack in (False, True):
        found = diagnosed(lines, tmp_path, pack)
        assert rule in [one.rule for one in found.findings[:2]], found.symptoms
        assert found.severity in ("warning", "degraded", "down")


@pytest.mark.parametrize("name", CALM)
def test_a_healthy_log_is_no_alarm(name, tmp_path):
    found = diagnosed(CALM[name], tmp_path)
    assert found.severity == "healthy", found.symptoms


def test_lines_in_another_order_and_half_lines_change_nothing(tmp_path):
    lines = [line for line in SICK["cache full, colored"][0] for line in (line, line[: len(line) // 3])]
    random.Random(1).shuffle(lines[1:4])
    found = diagnosed([*lines, "}{ not JSON", "\x00\x1b[2J"], tmp_path)
    assert found.findings[0].rule == "kv-cache-nearly-full"


def test_time_between_tokens_follows_from_running_requests_and_is_said(tmp_path):
    found = diagnosed(few(ALL_REDUCE, tp=4), tmp_path)
    assert any(note.kind == "derived" and note.metric == "itl_mean_s" for note in found.notes)
    seen = [one for one in found.findings[0].evidence if one.metric == "itl_mean_s"]
    assert not seen or seen[0].value == pytest.approx(12 / 88)
    # Long prompts: most of a request is prefill, and nothing is derived.
    long = diagnosed(plain(lambda _: stats(12, 0, 6.0, 88.0, 9000.0)), tmp_path)
    assert not any(note.kind == "derived" for note in long.notes)


GAUGES = """# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 255
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="m"} 80
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.42
"""
DEVICE = """DCGM_FI_DEV_GPU_UTIL{gpu="0"} 91
DCGM_FI_DEV_XID_ERRORS{gpu="0"} 0
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0"} 0.82
DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu="0"} 0.21
DCGM_FI_PROF_DRAM_ACTIVE{gpu="0"} 0.55
"""


def page(tmp_path, text):
    (file := tmp_path / "page.prom").write_text(text)
    return planner.diagnose(metrics=[str(file)])


def test_a_page_of_gauges_alone_names_what_is_possible(tmp_path):
    found = page(tmp_path, GAUGES)
    assert found.findings[0].rule == "batch-limit-too-low"
    assert found.findings[0].ranking.possible


def test_a_page_that_was_cut_off_is_read_up_to_there(tmp_path):
    assert page(tmp_path, GAUGES + "vllm:time_to_first_token_seconds_buc").findings
    with pytest.raises(planner.errors.InputError, match=r"page\.prom:7"):
        page(tmp_path, GAUGES + "vllm:time_to_first_tok\nvllm:num_requests_swapped 0\n")


def test_matrix_units_at_rest_beside_busy_memory_are_decoding(tmp_path):
    assert page(tmp_path, DEVICE).severity == "healthy"
    assert "low-gpu-use" in page(tmp_path, DEVICE.replace("0.55", "0.05")).symptoms
