"""The two commands on real files: exit codes, streams, and what is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.interfaces import cli

DATA = Path(__file__).parents[1] / "data" / "benchmarks"
THREE = str(DATA / "vllm" / "0.33.0" / "appended.jsonl")
CURVE = ["curve", "--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--isl", "1000", "--osl", "200"]


def test_a_curve_as_json_and_as_a_picture(tmp_path, capsys):
    picture = tmp_path / "curve.svg"
    asked = [
        "--concurrency-max",
        "16",
        "--slo",
        "ttft_p99=1500ms, itl_p99=60 ms",
        "--svg",
        str(picture),
        "--json",
    ]
    assert cli.run([*CURVE, *asked]) == 0
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert document["slo"] == {"ttft_p99": 1.5, "itl_p99": 0.06}
    assert document["points"][-1]["concurrency"] == 16
    assert document["knee"] in document["points"]
    assert "cannot_run" not in document
    assert printed.err == f"planner: wrote {picture}\n"
    assert picture.read_text().startswith("<svg ")


@pytest.mark.parametrize(
    ("flags", "key"), [(("--concurrency", "700"), "concurrency"), (("--rps", "7.7"), "rate_rps")]
)
def test_the_load_asked_about_is_a_point_of_the_curve_and_the_estimate(told, capsys, flags, key):
    curve = told(*CURVE, *flags)
    assert curve["asked"] in curve["points"]
    assert curve["asked"][key] == pytest.approx(float(flags[1]))
    one = told("estimate", *CURVE[1:], *flags)
    for latency in ("ttft_s", "itl_s", "e2e_s"):
        assert curve["asked"][latency] == pytest.approx(one[latency], rel=1e-3)
    assert cli.run([*CURVE, *flags]) == 0
    page = capsys.readouterr().out
    (row,) = [line for line in page.splitlines() if line.split()[-1:] == ["A"] and "│" not in line]
    assert {"concurrency": "700", "rate_rps": "7.70"}[key] in row.split()[:2]
    assert "…" not in page
    assert "asked: " in page
    assert " the knee" in page


def test_a_rate_that_one_replica_does_not_carry_is_no_point(told):
    curve = told(*CURVE, "--rps", "5000")
    assert curve["asked"] is None
    assert "5000 requests/s is more than one replica carries: no point of the curve" in curve["warnings"]


def test_a_curve_that_cannot_run_says_no_and_draws_nothing(tmp_path, capsys):
    asked = ["--model", "llama-3.3-70b", "--svg", str(tmp_path / "x.svg"), "--json"]
    assert cli.run([*CURVE[:1], *asked, *CURVE[3:]]) == 1
    assert [reason["id"] for reason in json.loads(capsys.readouterr().out)["cannot_run"]] == ["vram"]
    assert not (tmp_path / "x.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--slo", "ttt_p99=1s"], 'Maybe "ttft_p99"?'),
        (["--slo", "ttft_p99"], '--slo: found "ttft_p99", expected limits such as'),
        (["--slo", "ttft_p99"], 'Maybe "ttft_p99=1500ms"?'),
        (["--osl", "1", "--slo", "itl_p99=9ms"], "--slo: found itl_p99 with answers of one token"),
        (["--context", "1000"], '--context: found "1000", expected at least the 1,200 tokens of a request'),
        (["--memory-utilization", "0.9"], "Maybe 90 %?"),
        (["--slo", "ttft_p99=15"], "expected a duration with its unit"),
        (["--slo", "ttft_p99=1s,ttft_p99=2s"], "each limit once"),
        (["--slo", ""], '--slo: found ""'),
        (["--rps-max", "2", "--concurrency-max", "4"], "--concurrency-max and --rps-max together"),
        (["--rps", "2", "--concurrency", "4"], "--concurrency and --rps together"),
        (["--rps", "2", "--concurrency-max", "4"], "--concurrency-max and --rps together"),
        (
            ["--concurrency", "9", "--concurrency-max", "4"],
            "--concurrency: found 9, beyond --concurrency-max 4",
        ),
        (["--rps", "-1"], '--rps: found "-1"'),
        (["--svg", "no-such-folder/x.svg"], "in a folder that does not exist"),
    ],
)
def test_bad_usage_of_curve(capsys, arguments, words):
    assert cli.run([*CURVE, *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err


def test_calibrate_then_estimate(tmp_path, capsys):
    target = tmp_path / "mine.yaml"
    assert cli.run(["calibrate", THREE, "--gpu", "h100-sxm", "--out", str(target), "--json"]) == 0
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert printed.err == f"planner: wrote {target}\n"
    assert [change["name"] for change in document["factors"]] == ["step", "ttft"]
    assert document["use"] == str(target)
    assert cli.run(["estimate", *CURVE[1:], "--catalog", str(target), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["evidence"] == "calibrated"
    assert cli.run(["catalog", "check", "--catalog", str(target), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["user_factors"] == 1


def test_calibrate_in_words(tmp_path, capsys):
    assert cli.run(["calibrate", THREE, "--gpu", "h100-sxm", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("llama-3.1-8b on h100-80gb-sxm, vllm, weights bf16: calibrated with 3 runs")
    assert "step times ×" in text
    assert "one standard deviation" in " ".join(text.split())
    assert "planner plan PROBLEM --catalog" in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (None, "x.json: found an empty list, expected a result of vLLM bench serve"),
        ({"mean_tpot_ms": 0.009}, "x.json: found 0.009 ms per output token, against"),
    ],
)
def test_files_that_calibrate_refuses(tmp_path, capsys, monkeypatch, change, words):
    monkeypatch.chdir(tmp_path)
    run = json.loads(Path(THREE).read_text().splitlines()[0])
    Path("x.json").write_text("[]" if change is None else json.dumps(run | change))
    assert cli.run(["calibrate", "x.json", "--gpu", "h100-sxm", "--out", "x.yaml"]) == 2
    assert words in capsys.readouterr().err
    assert not Path("x.yaml").exists()


def test_a_curve_beyond_the_capacity_says_so(capsys):
    assert cli.run([*CURVE, "--rps-max", "1000000", "--json"]) == 0
    (line,) = json.loads(capsys.readouterr().out)["warnings"]
    assert line.startswith("one replica carries no more than ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "BENCHMARK: found nothing, expected at least one benchmark file"),
        ([THREE, "--gpu", "h100-sxm"], "--out: found nothing"),
        ([THREE, "--out", "no-such-folder/x.yaml"], "in a folder that does not exist"),
        ([THREE, "--out", "x.yaml"], "gpu: found nothing, expected an accelerator of the catalog, or --gpu"),
        ([THREE, "--out", "x.yaml", "--tp", "0"], '--tp: found "0"'),
        ([THREE, "--out", "x.yaml", "--date", "2026-11-21"], "expected it with --reference"),
        ([THREE, "--reference"], "expected it alone, or benchmark files without it"),
        (["none.json", "--gpu", "h100-sxm", "--out", "x.yaml"], "none.json: found no such file"),
        (
            [THREE, "--gpu", "h100-sxm", "--tp", "3", "--out", "x.yaml"],
            "tp: found 3, expected a degree that divides the 32",
        ),
    ],
)
def test_bad_usage_of_calibrate(capsys, monkeypatch, tmp_path, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["calibrate", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err
    assert "Traceback" not in printed.err
    assert list(tmp_path.iterdir()) == []
