"""A curve beside the one before a change, from the command line."""

import pytest

from planner.interfaces import cli

LINE = ("curve", "--model", "qwen3-32b", "--gpu", "h100", "--isl", "800", "--osl", "300")
SLO = ("--slo", "itl_p99=60ms,ttft_p99=2s")


def test_the_curve_before_is_that_of_its_own_command_line(told):
    both = told(*LINE, "--weights", "fp8", *SLO, "--before", "weights=bf16,tp=2")
    alone = told(*LINE, "--weights", "bf16", "--tp", "2", *SLO)
    assert both["before"] == alone
    assert both["before"]["before"] is None
    assert both["points"] == told(*LINE, "--weights", "fp8", *SLO)["points"]
    assert (both["gpus"], both["before"]["gpus"]) == (1, 2)


def test_people_read_what_the_change_is_worth_a_gpu(told, capsys):
    both = told(*LINE, "--weights", "fp8", "--before", "weights=bf16")
    now, then = (one["knee"]["output_tokens_per_s"] for one in (both, both["before"]))
    assert cli.run([*LINE, "--weights", "fp8", "--before", "weights=bf16"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"now {now / then:.2f} times the output tokens of a GPU at the knee" in said
    assert "Before • h100-80gb-sxm vllm bf16" in said


def test_what_could_not_run_before_says_why(told, capsys):
    both = told(*LINE, "--before", "gpu=l4")
    assert both["before"]["cannot_run"]
    assert cli.run([*LINE, "--before", "gpu=l4"]) == 0
    assert "l4 vllm bf16+kv-bf16 tp1 pp1 cannot run" in " ".join(capsys.readouterr().out.split())


def test_the_picture_has_both(tmp_path, told):
    path = tmp_path / "both.svg"
    told(*LINE, "--weights", "fp8", "--before", "weights=bf16", "--svg", str(path))
    assert "TTFT P99 before" in path.read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("weight=bf16", 'Maybe "weights"?'),
        ("weights", "KEY=VALUE pairs"),
        ("tp=1,tp=2", "each of gpu, weights"),
        ("tp=0", "a whole number from 1"),
        ("gpu=h1000", 'Maybe "h100"?'),
        ("memory-utilization=lots", "--before"),
    ],
)
def test_a_change_that_means_nothing_is_refused(refused, text, said):
    refused(said, *LINE, "--before", text)
