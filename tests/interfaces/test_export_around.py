"""`planner export` to what scales, guards, watches and tests a plan: the files, through the command line."""

import pytest
from export_samples import plan_file, plan_of, sizing

FILES = {
    "llm-d": {"chat-serve-1.yaml"},
    "dynamo": {"chat.yaml"},
    "skypilot": {"chat-serve-1.yaml"},
    "keda": {"chat-serve-1.yaml"},
    "guardrails": {"engine-limits.yaml", "limits.yaml", "tenant-limits.yaml"},
    "grafana": {"dashboard.json"},
    "prometheus": {"operator/pod-monitors.yaml", "operator/rules.yaml", "rules.yaml", "scrape.yaml"},
    "benchmark": {
        "aiperf-chat.sh", "guidellm-chat.yaml", "inference-perf-chat.yaml", "load-chat.azure.csv",
        "load-chat.burstgpt.csv", "load-chat.jsonl", "vllm-chat.sh",
    },
}  # fmt: skip


@pytest.mark.parametrize("target", FILES)
def test_files_of_a_target(make_plan, tmp_path, told, target):
    plan = plan_file(plan_of(make_plan, [{}], sizing=[sizing()]), tmp_path)
    out = tmp_path / "out"
    answer = told("export", str(plan), "--to", target, "--out", str(out))
    assert answer["cannot_express"] == []
    assert set(answer["files"]) == {str(out / name) for name in FILES[target] | {"README.md"}}
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    told("export", str(plan), "--to", target, "--out", str(out))
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    page = (out / "README.md").read_text()
    assert "## In this order" in page


def test_a_reason_and_no_files(make_plan, tmp_path, told):
    plan = plan_file(plan_of(make_plan, [{"role": "prefill"}, {"role": "decode"}]), tmp_path)
    answer = told("export", str(plan), "--to", "skypilot", "--out", str(tmp_path / "out"), code=1)
    assert answer["files"] == []
    assert "one replica; prefill needs a router" in answer["cannot_express"][0]
    assert not (tmp_path / "out").exists()
