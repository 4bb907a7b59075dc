"""Logs of every engine, as they are and broken, turned into observed values."""

import gzip
import json
import random
import re
from pathlib import Path

import pytest

from planner.app.data import catalog_check
from planner.errors import InputError
from planner.loaders.logs import load_log_formats, read_logs
from planner.loaders.logs.anchors import MOST, Anchors
from planner.loaders.logs.rotated import server_names
from planner.loaders.logs.stream import CHUNK_BYTES, chunks
from planner.loaders.logs.tracks import MOST_BINS, Track, slope

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "tests" / "data" / "logs"
STATS = (
    "INFO 03-18 10:{minute:02d}:{second:02d} [loggers.py:123] Engine {engine:03d}: Avg prompt throughput: "
    "1.0 tokens/s, Avg generation throughput: 8.0 tokens/s, Running: {running} reqs, Waiting: {waiting} "
    "reqs, GPU KV cache usage: 90.0%, Prefix cache hit rate: 12.5%\n"
)
GOOD = """
kind: log
id: mine
name: Mine
engine: vllm
version: "1"
source: a
lines:
  stats:
    has: "mine: "
    pattern: 'mine: (?P<running>[0-9]+)'
    fields: [{field: batch_mean, take: mean, group: running}]
sources:
  a: {title: a, date: 2026-11-21, grade: B}
"""


@pytest.fixture(scope="module")
def formats():
    return load_log_formats()


def read(formats, path, **options):
    return read_logs([path], formats, **options)


def stats(minute=0, second=0, engine=0, running=8, waiting=0):
    return STATS.format(minute=minute, second=second, engine=engine, running=running, waiting=waiting)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "vllm-v1.log",
            {
                "engine": "vllm", "engine_version": "0.10.1", "tp": 4, "max_batch": 256, "batch_mean": 73,
                "queue_depth": 20, "queue_growth_per_s": 2, "kv_usage_ratio": 0.92, "kv_cache_tokens": 312640,
                "requests_at_context_limit": 9.54, "context_limit_tokens": 32768, "cuda_graphs": False,
                "custom_all_reduce": False, "moe_kernels_tuned": False, "weights_load_s": 41.25,
                "memory_share_ratio": 0.85, "prefix_caching": True, "weights_precision": "fp8",
                "kv_precision": "fp8", "http_error_ratio": 0.5, "request_rate_rps": 0.05,
                "engine_restarts": 0,
            },
        ),
        (
            "vllm-v0.log",
            {
                "engine": "vllm", "engine_version": "0.6.3", "batch_mean": 8, "queue_depth": 5,
                "requests_swapped": 2, "kv_usage_ratio": 0.99, "prefix_hit_ratio": 0.42,
                "preemptions_per_s": 2, "cuda_graphs": True, "graph_capture_s": 12,
                "requests_at_context_limit": 54.44,
            },
        ),
        (
            "sglang.log",
            {
                "engine": "sglang", "tp": 2, "batch_mean": 25, "queue_depth": 3, "kv_usage_ratio": 0.85,
                "preemptions_per_s": 0.15, "max_batch": 2048, "max_batched_tokens": 8192,
                "kv_cache_tokens": 500000, "speculative": True, "accepted_tokens_per_step": 2.5,
                "cuda_graphs": True, "cuda_graph_max_batch": 160, "scheduler_policy": "fcfs",
                "grammar_backend": "xgrammar", "output_tokens_per_s": 1117,
            },
        ),
        ("sglang-old.log", {"engine": "sglang", "batch_mean": 1, "queue_depth": 6, "prefix_hit_ratio": 0.25}),
        (
            "tensorrt-llm.log",
            {
                "engine": "tensorrt-llm", "batch_mean": 110, "step_s": 0.021, "host_step_s": 0.025,
                "max_batch": 128, "max_batched_tokens": 8192, "kv_cache_tokens": 262144,
            },
        ),
        (
            "tensorrt-llm-stats.json",
            {"engine": "tensorrt-llm", "batch_mean": 61, "queue_depth": 13, "max_batch": 64, "step_s": 0.011},
        ),
        (
            "tgi.log",
            {"engine": "tgi", "queue_time_mean_s": 0.5, "itl_mean_s": 0.025, "tokenize_time_mean_s": 0.002},
        ),
        (
            "system.log",
            {"collective_transport": "socket", "xid_error": 79, "host_oom": True, "oom": "at-load"},
        ),
    ],
)  # fmt: skip
def test_the_lines_of_every_engine_are_read(formats, name, expected):
    found = read(formats, SAMPLES / name).observation.model_dump(exclude_none=True)
    assert {key: found.get(key) for key in expected} == pytest.approx(expected)


def test_every_kind_of_line_is_counted(formats):
    assert (
        catalog_check()["logs"] == len(formats.formats) == len([*(ROOT / "catalog/logs").glob("*.yaml")]) - 1
    )
    engines = {path.stem for path in (ROOT / "catalog" / "engines").glob("*.yaml")} - {"naive"}
    assert engines <= {one.engine for one in formats.formats}


