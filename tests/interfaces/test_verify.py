"""A plan held against synthetic runs that keep it, miss it, contradict it, or tell too little."""

import json
from pathlib import Path

import numpy as np
import pytest

from planner.interfaces import cli
from tests.http_servers import reply, serving

PROBLEM = """\
name: chat-8b
workloads:
  - name: chat
    model: llama-3.1-8b
    demand: {peak_rps: 20}
    lengths: {input: {fixed: 1000}, output: {fixed: 200}}
    slo: {ttft_p99: 800 ms, itl_p99: 40 ms}
    precision: {weights: [bf16], kv: [bf16]}
fleet: {accelerators: [h100-sxm], prices: {h100-sxm: 2.50 USD/h}}
search: {modes: [aggregated], mix: false}
"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verify")
    (folder / "problem.yaml").write_text(PROBLEM)
    assert cli.run(["plan", str(folder / "problem.yaml"), "--out", str(folder / "plan.json"), "--json"]) == 0
    return folder / "plan.json"


def run_of(tmp_path, name="run.json", *, n=2000, ttft_s=0.3, itl_s=0.02, rate=20.0, **changes):
    """A result of vLLM's client whose P99 are these."""
    document = {
        "backend": "openai", "model_id": "meta-llama/Llama-3.1-8B-Instruct", "num_prompts": n,
        "request_rate": rate, "burstiness": 1.0, "max_concurrency": None, "completed": n, "failed": 0,
        "total_input_tokens": 1000 * n, "total_output_tokens": 200 * n, "request_throughput": rate,
        "output_throughput": rate * 200, "mean_ttft_ms": ttft_s * 300, "median_ttft_ms": ttft_s * 250,
        "std_ttft_ms": ttft_s * 200, "p99_ttft_ms": ttft_s * 1000, "mean_tpot_ms": itl_s * 600,
        "mean_itl_ms": itl_s * 600, "median_itl_ms": itl_s * 580, "p99_itl_ms": itl_s * 1000,
    }  # fmt: skip
    path = tmp_path / name
    path.write_text(json.dumps(document | changes))
    return str(path)


def verified(told, plan, *files, code=0, more=("--no-replan",)):
    return told("verify", str(plan), "--results", *files, *more, code=code)


def limits(found):
    return {row["id"]: row for row in found["limits"]}


def test_runs_that_keep_the_plan(told, plan, tmp_path):
    found = verified(told, plan, run_of(tmp_path))
    assert found["verdict"] == "holds"
    assert set(limits(found)) == {"ttft:chat", "itl:chat", "demand:chat"}
    row = limits(found)["ttft:chat"]
    assert (row["promised"], row["measured"], row["verdict"]) == (0.8, 0.3, "holds")
    assert row["low"] < 0.3 < row["high"] < 0.8
    assert found["runs"][0]["matches"] is True
    assert found["calibration"] is None
    assert found["plan_would_change"] is None


def test_runs_that_miss_the_plan(told, plan, tmp_path):
    found = verified(told, plan, run_of(tmp_path, ttft_s=1.6), code=1)
    assert found["verdict"] == "breaks"
    assert [limits(found)[name]["verdict"] for name in ("ttft:chat", "itl:chat")] == ["breaks", "holds"]


def test_a_limit_inside_the_interval_stays_open(told, plan, tmp_path):
    found = verified(told, plan, run_of(tmp_path, ttft_s=0.82))
    assert found["verdict"] == "open"
    assert "inside the interval" in limits(found)["ttft:chat"]["reason"]


@pytest.mark.parametrize(
    ("changes", "verdict", "words"),
    [
        ({"rate": 5.0}, "open", "not the load of the plan: 5 requests/s against 20 planned"),
        ({"total_output_tokens": 200_000}, "open", "mean of 100 tokens against 200"),
        ({"burstiness": 4.0}, "open", "gaps between arrivals vary by 0.25"),
        ({"request_rate": "inf", "max_concurrency": 64}, "open", "clients that wait for answers"),
        ({"gpu": "A100"}, "open", "the run names gpu A100, the plan has h100-sxm"),
        ({"tp": "2"}, "open", "the run names tp 2, the plan has 1"),
        ({"n": 100}, "open", "at least 368 independent ones"),
        ({"rate": 30.0}, "holds", "also under a heavier load (30 requests/s against 20 planned)"),
    ],
)
def test_other_loads_and_short_runs(told, plan, tmp_path, changes, verdict, words):
    throughput = {"output_throughput": 20 * 100.0} if "total_output_tokens" in changes else {}
    found = verified(told, plan, run_of(tmp_path, **changes | throughput))
    row = limits(found)["ttft:chat"]
    assert row["verdict"] == verdict
    assert words in row["reason"]


