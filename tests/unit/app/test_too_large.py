"""Demand beyond what can be planned is refused with the figure; below, it is planned on every path."""

from __future__ import annotations

import json

import pytest

from planner.interfaces import cli

PREDICTED = """\
name: p
workloads:
  - name: chat
    model: llama-3.1-8b
    demand: {{hourly_rps: {rates}}}
    lengths: {{input: {{fixed: 512}}, output: {{fixed: 128}}}}
    {workload}
fleet: {{accelerators: [h100-sxm], prices: {{h100-sxm: 2 USD/h}}, headroom: {{capacity: 0 %}}{fleet}}}
search: {{modes: [aggregated], tp: [1]}}
"""
TABLE = """\
name: t
workers: t.csv
workloads:
  - name: chat
    demand: {{hourly_rps: {rates}}}
    {workload}
fleet: {{headroom: {{capacity: 0 %}}{fleet}}}
"""


@pytest.fixture
def path(tmp_path):
    rows = "option,gpu,gpus,usd_per_hour,max_rps\na,h100,1,3,1\nb,h200,1,5,1.5\n"
    (tmp_path / "t.csv").write_text(rows, encoding="utf-8")

    def written(text, rate, hours, fleet="", workload=""):
        path = tmp_path / "p.yaml"
        path.write_text(text.format(rates=[rate] * hours, fleet=fleet, workload=workload), encoding="utf-8")
        return path

    return written


@pytest.mark.parametrize("hours", [1, 2])
@pytest.mark.parametrize(("text", "rate"), [(PREDICTED, 900_000_000), (TABLE, 30_000_000)])
@pytest.mark.parametrize("verb", ["plan", "relax", "alternatives"])
def test_more_than_ten_million_replicas_are_refused(path, capsys, text, rate, hours, verb):
    assert cli.run([verb, str(path(text, rate, hours))]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "workloads.chat: found at least" in told
    assert "expected at most 10,000,000" in told
    figure = int(told.partition("at least ")[2].partition(" ")[0].replace(",", ""))
    assert figure == 20_000_000 if text == TABLE else figure > 10_000_000


@pytest.mark.parametrize("hours", [1, 2])
@pytest.mark.parametrize("text", [PREDICTED, TABLE], ids=["predicted", "table"])
@pytest.mark.parametrize("place", ["fleet", "workload"])
def test_as_many_replicas_at_least_are_refused_too(path, capsys, text, hours, place):
    more = (
        {"fleet": ", min_replicas: 10000001"} if place == "fleet" else {"workload": "min_replicas: 10000001"}
    )
    assert cli.run(["plan", str(path(text, 1, hours, **more))]) == 2
    assert "at least 10,000,001 replicas" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("hours", [1, 2])
@pytest.mark.parametrize("rate", [3_000_000, 9_000_000])
def test_what_is_not_refused_is_planned(path, capsys, rate, hours):
    assert cli.run(["plan", str(path(TABLE, rate, hours)), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["status"], told["cost_usd_per_hour"]) == ("optimal", 3.0 * rate)


@pytest.mark.parametrize(
    "redundancy", ["3000000", "{replicas: 101}", "{per_option: 3000000}", "{servers: 500}"]
)
def test_spares_beyond_reason_are_refused(path, capsys, redundancy):
    assert cli.run(["plan", str(path(TABLE, 1, 1, fleet=f", redundancy: {redundancy}"))]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "fleet.redundancy" in told
    assert "100" in told
