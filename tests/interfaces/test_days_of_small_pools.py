"""No plan is given that breaks the limits of its quiet hours, whatever its pools carry in busy ones."""

import json

from planner.interfaces import cli

PROBLEM = """\
name: quiet
workloads:
  - name: a
    model: qwen3-8b
    demand: {hourly_rps: [1,1,1,1,1,1,2,4,8,12,14,15,14,15,15,14,12,9,6,4,3,2,1,1]}
    lengths: {input: {p50: 2000, p95: 9000}, output: {p50: 180, p95: 500}}
    slo: {ttft_p95: 1 s, itl_p95: 60 ms}
fleet:
  owned: {a100-sxm: 4, l40s: 8}
  accelerators: [a100-sxm, l40s]
"""


def test_a_plan_keeps_its_limits_in_every_hour_or_is_none(tmp_path, capsys):
    path = tmp_path / "quiet.yaml"
    path.write_text(PROBLEM)
    code = cli.run(["plan", str(path), "--json", "--time-limit", "60"])
    plan = json.loads(capsys.readouterr().out)
    assert (code == 0) == (plan["status"] in ("optimal", "feasible"))
    broken = [limit["id"] for limit in plan["constraints"] if (limit["slack"] or 0.0) < -1e-9]
    assert not broken or code == 3
    if code == 3:
        assert plan["pools"] == []
        assert any("no plan was found that keeps them" in line for line in plan["warnings"])
