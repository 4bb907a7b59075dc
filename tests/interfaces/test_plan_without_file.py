"""A plan in one command, the problem file that it stands for, and what is wrong with flags."""

import json
import sys

import pytest
import yaml

from planner.interfaces import cli

MODEL = ("--model", "Qwen/Qwen3-8B")
LENGTHS = ("--isl", "800", "--osl", "300")
GPU = ("--gpu", "l40s=2")
QUICK = (*MODEL, *LENGTHS, *GPU)


def bytes_of(words, capsys, code=0):
    ended = cli.run([*words])
    printed = capsys.readouterr()
    assert ended == code, printed.err
    return printed


@pytest.mark.parametrize(
    "flags",
    [
        ("--rps", "5", "--ttft", "1s", "--itl", "50ms"),
        ("--concurrency", "20", "--ttft-p99", "1s", "--weights", "fp8", "--kv", "bf16,fp8"),
        ("--users", "50", "--think-time", "10 s", "--e2e", "20s", "--budget", "60 USD/h"),
        ("--requests-per-day", "50000", "--tpot", "40ms", "--engine", "sglang", "--name", "a day"),
    ],
)
def test_the_saved_file_gives_the_same_plan(tmp_path, monkeypatch, capsys, flags):
    monkeypatch.chdir(tmp_path)
    words = ["plan", *QUICK, *flags, "--json"]
    shown = bytes_of(words, capsys)
    saved = bytes_of([*words, "--save", "p.yaml"], capsys)
    assert json.loads(shown.out)["status"] == "optimal"
    assert shown.out == saved.out == bytes_of(["plan", "p.yaml", "--json"], capsys).out
    assert (tmp_path / "p.yaml").read_text() in shown.err
    assert saved.err == "planner: wrote p.yaml\n"


def file_of(tmp_path, capsys, *flags, code=0):
    target = tmp_path / "p.yaml"
    bytes_of(["init", *flags, "--out", str(target)], capsys, code)
    return yaml.safe_load(target.read_text())


def test_flags_stand_in_the_places_of_the_contract(tmp_path, capsys):
    flags = (
        "--model", "qwen3-8b", "--rps", "2.5", "--isl", "8k", "--osl", "1k", "--ttft", "1s",
        "--itl-p99", "50ms", "--gpu", "h100=16", "--gpu", "l40s", "--owned", "a100-sxm=8",
        "--prefix-cache-hit", "30%", "--engine", "vllm,sglang", "--archetype", "chat",
    )  # fmt: skip
    found = file_of(tmp_path, capsys, *flags)
    (workload,) = found["workloads"]
    assert workload["demand"] == {"peak_rps": 2.5}
    assert workload["lengths"] == {"input": {"fixed": 8192}, "output": {"fixed": 1024}}
    assert workload["slo"] == {"ttft_p95": "1s", "itl_p99": "50ms"}
    assert workload["engine"] == ["vllm", "sglang"]
    assert workload["archetype"] == "chat"
    assert workload["prefix_cache_hit"] == "30%"
    assert found["fleet"] == {
        "accelerators": ["h100", "l40s"],
        "stock": {"h100": 16},
        "owned": {"a100-sxm": 8},
    }


def test_a_day_from_the_command_line_is_an_office_day_and_the_file_says_so(tmp_path, capsys):
    found = file_of(tmp_path, capsys, *MODEL, *LENGTHS, "--requests-per-day", "1.5k")
    assert found["workloads"][0]["demand"] == {"requests_per_day": 1500, "shape": "office"}
    assert "; --shape is not given" in (tmp_path / "p.yaml").read_text()


