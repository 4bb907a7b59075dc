"""A diagnosis as Markdown, to put into a ticket."""

import json
import re
from pathlib import Path

from planner.interfaces.cli import run

OBSERVATIONS = Path(__file__).parents[2] / "problems" / "observations"
CASCADE = str(OBSERVATIONS / "02-chat-kv-cascade.yaml")


def test_a_ticket_holds_verdict_proof_command_and_the_way_back(capsys):
    assert run(["diagnose", "--observed", CASCADE, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert run(["diagnose", "--observed", CASCADE, "--format", "md"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("# Diagnosis\n")
    assert f"## 1. {found['findings'][0]['title']}" in told
    for one in found["findings"][0]["evidence"]:
        assert f"| {one['metric']}".replace("_", "\\_") in told
    assert "```sh\n" in told
    assert "## Verdict" in told
    # Every table is whole: as many cells under as in the heading.
    for table in re.findall(r"(?:^\|.*\n)+", told, re.MULTILINE):
        assert len({line.count(" | ") for line in table.splitlines() if "---" not in line}) == 1


def test_words_of_logs_stay_words(capsys, tmp_path):
    (file := tmp_path / "seen.json").write_text(json.dumps({"queue_depth": 5, "model": "<b>|`x`"}))
    assert run(["diagnose", "--observed", str(file), "--format", "md"]) == 0
    assert "<b>" not in capsys.readouterr().out


def test_one_format_at_a_time(capsys):
    assert run(["diagnose", "--observed", CASCADE, "--format", "md", "--json"]) == 2
    assert "one of them" in capsys.readouterr().err
    assert run(["diagnose", "--observed", CASCADE, "--format", "mdd"]) == 2
    assert "maybe" in capsys.readouterr().err.lower()
    assert run(["diagnose", "--observed", CASCADE, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"]
