"""A plan replayed from the command line: on its demand, on traces of every layout, with a replica lost."""

import json
from pathlib import Path

import numpy as np
import pytest

from planner.interfaces import cli

PROBLEM = """\
name: chat-8b
workloads:
  - name: chat
    model: llama-3.1-8b
    demand: {peak_rps: 40}
    lengths: {input: {p50: 900, p99: 3000}, output: {p50: 100, p99: 400}}
    slo: {ttft_p99: 800 ms, itl_p99: 40 ms, e2e_p95: 20 s}
    precision: {weights: [bf16], kv: [bf16]}
fleet: {accelerators: [l40s], prices: {l40s: 1 USD/h}, redundancy: 1}
search: {modes: [MODE], mix: false}
"""
AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
POOL = "chat/serve/1"


def _planned(folder, mode):
    (folder / "problem.yaml").write_text(PROBLEM.replace("MODE", mode))
    assert cli.run(["plan", str(folder / "problem.yaml"), "--out", str(folder / "plan.json"), "--json"]) == 0
    return str(folder / "plan.json")


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    return _planned(tmp_path_factory.mktemp("together"), "aggregated")


@pytest.fixture(scope="module")
def disaggregated(tmp_path_factory):
    return _planned(tmp_path_factory.mktemp("disaggregated"), "disaggregated")


@pytest.fixture(autouse=True)
def _quiet(capsys):
    capsys.readouterr()


def _replayed(told, plan, *words, code=0):
    return told("replay", plan, "--seeds", "1", "--duration", "60", *words, code=code)


def test_a_plan_holds_on_its_own_demand(told, plan):
    found = _replayed(told, plan)
    assert found["verdict"] == "holds"
    chat, predicted = found["workloads"]["chat"], found["predicted"]["chat"]
    for metric in ("ttft_s", "itl_s", "tpot_s", "e2e_s"):
        assert list(chat[metric]) == ["mean", "p50", "p90", "p95", "p99", "p99.9"]
        assert sorted(chat[metric].values()) == pytest.approx(sorted(chat[metric].values()))
        assert chat[metric]["p50"] <= chat[metric]["p95"] <= chat[metric]["p99.9"]
        assert predicted[metric]["mean"] > 0
    assert chat["attainment"].keys() == {"ttft_p99", "itl_p99", "e2e_p95"}
    assert chat["attainment"]["ttft_p99"] >= 0.99
    assert chat["requests"] == pytest.approx(2_400, rel=0.1)
    assert chat["rate_rps"] == pytest.approx(40.0, rel=0.1)
    pool = found["pools"][POOL]
    assert 0.0 < pool["utilization"] < 1.0
    assert 0.0 < pool["kv_usage"] <= pool["kv_peak"] <= 1.0
    assert {"preemptions", "hit_ratio"} <= pool.keys()
    assert {row["id"] for row in found["limits"]} == {"ttft_p99:chat", "itl_p99:chat", "e2e_p95:chat"}
    assert "every limit holds" in found["reasons"][0]


def test_a_replay_over_time_and_its_picture(told, plan, tmp_path):
    path = tmp_path / "replay.svg"
    found = _replayed(told, plan, "--svg", str(path))
    line = found["timeline"]
    assert len(line["at_s"]) == 24
    assert line["at_s"] == sorted(line["at_s"])
    chat, pool = line["workloads"]["chat"], line["pools"][POOL]
    mean = sum(chat["rate_rps"]) / 24
    assert mean == pytest.approx(found["workloads"]["chat"]["rate_rps"], rel=1e-3)
    assert set(pool["replicas"]) == {float(found["pools"][POOL]["replicas"])}
    decoding = sum(pool["decoding"]) / 24
    assert decoding == pytest.approx(found["pools"][POOL]["concurrency"], rel=1e-3)
    assert all(0.0 < share < 1.0 for share in pool["kv_usage"])
    assert all(low <= high for low, high in zip(chat["ttft_p50_s"], chat["ttft_p99_s"], strict=True))
    drawn = path.read_text()
    for words in ("requests/s", "waiting", "KV in use", "TTFT by percentile", "ITL by percentile"):
        assert words in drawn


def test_the_same_seed_gives_the_same_bytes_and_another_one_does_not(plan, capsys):
    told = []
    for seed in ("0", "0", "9"):
        cli.run(["replay", plan, "--duration", "20", "--seeds", "2", "--seed", seed, "--json"])
        told.append(capsys.readouterr().out)
    assert told[0] == told[1] != told[2]