def test_golden_defaults_are_those_of_the_archetype_and_hold_in_the_plan(tmp_path, capsys):
    flags = (*MODEL, "--rps", "1", "--archetype", "chat", "--golden", *GPU)
    found = file_of(tmp_path, capsys, *flags)
    assert found["search"] == {"max_batch": [8, 16]}
    assert found["workloads"][0]["precision"] == {"kv": ["fp8"]}
    assert "; golden default of chat: " in (tmp_path / "p.yaml").read_text()
    plan = json.loads(bytes_of(["plan", *flags, "--json"], capsys).out)
    assert all(pool["max_batch"] <= 16 and pool["kv"] == "fp8" for pool in plan["pools"])
    refused = bytes_of(["plan", *QUICK, "--rps", "1", "--golden"], capsys, code=2)
    assert "--golden: found no archetype, expected --archetype and its name" in refused.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--rps", "5"), "--model: found nothing, expected a model's id or path. Maybe \"--model"),
        (MODEL, "--rps: found no demand, expected one of --rps, --concurrency, --users"),
        ((*MODEL, "--rps", "5"), "--isl: found nothing, expected tokens of the request, or --archetype"),
        ((*QUICK, "--rps", "5", "--users", "5"), "--users: found --rps and --users together"),
        ((*QUICK, "--rps", "many"), '--rps: found "many"'),
        ((*QUICK, "--rps", "-1"), "--rps: found -1"),
        ((*QUICK, "--rps", "5", "--ttft", "1"), '--ttft: found "1"'),
        ((*QUICK, "--rps", "5", "--ttft", "1s", "--ttft-p95", "2s"), "--ttft-p95: found --ttft, which is"),
        ((*QUICK, "--rps", "5", "--itl-p99", "50"), "--itl-p99: found"),
        ((*QUICK, "--users", "5", "--think-time", "20"), "Maybe 20 s?"),
        ((*QUICK, "--rps", "5", "--think-time", "20 s"), "think_time without users"),
        ((*MODEL, "--isl", "8q", "--osl", "1", "--rps", "5"), '--isl: found "8q"'),
        ((*MODEL, *LENGTHS, "--rps", "5", "--gpu", "h1000"), "--gpu: found"),
        (
            (*MODEL, *LENGTHS, "--rps", "5", "--gpu", "h100=x"),
            '--gpu: found "h100=x", expected GPU or',
        ),
        ((*MODEL, *LENGTHS, "--rps", "5", "--gpu", "h100,h100"), "h100 a second time"),
        (
            (*QUICK, "--rps", "5", "--owned", "h100"),
            'expected GPU=how many. Maybe "h100=16"',
        ),
        ((*QUICK, "--rps", "5", "--weights", "fp9"), "--weights: found"),
        ((*QUICK, "--rps", "5", "--engine", "vlm"), 'Maybe "vllm"?'),
        ((*QUICK, "--rps", "5", "--budget", "60"), "--budget: found"),
        ((*QUICK, "--requests-per-day", "5", "--shape", "ofice"), 'Maybe "office"?'),
        (("--model", "Qwen/Qwen3-9B", *LENGTHS, "--rps", "5"), "--model: found"),
        (("p.yaml", "--rps", "5"), '--rps: found it beside the file "p.yaml", expected one of them'),
        (("p.yaml", "--save", "x.yaml"), "--save: found it beside the file"),
        ((*QUICK, "--rps", "5", "--save", "no/such/x.yaml"), "--save: found no/such/x.yaml, in a folder"),
    ],
)
def test_what_is_wrong_is_told_by_its_flag(capsys, flags, words):
    printed = bytes_of(["plan", *flags], capsys, code=2)
    assert words in printed.err
    assert all(line.startswith(("planner plan: ", "--save: ")) for line in printed.err.splitlines())
    assert printed.out == ""


def test_all_wrong_flags_are_told_at_once(capsys):
    flags = ("--model", "no/such", "--isl", "0", "--osl", "1", "--rps", "x", "--gpu", "h200000")
    said = bytes_of(["plan", *flags], capsys, code=2).err
    assert all(f"planner plan: --{flag}: found" in said for flag in ("model", "isl", "rps", "gpu"))


def test_init_explains_every_line_and_what_it_does_not_say(tmp_path, capsys):
    found = file_of(tmp_path, capsys, *QUICK, "--users", "50", "--ttft", "1s")
    assert found["workloads"][0]["demand"] == {"users": 50}
    text = (tmp_path / "p.yaml").read_text()
    assert "# --ttft names no percentile: P95" in text
    assert "#   fleet.headroom.capacity: 20 %" in text
    assert bytes_of(["plan", str(tmp_path / "p.yaml")], capsys).out
    again = bytes_of(["init", *QUICK, "--users", "50", "--out", str(tmp_path / "p.yaml")], capsys, code=2)
    assert "which exists, expected the name of a new file" in again.err
    printed = bytes_of(["init", *QUICK, "--users", "50", "--ttft", "1s", "--out", "-"], capsys)
    assert printed.out == text


def test_init_asks_at_a_terminal_and_else_says_which_flags(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert "--model: found neither flags nor a terminal" in bytes_of(["init"], capsys, code=2).err
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    answers = iter(["qwen3-8b", "30", "20 s", "800", "300", "1 s", "50 ms", "h100=16"])
    monkeypatch.setattr("planner.interfaces.problem_commands.prompt", lambda *_, **__: next(answers))
    bytes_of(["init"], capsys)
    (workload,) = yaml.safe_load((tmp_path / "problem.yaml").read_text())["workloads"]
    assert workload["demand"] == {"users": 30, "think_time": "20 s"}


def test_examples_are_listed_and_printed(tmp_path, capsys):
    rows = json.loads(bytes_of(["example", "--json"], capsys).out)
    assert [row["number"] for row in rows] == list(range(1, len(rows) + 1))
    text = bytes_of(["example", "3"], capsys).out
    assert text == bytes_of(["example", rows[2]["name"]], capsys).out
    assert yaml.safe_load(text)["name"] == rows[2]["name"]
    bytes_of(["example", "3", "--out", str(tmp_path / "p.yaml")], capsys)
    assert (tmp_path / "p.yaml").read_text() == text
    assert 'Maybe "code-32b"?' in bytes_of(["example", "code32b"], capsys, code=2).err
