"""Load tests: the requests are those of the plan, and the commands are those of the tools."""

import csv
import io
import json
import shlex
import subprocess

import numpy as np
import pytest
import yaml
from export_samples import case_of, sizing, workload
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.errors import CannotExpressError
from planner.exports.benchmark import benchmark

VLLM = {
    "--backend", "--base-url", "--model", "--served-model-name", "--dataset-name", "--dataset-path",
    "--num-prompts", "--request-rate", "--burstiness", "--ignore-eos", "--percentile-metrics",
    "--metric-percentiles", "--goodput", "--header", "--save-result", "--result-filename",
}  # fmt: skip
AIPERF = {
    "--url", "--model", "--tokenizer", "--endpoint-type", "--streaming", "--custom-dataset-type",
    "--input-file",
    "--fixed-schedule", "--isl-block-size", "--extra-inputs", "--header", "--artifact-dir",
}  # fmt: skip
"""Retyped from the options that the tools declare."""


@pytest.fixture
def made(make_plan, tmp_path):
    """Files by name, and the notes."""

    def made(*pools, lengths=None, **changes):
        loads = [workload(**({} if lengths is None else {"lengths": lengths}))]
        case = case_of(make_plan, tmp_path, pools or [{}], loads, sizing=[sizing(**changes)])
        found = benchmark(case)
        return {item.name: item.content.decode() for item in found.files}, " ".join(found.notes)

    return made


def requests(files):
    return [json.loads(line) for line in files["load-chat.jsonl"].splitlines()]


def lengths_of(files):
    rows = requests(files)
    return np.array([row["input_length"] for row in rows]), np.array([row["output_length"] for row in rows])


def test_lengths_are_those_of_the_problem(made):
    prompts, answers = lengths_of(made()[0])
    assert len(prompts) == 1000
    for tokens, stated in ((prompts, {50: 1000, 95: 3000}), (answers, {50: 200, 95: 500})):
        for share, expected in stated.items():
            assert np.percentile(tokens, share) == pytest.approx(expected, rel=0.01)
    # Nothing that the guardrails of the plan refuse.
    assert prompts.max() <= 4142
    assert answers.max() <= 601


def test_what_the_guardrails_cut_is_said(made):
    sides = {"p50": 167, "p90": 372, "p99": 3273}
    files, notes = made(lengths={"input": {"fixed": 1000}, "output": sides})
    _, answers = lengths_of(files)
    assert answers.max() == 601
    assert "the guardrails of the plan cut 8.4 % of its tokens off" in notes


def test_lengths_of_a_trace_have_its_mean_and_its_tail(made):
    from planner.exports.load_sample import load_sample
    from planner.schema.sizing import WorkloadSizing

    sample = load_sample(WorkloadSizing.model_validate(sizing()), None, 0.0, None)
    tokens = np.array(sample.input_tokens)
    assert tokens.mean() == pytest.approx(1300, rel=0.005)
    assert np.percentile(tokens, 95) == pytest.approx(3000, rel=0.01)


def test_buckets_keep_their_shares_and_their_pairs(made):
    buckets = [
        {"name": "short", "share": 0.7, "input": 100, "output": 50},
        {"name": "long", "share": 0.3, "input": 3000, "output": 400},
    ]
    rows = requests(made(lengths={"buckets": buckets})[0])
    pairs = [(row["input_length"], row["output_length"]) for row in rows]
    assert (pairs.count((100, 50)), pairs.count((3000, 400))) == (700, 300)


@pytest.mark.parametrize("scv", [0.0, 0.5, 1.0, 4.0])
def test_arrivals_have_the_rate_and_the_burstiness(made, scv):
    files, notes = made(arrival_scv_ratio=scv, peak_rps=50.0)
    times = np.array([row["timestamp"] for row in requests(files)]) / 1000
    gaps = np.diff(times)
    assert len(times) / (times[-1] + gaps.mean()) == pytest.approx(50, rel=0.02)
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(scv, rel=0.25, abs=0.01)
    shape = float(option(files["vllm-chat.sh"], "--burstiness"))
    assert shape == pytest.approx(1 / scv if scv else 1000)
    assert ("cannot send at equal gaps" in notes) == (scv == 0)