def test_every_line_without_a_field_serves_something(formats):
    for one in formats.formats:
        for name, line in one.lines.items():
            assert line.fields or line.marks, f"{one.id}/{name}"


def test_gzip_color_and_bad_bytes_change_nothing(formats, tmp_path):
    plain = (SAMPLES / "vllm-v1.log").read_bytes()
    expected = read(formats, SAMPLES / "vllm-v1.log").observation
    words = re.compile(rb"INFO|WARNING|Running|throughput")
    colored = words.sub(lambda word: b"\x1b[1;32m" + word[0] + b"\x1b[0m", plain)
    variants = {
        "a.gz": gzip.compress(plain),
        "b.gz": gzip.compress(plain[:1500]) + gzip.compress(plain[1500:]),
        "cut.gz": gzip.compress(plain + random.Random(1).randbytes(50_000))[:-20_000],
        "colored": colored,
        "crlf": plain.replace(b"\n", b"\r\n"),
        "bytes": b"\xff\xfe\x00 nonsense\n" + plain.replace(b"\n", b"\n\x80\x81 \x1b[ broken\n", 3),
        "open-end": plain.rstrip(b"\n"),
    }
    for name, data in variants.items():
        (tmp_path / name).write_bytes(data)
        assert read(formats, tmp_path / name).observation == expected, name


def test_rotated_files_are_one_log_and_replicas_are_told_apart(formats, tmp_path):
    (tmp_path / "a.log.1").write_text("".join(stats(0, second, running=10) for second in range(0, 60, 10)))
    (tmp_path / "a.log").write_text("".join(stats(1, second, running=20) for second in range(0, 60, 10)))
    both = read_logs([tmp_path / "a.log", tmp_path / "a.log.1"], formats)
    assert both.observation.batch_mean == pytest.approx(15)
    other = tmp_path / "b.log"
    other.write_text(
        "".join(stats(0, second, engine, 10 + 20 * engine) for second in (0, 9) for engine in (0, 1))
    )
    assert read(formats, other).observation.batch_mean == pytest.approx(20)
    names = server_names([Path("x/a.log"), Path("x/a.log.2.gz"), Path("x/a.log-20260102"), Path("x/b.log")])
    assert [Path(name).name for name in names] == ["a.log", "a.log", "a.log", "b.log"]


def test_now_is_the_end_of_the_log(formats, tmp_path):
    path = tmp_path / "a.log"
    lines = [stats(minute, 0, running=1 if minute < 30 else 50, waiting=minute) for minute in range(59)]
    path.write_text("".join(lines))
    assert read(formats, path).observation.batch_mean == 50
    assert read(formats, path, range_s=7200).observation.batch_mean < 30
    assert read(formats, path).observation.queue_growth_per_s == pytest.approx(1 / 60)


def test_a_restart_counts_after_traffic_only(formats, tmp_path):
    start = (
        "INFO 03-18 10:{:02d}:00 x] Initializing a V1 LLM engine (v0.9) with config: enforce_eager=False\n"
    )
    path = tmp_path / "a.log"
    path.write_text(start.format(0) + start.format(0) + stats(1) + start.format(2) + stats(3))
    assert read(formats, path).observation.engine_restarts == 1


def test_memory_ends_at_start_or_under_load(formats, tmp_path):
    start, oom = "x Initializing a V1 LLM engine (v0.9) with config: x\n", "CUDA out of memory. Tried\n"
    path = tmp_path / "a.log"
    for text, expected in (
        (start + oom, "at-start-of-traffic"),
        (start + stats() + oom, "at-load"),
        (oom, "at-load"),
    ):
        path.write_text(text)
        assert read(formats, path).observation.oom == expected