def test_several_seeds_give_an_interval(told, plan):
    found = told("replay", plan, "--duration", "30", "--seeds", "4")
    assert all(row["low_s"] <= row["replayed_s"] <= row["high_s"] for row in found["limits"])
    assert found["seeds"] == 4


def test_the_page_is_short(plan, capsys):
    assert cli.run(["replay", plan, "--duration", "20", "--seeds", "2"]) == 0
    page = capsys.readouterr().out
    assert "the plan holds" in page
    assert len(page.splitlines()) <= 40


def test_twice_the_load_breaks_it_and_more_replicas_mend_it(told, plan):
    found = _replayed(told, plan, "--duration", "6", "--rate", "110", code=1)
    assert found["verdict"] == "breaks"
    assert any("breaks" in reason for reason in found["reasons"])
    change = found["change"]
    assert change["replicas"][POOL] >= 1
    assert change["usd_per_hour"] == pytest.approx(change["replicas"][POOL] * 1.0)
    unasked = _replayed(told, plan, "--duration", "6", "--rate", "110", "--no-change", code=1)
    assert unasked["change"] is None


@pytest.mark.parametrize("router", ["random", "shared-queue", "by-length"])
def test_another_router_may_stand_in_front(told, plan, router):
    found = told("replay", plan, "--seeds", "1", "--duration", "30", "--router", router, "--no-change")
    assert found["pools"][POOL]["policy"] == router


def test_a_spare_replica_keeps_the_limits_when_one_is_lost_at_the_peak(told, plan):
    found = _replayed(told, plan, "--fail", f"{POOL}@20")
    assert found["workloads"]["chat"]["sent_again"] > 0
    whole = _replayed(told, plan)
    # What was lost is answered in the end; everything but those requests keeps its limits.
    assert found["workloads"]["chat"]["requests"] == whole["workloads"]["chat"]["requests"]
    assert found["verdict"] == "holds"


def test_prefill_and_decode_disaggregated(told, disaggregated):
    found = _replayed(told, disaggregated)
    assert set(found["pools"]) == {"chat/prefill/1", "chat/decode/1"}
    predicted = found["predicted"]["chat"]["ttft_s"]["p50"]
    assert found["workloads"]["chat"]["ttft_s"]["p50"] == pytest.approx(predicted, rel=0.5)


def test_batch_work_fills_what_requests_leave(told, plan, capsys):
    words = (plan, "--duration", "30", "--fill", "400/50", "--no-change")
    found = told("replay", *words, "--seeds", "1")
    batch = found["pools"][POOL]["batch"]
    assert batch["output_tokens_per_s"] == pytest.approx(50 * batch["requests_per_s"])
    assert batch["requests_per_s"] > 0.5
    assert found["verdict"] == "holds"
    assert found["workloads"]["chat"]["requests"] == pytest.approx(1_200, rel=0.1)
    assert cli.run(["replay", *words, "--seeds", "1"]) == 0
    assert "Batch work in what requests leave" in capsys.readouterr().out


def test_a_decode_replica_that_is_lost_sends_its_requests_back(disaggregated, capsys):
    words = ("--seeds", "1", "--duration", "60", "--fail", "chat/decode/1@20s", "--no-change", "--json")
    assert cli.run(["replay", disaggregated, *words]) in (0, 1)
    assert json.loads(capsys.readouterr().out)["workloads"]["chat"]["sent_again"] > 0
    assert cli.run(["replay", disaggregated, "--fill", "400/50"]) == 2
    assert "prefill and decode disaggregated" in capsys.readouterr().err


def _azure(tmp_path, rows):
    path = tmp_path / "trace.csv"
    path.write_text(AZURE + "".join(f"{row}\n" for row in rows))
    return str(path)


def _clock(at_s):
    return f"2023-11-16 18:{int(at_s // 60):02d}:{at_s % 60:010.7f}"


def _rows(count=400, rate_rps=20.0):
    random = np.random.default_rng(5)
    times = np.cumsum(random.exponential(1.0 / rate_rps, count))
    return [
        (at, n, m)
        for at, n, m in zip(
            times, random.integers(50, 2_000, count), random.integers(2, 200, count), strict=True
        )
    ]