def test_a_lighter_load_can_only_break_the_promise(told, plan, tmp_path):
    found = verified(told, plan, run_of(tmp_path, rate=5.0, ttft_s=1.6), code=1)
    assert "also under a lighter load" in limits(found)["ttft:chat"]["reason"]


def test_a_rate_that_is_not_carried(told, plan, tmp_path):
    found = verified(told, plan, run_of(tmp_path, request_throughput=12.0, output_throughput=2400.0), code=1)
    row = limits(found)["demand:chat"]
    assert (row["verdict"], row["measured"], row["promised"]) == ("breaks", 12.0, 20.0)


def test_failed_requests_count_as_slow_ones(told, plan, tmp_path):
    found = verified(told, plan, run_of(tmp_path, failed=60), code=1)
    row = limits(found)["ttft:chat"]
    assert (row["verdict"], row["measured"]) == ("breaks", None)
    assert "failed" in row["reason"]


def test_lists_of_requests_are_ranked(told, plan, tmp_path):
    rng = np.random.default_rng(0)
    ttfts = rng.lognormal(-2.0, 0.4, 2000)
    listed = {
        "ttfts": ttfts.tolist(),
        "itls": [[0.012] * 3] * 2000,
        "input_lens": [1000] * 2000,
        "output_lens": [200] * 2000,
        "start_times": np.cumsum(rng.exponential(0.05, 2000)).tolist(),
        "mean_ttft_ms": ttfts.mean() * 1e3,
        "mean_itl_ms": 12.0,
        "median_itl_ms": 12.0,
    }
    found = verified(told, plan, run_of(tmp_path, **listed))
    row = limits(found)["ttft:chat"]
    assert row["verdict"] == "holds"
    assert row["basis"].startswith("ranks of 2,000 requests")
    assert row["low"] <= np.sort(ttfts)[1979] <= row["high"]


def test_runs_that_contradict_the_model_change_the_plan(told, plan, tmp_path):
    target = tmp_path / "mine.yaml"
    slow = run_of(tmp_path, ttft_s=0.5, itl_s=0.036, mean_tpot_ms=18.0, mean_itl_ms=18.0)
    found = verified(told, plan, slow, more=("--calibration-out", str(target)))
    assert found["calibration"] == str(target)
    assert found["plan_would_change"] is True
    assert any(one["what"].startswith("pool:") for one in found["difference"])
    assert {factor["name"] for factor in found["factors"]} == {"step", "ttft"}
    assert told("catalog", "check", "--catalog", str(target))["user_factors"] == 1
    # The same from the command that a person would type next.
    again = told("plan", str(Path(plan).with_name("problem.yaml")), "--catalog", str(target))
    assert again["pools"][0]["max_batch"] != json.loads(Path(plan).read_text())["pools"][0]["max_batch"]


DATA = Path(__file__).parents[1] / "data" / "benchmarks"


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("vllm/0.33.0/rate.json", "vllm"),
        ("sglang/0.5.23/three.jsonl", "sglang"),
        ("aiperf/0.13.0/profile_export_aiperf.json", "aiperf"),
        ("genai-perf/0.0.16/profile_export_genai_perf.json", "genai-perf"),
        ("guidellm/0.8.1/benchmarks.json", "guidellm"),
        ("inference-perf/0.7.0/stage_0_lifecycle_metrics.json", "inference-perf"),
    ],
)
def test_files_of_every_tool_are_read_and_other_loads_stay_open(told, plan, name, source):
    found = verified(told, plan, str(DATA / name), more=("--no-replan", "--workload", "chat"))
    assert {run["source"] for run in found["runs"]} == {source}
    assert found["verdict"] == "open"
    assert all(row["reason"] for row in found["limits"] if row["verdict"] == "open")


def test_new_factors_may_go_to_a_folder(told, plan, tmp_path):
    found = verified(
        told, plan, run_of(tmp_path), more=("--no-replan", "--calibration-out", str(tmp_path / "mine"))
    )
    assert found["calibration"] == str(tmp_path / "mine")
    (entry,) = (tmp_path / "mine" / "user_factors").glob("*.yaml")
    assert "llama-3.1-8b" in entry.name


