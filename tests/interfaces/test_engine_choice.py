"""Several engines to choose one from: every verb under the one that is taken, and what the others cost."""

from __future__ import annotations

import copy
import json

import pytest
import yaml

from planner.interfaces import cli

PROBLEM = {
    "name": "engines",
    "workloads": [
        {
            "name": "chat",
            "model": "llama-3.1-8b",
            "engine": ["vllm", "sglang"],
            "demand": {"peak_rps": 60},
            "lengths": {"input": {"p50": 1000, "p99": 2000}, "output": {"p50": 200, "p99": 500}},
            "slo": {"ttft_p99": "1000 ms", "itl_p99": "50 ms"},
        }
    ],
    "fleet": {"prices": {"h100": "2.5 USD/h", "l40s": "1 USD/h"}},
    "search": {"modes": ["aggregated"]},
}


@pytest.fixture
def asked(capsys, tmp_path):
    """A command on a problem with these engines: exit code, output, errors."""

    def run(verb, *more, engine=("vllm", "sglang"), **changes):
        problem = copy.deepcopy(PROBLEM)
        problem["workloads"][0] |= {
            "engine": list(engine) if isinstance(engine, tuple) else engine,
            **changes,
        }
        path = tmp_path / "engines.yaml"
        path.write_text(yaml.safe_dump(problem))
        code = cli.run([verb, str(path), *more])
        ended = capsys.readouterr()
        return code, ended.out, ended.err

    return run


def planned(asked, **changes):
    code, out, _ = asked("plan", "--json", **changes)
    assert code in (0, 1)
    return json.loads(out)


def test_the_cheapest_engine_is_taken_and_the_others_are_priced(asked):
    both = planned(asked)
    alone = {name: planned(asked, engine=name)["cost_usd_per_hour"] for name in ("vllm", "sglang")}
    assert both["cost_usd_per_hour"] == pytest.approx(min(alone.values()))
    tried = {one["engines"]["chat"]: one for one in both["engines"]}
    assert {name: one["cost_usd_per_hour"] for name, one in tried.items()} == pytest.approx(alone)
    (taken,) = (name for name, one in tried.items() if one["taken"])
    assert {pool["engine"] for pool in both["pools"]} == {taken}
    assert both["engines"][0]["taken"], "the cheapest comes first"


def test_a_list_of_one_is_that_engine(asked):
    assert asked("plan", "--json", engine=("sglang",)) == asked("plan", "--json", engine="sglang")
    assert planned(asked, engine="sglang")["engines"] == []


def test_of_equals_the_first_is_taken(asked):
    """Latencies that nobody limits leave both engines with the same two GPUs."""
    for order in (("vllm", "sglang"), ("sglang", "vllm")):
        plan = planned(asked, engine=order, slo={"ttft_p99": "10 s"}, demand={"peak_rps": 1})
        assert len({one["cost_usd_per_hour"] for one in plan["engines"]}) == 1
        assert {pool["engine"] for pool in plan["pools"]} == {order[0]}


def test_the_page_names_them(asked):
    code, out, _ = asked("plan", "--details")
    assert code == 0
    section = out[out.index("Engines") :].split("\n\n")[0]
    assert "sglang" in section
    assert "vllm" in section
    assert "taken" in section


@pytest.mark.parametrize(
    ("verb", "more"),
    [
        ("relax", []),
        ("pareto", []),
        ("robust", []),
        ("alternatives", []),
        ("whatif", ["--set", "workloads.chat.engine=vllm"]),
        ("whatif", ["--set", "workloads.chat.slo.itl_p99=40 ms"]),
    ],
)
def test_every_verb_answers(asked, verb, more):
    code, out, err = asked(verb, *more, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)


def test_a_plan_is_explained_under_its_engine(asked, tmp_path, capsys):
    assert asked("plan", "--out", str(tmp_path / "plan.json"))[0] == 0
    for more in ([], ["--candidate", "l40s"], ["--steps"]):
        assert cli.run(["explain", str(tmp_path / "plan.json"), *more]) == 0
        assert "engines" in capsys.readouterr().out


def test_no_engine_keeps_an_impossible_limit(asked):
    plan = planned(asked, slo={"ttft_p99": "1 ms"})
    assert plan["status"] == "infeasible"
    assert [one["cost_usd_per_hour"] for one in plan["engines"]] == [None, None]


@pytest.mark.parametrize(
    ("engine", "told"),
    [
        (
            ("vllm", "sglng"),
            'workloads.chat.engine.1: found "sglng", expected an engine of the catalog. Maybe "sglang"?',
        ),
        (("vllm", "vllm"), "expected each engine once"),
        (
            ("trtllm", "vllm", "tensorrt-llm"),
            'engine.2: found "tensorrt-llm", another name of "trtllm", expected each engine once',
        ),
        ((), "workloads.chat.engine: found an empty list"),
    ],
)
def test_faults_are_told_with_their_place(asked, engine, told):
    code, _, err = asked("plan", engine=engine)
    assert code == 2
    assert told in " ".join(err.split())


