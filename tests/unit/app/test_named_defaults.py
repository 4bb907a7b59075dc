"""A default that a change replaces, or brings back, is named as one: through the command line."""

from __future__ import annotations

import json

import pytest

from planner.interfaces import cli

PROBLEM = """\
name: t
workers: t.csv
workloads: [{name: chat, demand: {peak_rps: 10}}]
"""


@pytest.fixture
def changed(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("option,gpu,gpus,usd_per_hour,max_rps\na,h100,1,3,10\n", encoding="utf-8")
    (tmp_path / "p.yaml").write_text(PROBLEM, encoding="utf-8")

    def told(path, value):
        assert cli.run(["whatif", str(tmp_path / "p.yaml"), "--set", f"{path}={value}", "--json"]) == 0
        entries = json.loads(capsys.readouterr().out)["difference"]
        (found,) = [entry for entry in entries if entry["what"].startswith("input:")]
        return found

    return told


@pytest.mark.parametrize(
    ("path", "value", "before", "text"),
    [
        ("fleet.headroom.capacity", "30 %", "20 %", "30 %; before, 20 % (the default)"),
        ("fleet.redundancy", "1", 0, "1; before, 0 (the default)"),
        ("search.mix", "false", True, "false; before, true (the default)"),
        ("fleet.max_gpus", "100", "the default: no limit", "100; before, the default: no limit"),
        ("fleet.stock", "{h100: 9}", "the default: no limit", None),
        (
            "confidence", "90 %", "the default: 80 % (measured tables 50 %)",
            "90 %; before, the default: 80 % (measured tables 50 %)",
        ),
        ("workloads.chat.redundancy", "1", "the default: the fleet's", "1; before, the default: the fleet's"),
        ("workloads.chat.slo.ttft_p99", "1 s", "the default: no limit", "1 s; before, the default: no limit"),
        ("workloads.chat.priority", "1", "the default: all alike", "1; before, the default: all alike"),
    ],
)  # fmt: skip
def test_what_was_a_default_is_called_one(changed, path, value, before, text):
    entry = changed(path, value)
    assert entry["before"] == before
    if text is not None:
        assert entry["text"] == f"{path} is {text}."
