"""A log of a day must be read while somebody waits: 50 MB/s and more, in memory that does not grow."""

import random
import resource

import pytest

SIZE_BYTES = 50_000_000
STATS = (
    "INFO 03-18 {:02d}:{:02d}:{:02d} [loggers.py:123] Engine 000: Avg prompt throughput: 100.0 tokens/s, Avg "
    "generation throughput: 800.0 tokens/s, Running: 72 reqs, Waiting: 9 reqs, GPU KV cache usage: 91.0%, "
    "Prefix cache hit rate: 12.0%\n"
)
DECODE = (
    "[2025-03-18 {:02d}:{:02d}:{:02d} TP0] Decode batch. #running-req: 30, #token: 12345, token usage: 0.50, "
    "cuda graph: True, gen throughput (token/s): 1234.56, #queue-req: 3,\n"
)
ACCESS = '(APIServer pid=7) INFO:     10.0.{}.{}:{} - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'


def access_log(rng, second):
    clock = second // 3600 % 24, second // 60 % 60, second % 60
    if rng.random() < 0.02:
        return STATS.format(*clock)
    return ACCESS.format(rng.randrange(255), rng.randrange(255), rng.randrange(60_000))


def decode_log(rng, second):
    return DECODE.format(second // 3600 % 24, second // 60 % 60, second % 60)


@pytest.mark.bench
@pytest.mark.parametrize("kind", [access_log, decode_log])
def test_a_log_of_fifty_megabytes(benchmark, tmp_path, kind):
    from planner.loaders.logs import load_log_formats, read_logs

    rng, path, size = random.Random(1), tmp_path / "engine.log", 0
    with path.open("w") as file:
        for number in range(SIZE_BYTES):
            size += file.write(kind(rng, number // 20))
            if size >= SIZE_BYTES:
                break
    formats = load_log_formats()
    found = benchmark.pedantic(read_logs, ([path], formats), rounds=3, iterations=1)
    assert found.observation.batch_mean
    if benchmark.stats is not None:
        benchmark.extra_info["MB/s"] = size / benchmark.stats.stats.min / 1e6
        benchmark.extra_info["peak MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