def test_prompts_begin_alike_as_far_as_planned(made):
    files, notes = made(cached_fraction=0.4)
    rows = requests(files)
    block = int(option(files["aiperf-chat.sh"], "--isl-block-size"))
    seen, found, total = set(), 0, 0
    for row in rows:
        assert len(row["hash_ids"]) == -(-row["input_length"] // block)
        hits = 0
        for one in row["hash_ids"]:
            if one not in seen:
                break
            hits += 1
        found += hits * block
        total += row["input_length"]
        seen |= set(row["hash_ids"])
    assert found / total == pytest.approx(0.4, abs=0.02)
    assert yaml.safe_load(files["guidellm-chat.yaml"])["spec"]["data"][0]["hash_id_block_size"] == block
    assert "40 % of the prompt tokens" in notes


def test_the_three_traces_are_one(made):
    files, _ = made()
    lengths = [(row["input_length"], row["output_length"]) for row in requests(files)]
    azure = csv.DictReader(io.StringIO(files["load-chat.azure.csv"]))
    assert [(int(row["ContextTokens"]), int(row["GeneratedTokens"])) for row in azure] == lengths
    burst = csv.DictReader(io.StringIO(files["load-chat.burstgpt.csv"]))
    assert [(int(row["Request tokens"]), int(row["Response tokens"])) for row in burst] == lengths


def words(script):
    return shlex.split(script.splitlines()[-1].removeprefix("exec "))


def option(script, name):
    found = words(script)
    return found[found.index(name) + 1]


@pytest.mark.parametrize(("tool", "known"), [("vllm", VLLM), ("aiperf", AIPERF)])
def test_commands_use_options_of_the_tools(made, tool, known):
    script = made()[0][f"{tool}-chat.sh"]
    assert {word for word in words(script) if word.startswith("--")} <= known
    assert subprocess.run(["bash", "-n"], input=script.encode(), check=False).returncode == 0


def test_a_plan_of_an_older_version_says_so(make_plan, tmp_path):
    with pytest.raises(CannotExpressError) as no:
        benchmark(case_of(make_plan, tmp_path, [{}]))
    assert no.value.reasons == ("chat: the plan states no lengths; plan it again with this version.",)


def test_workloads_are_told_apart(make_plan, tmp_path):
    pools = [{}, {"workload": "docs"}]
    loads = [workload(), workload("docs")]
    case = case_of(make_plan, tmp_path, pools, loads, sizing=[sizing(), sizing("docs")])
    files = {item.name: item.content.decode() for item in benchmark(case).files}
    assert option(files["vllm-docs.sh"], "--header") == "x-workload=docs"
    assert option(files["aiperf-docs.sh"], "--header") == "x-workload:docs"
    spec = yaml.safe_load(files["guidellm-docs.yaml"])["spec"]
    assert spec["backend"]["extras"]["headers"] == {"x-workload": "docs"}
    assert yaml.safe_load(files["inference-perf-docs.yaml"])["api"]["headers"] == {"x-workload": "docs"}


TAILS = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="/:"), max_size=30)


@given(tail=TAILS)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_name_is_run(make_plan, tmp_path_factory, tail):
    folder = tmp_path_factory.mktemp("run")
    name = f"a'$(touch hurt)`touch hurt`;{tail}"
    loads = [workload(name), workload("b")]
    pools = [{"workload": name}, {"workload": "b"}]
    case = case_of(make_plan, folder, pools, loads, sizing=[sizing(name), sizing("b")])
    for item in benchmark(case).files:
        if item.name.endswith(".sh"):
            # The tools are not there: whatever else the script does shows in the folder.
            script = item.content.replace(b'cd "$(dirname "$0")"', b"")
            subprocess.run(["bash"], input=script, cwd=folder, check=False, capture_output=True)
            found = words(item.content.decode())
            if (
                item.name.startswith("vllm")
                and "--header" in found
                and found[found.index("--header") + 1] != "x-workload=b"
            ):
                assert found[found.index("--header") + 1] == f"x-workload={name}"
        elif item.name.endswith(".yaml"):
            assert yaml.safe_load(item.content)
    assert not (folder / "hurt").exists()
