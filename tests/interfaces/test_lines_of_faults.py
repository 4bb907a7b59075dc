"""Faults that only the catalog, tables or other parts of a problem show: told with the line of the file."""

import pytest

from planner.interfaces import cli

PREDICTED = """\
name: p
workloads:
  - name: chat.1
    model: llama-3.1-8b
    demand: DEMAND
    lengths: {input: {fixed: 500}, output: {fixed: 40}}
fleet:
  accelerators: [l40s]
  prices: {l40s: 1 USD/h}
  LIMIT
"""
MEASURED = """\
name: p
workers: t.csv
workloads:
  - name: chat.1
    demand: DEMAND
  - name: large
    demand: {peak_rps: 4}
tiers:
  - name: front
    kind: routing
    stages:
      - {workload: chat.1, share: 70 %}
      - {workload: LARGE, share: 30 %}
"""
ALONE = "\n".join(MEASURED.splitlines()[:5]) + "\n"
TABLE = "option,workload,gpu,gpus,max_rps,usd_per_hour\na,chat.1,l4,1,4,1\nb,large,l4,1,2,1\n"


@pytest.fixture
def said(tmp_path, capsys):
    def said(text, *command, **parts):
        for name, part in ({"DEMAND": "{peak_rps: 4}", "LIMIT": "", "LARGE": "large"} | parts).items():
            text = text.replace(name, part)
        (tmp_path / "t.csv").write_text(TABLE)
        (tmp_path / "p.yaml").write_text(text)
        command = command or ("plan",)
        assert cli.run([command[0], str(tmp_path / "p.yaml"), *command[1:]]) == 2
        found = capsys.readouterr()
        assert not found.out
        return found.err.replace(str(tmp_path), "")

    return said


@pytest.mark.parametrize(
    ("text", "parts", "told"),
    [
        (PREDICTED, {"LIMIT": "max_co2_kg_per_day: 9"}, "/p.yaml:10: fleet.max_co2_kg_per_day: found l40s"),
        (
            PREDICTED,
            {"DEMAND": "{free: true}", "LIMIT": "redundancy: 1"},
            "/p.yaml:10: fleet.redundancy: found spares with free demand",
        ),
        (ALONE, {"DEMAND": "{concurrency: 9}"}, "/p.yaml:5: workloads.chat.1.demand.concurrency: found"),
        (
            ALONE,
            {"DEMAND": "\n      users: 9\n      think_time: 9 s"},
            "/p.yaml:6: workloads.chat.1.demand.users: found",
        ),
        (
            ALONE,
            {"DEMAND": "{tokens_per_day: 9}"},
            "/p.yaml:5: workloads.chat.1.demand.tokens_per_day: found",
        ),
        (MEASURED, {"DEMAND": "{free: true}"}, "/p.yaml:3: workloads: found 2 workloads"),
        (
            MEASURED,
            {"DEMAND": "{free: true}"},
            "/p.yaml:5: workloads.chat.1.demand.free: found supply, hours",
        ),
        (MEASURED, {"LARGE": "larg"}, "/p.yaml:13: tiers.front.stages.1.workload: found"),
        (
            MEASURED,
            {"DEMAND": "{peak_rps: 5}"},
            "/p.yaml:13: tiers.front.stages.1.workload: found large with",
        ),
    ],
)
def test_the_line_is_told(said, text, parts, told):
    assert told in said(text, **parts)


@pytest.mark.parametrize("command", ["relax", "robust", "pareto", "alternatives", "capacity"])
def test_other_commands_tell_it_too(said, command):
    assert "/p.yaml:10: fleet.max_co2_kg_per_day: found" in said(
        PREDICTED, command, LIMIT="max_co2_kg_per_day: 9\n  max_gpus: 9"
    )
    assert "/p.yaml:5: workloads.chat.1.demand.users: found" in said(ALONE, command, DEMAND="{users: 9}")


def test_a_fault_of_prefill_and_decode_is_told_once(said):
    told = said(PREDICTED, LIMIT="redundancy: {zones: 1}")
    assert told.count("/p.yaml:3: workloads.chat.1.redundancy.zones: found") == 1


def test_a_value_that_a_flag_puts_in_has_the_line_around_it(said):
    told = said(PREDICTED, "whatif", "--set", "fleet.max_co2_kg_per_day=9")
    assert "/p.yaml:7: fleet.max_co2_kg_per_day: found" in told