def test_a_dense_log_gives_the_same_as_all_of_its_lines(formats, tmp_path):
    rng = random.Random(4)
    line = (
        "[2025-03-18 10:{:02d}:{:02d} TP0] Decode batch. #running-req: {}, #token: 1, token usage: 0.50, "
        "cuda graph: True, gen throughput (token/s): 9.0, #queue-req: {},\n"
    )
    running = [rng.randrange(20, 40) for _ in range(20_000)]
    path = tmp_path / "a.log"
    path.write_text(
        "".join(line.format(at // 60 % 10, at % 60, number, 3) for at, number in enumerate(running))
        + "[2025-03-18 10:09:59] KV cache pool is full. Retract requests. #retracted_reqs: 6, #new\n"
    )
    found = read(formats, path).observation
    assert found.batch_mean == pytest.approx(sum(running) / len(running), rel=0.03)
    # One rare line among twenty thousand is not lost.
    assert found.preemptions_per_s == pytest.approx(6 / 599, rel=0.01)


def test_the_present_separator_of_sglang_is_read_like_the_former(formats, tmp_path):
    path = tmp_path / "a.log"
    former = (ROOT / "tests" / "data" / "logs" / "sglang.log").read_text()
    path.write_text(former)
    before = read(formats, path).observation
    path.write_text(former.replace("batch. #", "batch, #").replace("requests. #", "requests, #"))
    assert read(formats, path).observation == before
    assert before.batch_mean is not None


def test_literals_are_found_wherever_they_stand():
    rng = random.Random(7)
    literals = [b"abcd", b"Engine 000", b"abcdabcd", b"#x: ", b'HTTP/1.1" 5']
    anchors = Anchors(literals)
    for _ in range(200):
        text = b"".join(
            rng.choice([*literals, b"a", b"bc", b" ", b"\xff", b"HTTP"]) for _ in range(rng.randrange(40))
        )
        found = {literals[one.literal]: one for one in anchors.find(text)}
        for literal in literals:
            places = [at for at in range(len(text)) if text.startswith(literal, at)]
            assert (literal in found) == bool(places)
            if len(places) <= MOST and literal in found:
                assert found[literal].places == tuple(places)
    many = anchors.find(b"abcd-" * 1000)[0]
    assert len(many.places) == MOST
    assert many.weight * len(many.places) == pytest.approx(1000)


def test_a_line_without_end_stays_in_bounds(tmp_path):
    path = tmp_path / "a.log"
    path.write_bytes(b"x" * (5 * CHUNK_BYTES) + b"\nshort\n")
    pieces = list(chunks(path))
    assert sum(map(len, pieces)) < 3 * CHUNK_BYTES
    assert pieces[-1].endswith(b"\nshort\n")


def test_tracks_widen_and_keep_their_sums():
    track = Track()
    for second in range(10_000):
        track.add(float(second), second, second * 0.5)
    assert len(track.bins) <= MOST_BINS
    assert sum(one.weight for one in track.bins.values()) == 10_000
    assert slope(track.since(0)) == pytest.approx(0.5, rel=1e-3)


def test_new_year_is_no_way_back(formats, tmp_path):
    path = tmp_path / "a.log"
    path.write_text(
        stats(waiting=0).replace("03-18 10:00:00", "12-31 23:59:50")
        + stats(waiting=20).replace("03-18 10:00:00", "01-01 00:00:00")
    )
    assert read(formats, path).observation.queue_growth_per_s == pytest.approx(2)


@pytest.mark.parametrize(
    "data", [b"", b"\x00" * 5000, b"hello\nworld\n", b"{}\n", b"\xff\xfe" + "INFO".encode("utf-16")]
)
def test_of_other_files_nothing_is_read(formats, tmp_path, data):
    (tmp_path / "a.log").write_bytes(data)
    readout = read(formats, tmp_path / "a.log")
    assert not readout.observation.model_fields_set
    assert readout.notes[0].kind == "missing"


def test_broken_gzip_is_said(formats, tmp_path):
    (tmp_path / "a.gz").write_bytes(b"\x1f\x8bnonsense")
    with pytest.raises(InputError, match="broken gzip"):
        read(formats, tmp_path / "a.gz")
    (tmp_path / "b.gz").write_bytes(b"\x1f\x8b")
    assert not read(formats, tmp_path / "b.gz").observation.model_fields_set


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("batch_mean", "batch_men", "batch_mean"),
        ("group: running", "group: walking", 'the group "walking"'),
        ("[0-9]+", "[0-9+", "a regular expression"),
        ('has: "mine: "', 'has: "m"', "at least 4"),
        ("take: mean, group: running", "take: mean", "without a group"),
        ("take: mean, group: running", "take: said", "said of batch_mean"),
        ("take: mean, group: running", "take: share, over: [other]", '"other"'),
        ("id: mine", "id: yours", "yours"),
    ],
)
def test_faults_of_a_format_are_named(tmp_path, old, new, said):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "mine.yaml").write_text(GOOD.replace(old, new))
    with pytest.raises(InputError) as refused:
        load_log_formats([tmp_path])
    assert said in str(refused.value)


def test_an_overlay_adds_a_program(tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "mine.yaml").write_text(GOOD)
    (tmp_path / "a.log").write_text("mine: 7\n")
    readout = read(load_log_formats([tmp_path]), tmp_path / "a.log")
    assert (readout.observation.batch_mean, readout.exporters) == (7, ("mine-log",))


def test_numbers_that_cannot_be_are_unknown(formats, tmp_path):
    (tmp_path / "a.log").write_text(stats().replace("usage: 90.0%", "usage: 900.0%"))
    readout = read(formats, tmp_path / "a.log")
    assert readout.observation.kv_usage_ratio is None
    assert any(note.metric == "kv_usage_ratio" for note in readout.notes)


def test_readouts_can_be_written_as_json(formats):
    found = read(formats, SAMPLES / "vllm-v1.log")
    assert json.loads(found.observation.model_dump_json(exclude_none=True))["tp"] == 4