def test_combinations_that_nobody_waits_for_are_refused(capsys, tmp_path):
    problem = copy.deepcopy(PROBLEM)
    first = problem["workloads"][0]
    problem["workloads"] = [{**first, "name": f"chat-{n}"} for n in range(5)]
    path = tmp_path / "many.yaml"
    path.write_text(yaml.safe_dump(problem))
    assert cli.run(["plan", str(path)]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "found 32 combinations of engines of 5 workloads, expected at most 16" in told


def test_two_workloads_may_run_on_two_engines(capsys, tmp_path):
    problem = copy.deepcopy(PROBLEM)
    first = problem["workloads"][0]
    problem["workloads"] = [first, {**first, "name": "code", "engine": "vllm"}]
    path = tmp_path / "two.yaml"
    path.write_text(yaml.safe_dump(problem))
    assert cli.run(["plan", str(path), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert {pool["engine"] for pool in plan["pools"] if pool["workload"] == "code"} == {"vllm"}
    assert [set(one["engines"]) for one in plan["engines"]] == [{"chat"}, {"chat"}]


@pytest.mark.parametrize(
    ("engine", "blocks", "matching", "found", "words"),
    [
        ("vllm", None, "hash", 1024, "whole blocks of 16 tokens (hash): of 1,030 tokens, 1,024 are found"),
        ("vllm", 256, "hash", 1024, "whole blocks of 256 tokens (hash): of 1,030 tokens, 1,024 are found"),
        ("sglang", None, "radix", 1030, "Prefixes are found to the token (radix tree)"),
        ("sglang", 64, "radix", 1024, "whole blocks of 64 tokens (radix tree)"),
        ("tensorrt-llm", None, "radix", 1030, "Prefixes are found to the token (radix tree)"),
        ("tensorrt-llm", 128, "radix", 1030, "Prefixes are found to the token (radix tree)"),
    ],
)
def test_a_stated_prefix_is_found_as_the_engine_matches(
    asked, tmp_path, engine, blocks, matching, found, words
):
    """Hashes know whole blocks; a tree single tokens, or whole pages; TensorRT-LLM copies part of a block."""
    cache = {"hit": "50 %", "prefixes": 20, "prefix_tokens": 1030}
    changes = {"engine": engine, "prefix_cache": cache, "kv_block_tokens": blocks}
    _, out, _ = asked("plan", "--details", "--out", str(tmp_path / "plan.json"), **changes)
    assert words in " ".join(out.split())
    (pool,) = json.loads((tmp_path / "plan.json").read_text())["pools"]
    reuse = pool["reuse"]
    assert (reuse["matching"], reuse["prefix_found_tokens"]) == (matching, found)
    assert reuse["hit"] == pytest.approx(0.5 * found / 1030)


def test_a_prefix_shorter_than_a_block_is_not_found(asked):
    cache = {"hit": "10 %", "prefixes": 20, "prefix_tokens": 100}
    hits = []
    for blocks in (None, 128):
        plan = planned(asked, engine="vllm", prefix_cache=cache, kv_block_tokens=blocks)
        hits.append(max(pool["reuse"]["hit"] for pool in plan["pools"]))
    assert hits == [pytest.approx(0.1 * 96 / 100), 0.0]


def test_what_sessions_share_and_what_they_do_not(asked):
    sessions = {
        "per_hour": 3600,
        "turns": 5,
        "growth": 300,
        "think_time": "20 s",
        "first_input": 1500,
        "output": 200,
        "shared_input": 1030,
    }
    _, out, _ = asked("plan", "--details", engine="vllm", demand={"sessions": sessions}, lengths=None)
    told = " ".join(out.split())
    assert "of the shared 1,030 tokens, 1,024 are found, and 7.50 of each that ends elsewhere" in told


def test_larger_blocks_waste_more_and_hold_fewer(asked):
    waste, batches = [], []
    for blocks in (None, 256):
        plan = planned(asked, engine="vllm", kv_block_tokens=blocks, demand={"peak_rps": 3})
        (pool,) = plan["pools"]
        waste.append(pool["kv_cache"]["block_waste"])
        batches.append(pool["kv_cache"]["max_concurrency"])
        assert pool["kv_cache"]["block_tokens"] == (blocks or 16)
    assert waste[1] > 10 * waste[0]
    assert batches[1] < batches[0]


@pytest.mark.parametrize(
    ("engine", "blocks", "told"),
    [
        ("vllm", 0, "kv_block_tokens: found 0, expected a number of at least 1"),
        ("vllm", "16 tokens", "kv_block_tokens: found"),
        ("naive", 16, "kv_block_tokens: found kv_block_tokens with naive"),
    ],
)
def test_impossible_blocks_are_refused(asked, engine, blocks, told):
    code, _, err = asked("plan", engine=engine, kv_block_tokens=blocks)
    assert code == 2
    assert told in " ".join(err.split())