def test_demand_in_flight_is_tested_by_so_many_clients(told, tmp_path):
    problem, path = tmp_path / "problem.yaml", tmp_path / "plan.json"
    problem.write_text(PROBLEM.replace("peak_rps: 20", "concurrency: 64"))
    rate = told("plan", str(problem), "--out", str(path))["sizing"][0]["peak_rps"]
    closed = {"request_rate": "inf", "max_concurrency": 64, "n": 4000, "rate": rate}
    found = verified(told, path, run_of(tmp_path, **closed))
    assert found["verdict"] == "holds", limits(found)
    few = verified(told, path, run_of(tmp_path, **closed | {"max_concurrency": 8}))
    assert "8 in flight against 64 planned" in limits(few)["ttft:chat"]["reason"]


def test_in_words(plan, tmp_path, capsys):
    assert cli.run(["verify", str(plan), "--results", run_of(tmp_path, ttft_s=1.6), "--no-replan"]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("chat-8b: the plan breaks: a limit is not kept")
    assert "even the lower bound" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "found no results, expected --results FILE… or --prometheus URL"),
        (["--results", "none.json"], "none.json: found no such file"),
        (["--results", "text.json"], "text.json"),
        (["--results", "other.json"], 'model: found "Qwen/Qwen3-32B", expected a model of the plan'),
        (["--results", "run.json", "--workload", "cat"], 'expected one of chat. Maybe "chat"?'),
        (["--results", "other.json", "--workload", "chat"], "the model of --workload chat"),
        (["--results", "run.json", "--range", "5m"], "expected it with --prometheus"),
        (["--results", "run.json", "--calibration-out", "no/x.yaml"], "in a folder that does not exist"),
        (["--results", "run.json", "--calibration-out", "x.json"], "expected a file that ends in .yaml"),
        (["run.json"], "expected files after --results"),
        (["--prometheus", "localhost"], "localhost"),
    ],
)  # fmt: skip
def test_bad_usage(plan, tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    run_of(tmp_path)
    run_of(tmp_path, "other.json", model_id="Qwen/Qwen3-32B")
    Path("text.json").write_text("{")
    before = sorted(tmp_path.iterdir())
    assert cli.run(["verify", str(plan), *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err
    assert "Traceback" not in printed.err
    assert sorted(tmp_path.iterdir()) == before


def test_a_plan_without_a_fleet_promises_nothing(tmp_path, capsys, no_plan):
    from planner.report import json_document

    path = tmp_path / "none.json"
    path.write_bytes(json_document.encode(json_document.of_plan(no_plan)))
    assert cli.run(["verify", str(path), "--results", run_of(tmp_path)]) == 2
    assert "expected a plan with a fleet" in capsys.readouterr().err


def test_hostile_names_do_not_steer_the_terminal(plan, tmp_path, capsys):
    odd = run_of(tmp_path, model_id="my\u001b[31mmodel\u202e")
    assert cli.run(["verify", str(plan), "--results", odd, "--no-replan"]) == 0
    printed = capsys.readouterr()
    assert "\u001b" not in printed.out + printed.err
    assert "not in the catalog; taken as chat" in " ".join(printed.out.split())


TTFT = {"0.25": 500.0, "0.5": 980.0, "0.75": 998.0, "+Inf": 1000.0}
ITL = {"0.02": 150_000.0, "0.04": 199_900.0, "0.05": 200_000.0, "+Inf": 200_000.0}


def test_a_prometheus_server_tells_it_too(told, plan):
    """Twenty requests a second over five minutes, as the server counted them."""

    def answer(request, body):
        from urllib.parse import parse_qs

        query = parse_qs(body.decode())["query"][0]
        reply(
            request,
            json.dumps({"status": "success", "data": {"result": rows(query)}}).encode(),
            "application/json",
        )

    def rows(query):
        names = {
            "vllm:time_to_first_token_seconds_bucket": TTFT,
            "vllm:inter_token_latency_seconds_bucket": ITL,
        }
        if query.startswith("count by"):
            return [{"metric": {"__name__": name}, "value": [0, "1"]} for name in names]
        for name, buckets in names.items():
            if name in query and query.startswith("rate"):
                return [
                    {"metric": {"le": edge, "model_name": "llama-3.1-8b"}, "value": [0, str(count / 50)]}
                    for edge, count in buckets.items()
                ]
        return []

    with serving(answer) as url:
        found = told("verify", str(plan), "--prometheus", url, "--range", "5m")
    row = limits(found)["ttft:chat"]
    assert (row["low"], row["high"], row["verdict"]) == (0.5, 0.75, "holds")
    assert found["runs"][0]["source"] == "prometheus"
    assert limits(found)["demand:chat"]["measured"] == pytest.approx(20.0)
    assert found["plan_would_change"] is False