def test_a_trace_of_azure(told, plan, tmp_path):
    path = _azure(tmp_path, [f"{_clock(at)},{n},{m}" for at, n, m in _rows()])
    found = told("replay", plan, "--seeds", "1", "--trace", path, "--no-change")
    assert found["workloads"]["chat"]["requests"] == 400
    assert found["trace"] == path
    scaled = told("replay", plan, "--seeds", "1", "--trace", path, "--rate", "40", "--no-change")
    assert scaled["workloads"]["chat"]["rate_rps"] == pytest.approx(40.0, rel=0.01)
    cut = told("replay", plan, "--seeds", "1", "--trace", path, "--duration", "5", "--no-change")
    assert 50 < cut["workloads"]["chat"]["requests"] < 150


@pytest.mark.parametrize("layout", ["mooncake", "burstgpt", "sessions", "own"])
def test_traces_of_other_layouts_give_the_same_run(told, plan, tmp_path, layout):
    rows = [(round(at, 3), int(n), int(m)) for at, n, m in _rows(150)]
    azure = _azure(tmp_path, [f"{_clock(at)},{n},{m}" for at, n, m in rows])
    path, more = tmp_path / "other", ()
    if layout == "mooncake":
        lines = [
            {"timestamp": round(at * 1e3), "input_length": n, "output_length": m, "hash_ids": [row]}
            for row, (at, n, m) in enumerate(rows)
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    elif layout == "own":
        path.write_text("when,in,out\n" + "".join(f"{at},{n},{m}\n" for at, n, m in rows))
        more = ("--columns", "time=when,input=in,output=out")
    else:
        head = "Timestamp,Session ID,Elapsed time," if layout == "sessions" else "Timestamp,"
        extra = "7,1.5," if layout == "sessions" else ""
        path.write_text(
            f"{head}Model,Request tokens,Response tokens,Total tokens,Log Type\n"
            + "".join(f"{at},{extra}GPT-4,{n},{m},{n + m},API log\n" for at, n, m in rows)
        )
    words = ("--seeds", "1", "--no-change")
    expected = told("replay", plan, "--trace", azure, *words)["workloads"]["chat"]
    found = told("replay", plan, "--trace", str(path), *more, *words)["workloads"]["chat"]
    assert found["requests"] == expected["requests"] == 150
    assert found["e2e_s"]["mean"] == pytest.approx(expected["e2e_s"]["mean"], rel=1e-3)


BAD = {
    "empty": ("", "an empty file"),
    "no rows": (AZURE, "no answered request"),
    "missing columns": ("TIMESTAMP,ContextTokens\n2023-11-16 18:00:00.0,5\n", "GeneratedTokens"),
    "negative tokens": (f"{AZURE}{_clock(1)},-5,3\n", "a whole number of tokens"),
    "negative time": ("when,in,out\n-3,5,5\n", "Azure CSV"),
    "text": (f"{AZURE}{_clock(1)},many,3\n", "a whole number of tokens"),
    "mixed": (f'{AZURE}{_clock(1)},5,3\n{{"timestamp": 3}}\n', "trace.csv:3"),
    "bytes": (b"\xff\xfe\x00\x01\n", "no text"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_traces_are_refused_in_words(plan, tmp_path, capsys, case):
    text, words = BAD[case]
    path = tmp_path / "trace.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert cli.run(["replay", plan, "--trace", str(path)]) == 2
    told = capsys.readouterr()
    assert words in told.err
    assert not told.out


def test_an_unsorted_trace_is_sorted_and_says_so(told, plan, tmp_path):
    rows = [f"{_clock(at)},{n},{m}" for at, n, m in _rows(100)]
    found = told(
        "replay", plan, "--seeds", "1", "--no-change", "--trace", _azure(tmp_path, rows[50:] + rows[:50])
    )
    assert found["workloads"]["chat"]["requests"] == 100
    assert any("sorted by time" in warning for warning in found["warnings"])


def test_requests_that_no_cache_holds_are_refused_by_number(told, plan, tmp_path):
    rows = [f"{_clock(at)},{n},{m}" for at, n, m in _rows(50)] + [f"{_clock(9)},90000000,5"]
    found = told("replay", plan, "--seeds", "1", "--no-change", "--trace", _azure(tmp_path, rows))
    assert found["workloads"]["chat"]["refused"] == 1
    assert any("longer than the KV cache" in reason for reason in found["reasons"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--fail", "chat/serve/7@3"), "a pool of the plan: chat/serve/1"),
        (("--fail", "chat/serve/1"), "a pool and a time"),
        (("--router", "sticky"), "one of least-loaded"),
        (("--router", "consistent-hash"), "ids of blocks"),
        (("--router", "by-length", "--overflow", "1"), "above 1"),
        (("--router", "random", "--overflow", "2"), "it with --router cache-aware"),
        (("--seeds", "0"), "--seeds"),
        (("--duration", "-3"), "--duration"),
        (("--workload", "chatt"), '"chat"'),
        (("--fill", "400"), "tokens of a prompt and of an answer"),
        (("--fill", "400000000/5"), "tokens of a prompt and of an answer"),
        (("--fill", "9000000/5"), "requests that fit an empty cache"),
        (("--fill", "400/50", "--adapter-skew", "1"), "one of them"),
        (("--confidence", "150 %"), "--confidence"),
        (("--columns", "time=a,input=b,output=c"), "--trace"),
        (("--rate", "100000000"), "requests of a workload"),
    ],
)
def test_bad_flags_are_told(plan, refused, words, said):
    refused(said, "replay", plan, *words)


def test_a_plan_without_a_fleet_is_told(tmp_path, capsys, plan):
    document = json.loads(Path(plan).read_text())
    (tmp_path / "none.json").write_text(json.dumps({**document, "status": "infeasible", "pools": []}))
    assert cli.run(["replay", str(tmp_path / "none.json")]) == 2
    assert "a plan with a fleet" in capsys.readouterr().err


def test_a_trace_of_more_requests_than_are_kept_is_refused(plan, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("planner.loaders.trace_counts.MOST_KEPT", 50)
    rows = [f"{_clock(at)},{n},{m}" for at, n, m in _rows(200)]
    assert cli.run(["replay", plan, "--trace", _azure(tmp_path, rows)]) == 2
    assert "200 requests" in capsys.readouterr().err


def test_blocks_of_a_trace_are_found_again(told, plan, tmp_path):
    path = tmp_path / "trace.jsonl"
    lines = [
        {"timestamp": 400 * row, "input_length": 1024, "output_length": 20, "hash_ids": [1, 2 + row % 3]}
        for row in range(200)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = told("replay", plan, "--seeds", "1", "--no-change", "--trace", str(path))
    assert found["workloads"]["chat"]["hit_ratio"] > 0.3
    words = ("--router", "consistent-hash", "--overflow", "1.5", "--no-change", "--trace", str(path))
    assert told("replay", plan, *words)["workloads"]["chat"]["hit_ratio"] > 0.3
    assert any("blocks of 512 tokens" in warning for warning in found["warnings"])


CSV = ("--columns", "time=t,input=in,output=out")


@pytest.mark.parametrize("times", [(0.0,), (5.0,), (3.0,) * 200], ids=["one", "late", "at once"])
def test_a_trace_that_is_over_at_once_is_answered(told, plan, tmp_path, times):
    path = tmp_path / "short.csv"
    path.write_text("t,in,out\n" + "".join(f"{time},800,50\n" for time in times))
    found = told("replay", plan, "--trace", str(path), *CSV, "--no-change", "--seeds", "1")
    chat = found["workloads"]["chat"]
    assert chat["requests"] == len(times)
    assert chat["itl_s"]["p50"] > 0.0
    assert 0.0 < found["pools"][POOL]["utilization"] < 100.0


def test_answers_of_one_token_have_no_gap_and_say_so(told, plan, tmp_path):
    path = tmp_path / "one-token.csv"
    path.write_text("t,in,out\n" + "".join(f"{second},800,1\n" for second in range(90)))
    found = told("replay", plan, "--trace", str(path), *CSV)
    assert any("itl_p99:chat cannot be told" in reason for reason in found["reasons"])


def test_requests_that_the_engines_would_refuse_are_named(told, plan, tmp_path):
    path = tmp_path / "long.csv"
    path.write_text(
        "t,in,out\n" + "".join(f"{second},{700 + 40_000 * (second == 7)},50\n" for second in range(70))
    )
    found = told("replay", plan, "--trace", str(path), *CSV, "--no-change", code=1)
    assert any("1 of 70 requests of the trace are longer" in warning for warning in found["warnings"])


def test_a_failure_after_the_period_is_named(told, plan):
    found = _replayed(told, plan, "--fail", f"{POOL}@500")
    assert any("500 s, after the 60 s" in warning for warning in found["warnings"])
