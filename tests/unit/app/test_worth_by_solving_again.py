"""What `explain --candidate` says about the speed of a GPU type holds when the problem is solved again."""

from __future__ import annotations

import json

import pytest

from planner.interfaces import cli

TABLE = "option,gpu,gpus,usd_per_hour,max_rps\nold,old,1,2,3\nnew,new,1,{usd},{rps}\n"
PROBLEM = "name: t\nworkers: t.csv\nworkloads: [{name: w, demand: {peak_rps: 10}}]\n"


@pytest.fixture
def uses_new(tmp_path, capsys):
    """Whether a plan uses the new GPU at a price and a rate; the plan is left in a file."""

    def solved(usd, rps):
        (tmp_path / "t.csv").write_text(TABLE.format(usd=usd, rps=rps), encoding="utf-8")
        (tmp_path / "p.yaml").write_text(PROBLEM, encoding="utf-8")
        assert cli.run(["plan", str(tmp_path / "p.yaml"), "--out", str(tmp_path / "plan.json")]) == 0
        capsys.readouterr()
        return "new" in json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))["gpus"]

    return solved


@pytest.mark.parametrize(("usd", "wins"), [(7.9, True), (8.1, False)])
def test_a_slow_gpu_wins_with_more_speed_or_is_said_never_to(uses_new, tmp_path, capsys, usd, wins):
    """Twelve requests a second cost 8 USD/h on old ones; one fast new one carries them all."""
    assert not uses_new(usd, 0.001)
    assert cli.run(["explain", str(tmp_path / "plan.json"), "--candidate", "new", "--json"]) == 0
    (worth,) = json.loads(capsys.readouterr().out)["worth"]
    assert uses_new(usd, 10**9) is wins
    assert worth["speed"] == ("at" if wins else "never")
    assert ("would not win however much" in worth["text"]) is not wins
    if wins:
        assert worth["wins_at_speed"] > 1024
        # At the factor it is as good as the best without; a cent less decides the tie.
        assert uses_new(usd - 0.01, 0.001 * worth["wins_at_speed"])
