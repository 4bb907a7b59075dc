"""The first screen of a plan: what it does not show is not asked, and it shows the same without."""

import json

import pytest

from planner.interfaces import cli
from planner.planning.answering import fleet_plan
from planner.report import plan_brief, terminal
from planner.schema.plan import Plan

ASKED = ["--model", "Qwen/Qwen3-8B-AWQ", "--rps", "2", "--isl", "800", "--osl", "300", "--gpu", "h100"]


@pytest.fixture
def beside(monkeypatch):
    """The questions that are asked beside the plan."""
    asked, ask = [], fleet_plan._asked_beside

    def recorded(*given):
        asked.append(ask(*given))
        return asked[-1]

    monkeypatch.setattr(fleet_plan, "_asked_beside", recorded)
    return asked


def test_what_16_bits_cost_is_asked_only_where_it_is_told(beside, tmp_path, capsys):
    assert cli.run(["plan", *ASKED]) == 0
    screen = capsys.readouterr().out
    assert not beside
    for more in (["--details"], ["--json"], ["--out", str(tmp_path / "plan.json")], ["--format", "md"]):
        assert cli.run(["plan", *ASKED, *more]) == 0
        assert len(beside) == 1, more
        assert beside.pop()["checkpoints"][0].sixteen_bit_cost_usd_per_hour > 0
    capsys.readouterr()
    with (tmp_path / "screen").open("w+", encoding="utf-8") as target:
        terminal.show(plan_brief.view(Plan(**json.loads((tmp_path / "plan.json").read_bytes()))), target)
        target.seek(0)
        assert target.read() in screen
