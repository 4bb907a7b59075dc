"""One table of all GPU types, from the command line."""

import csv

import pytest
import yaml

from planner.interfaces import cli
from planner.loaders.catalog import load_catalog
from planner.report import terminal
from planner.report.gpu_types_text import gpu_types_section
from planner.schema.plan import Plan

IDS = {item.id for item in load_catalog().accelerators}
CHAT = {
    "name": "chat",
    "model": "llama-3.1-8b",
    "demand": {"peak_rps": 30, "mean_rps": 10},
    "lengths": {"input": {"fixed": 800}, "output": {"fixed": 150}},
    "slo": {"ttft_p99": "1500 ms", "itl_p99": "60 ms"},
}
SEARCH = {"modes": ["aggregated", "disaggregated"], "tp": [1, 2]}


@pytest.fixture
def problem(tmp_path):
    def problem(workloads=(CHAT,), **fleet):
        path = tmp_path / "types.yaml"
        values = {"name": "types", "workloads": list(workloads), "fleet": fleet, "search": SEARCH}
        path.write_text(yaml.safe_dump(values))
        return str(path)

    return problem


def by_gpu(plan):
    rows = {row["gpu"]: row for row in plan["gpu_types"]}
    assert len(rows) == len(plan["gpu_types"])
    return rows


def test_every_accelerator_of_the_catalog_is_there_once(told, problem):
    rows = by_gpu(told("plan", problem()))
    assert set(rows) == IDS
    assert rows["gaudi2"]["status"] == "no-price"
    assert {row["status"] for row in rows.values()} >= {"chosen", "dearer", "no-price"}
    for row in rows.values():
        if row["status"] in ("chosen", "dearer"):
            assert row["gpus"] >= row["replicas"] > 0
            assert row["layout"]
            assert row["provider"]
            assert row["place"]
        else:
            assert row["why"]


def test_every_accelerator_is_in_the_csv_once(capsys, problem):
    assert cli.run(["plan", problem(accelerators=["l40s"]), "--format", "csv"]) == 0
    lines = csv.reader(capsys.readouterr().out.splitlines())
    tables = {"gpu-types", "why-not", "left-out"}
    rows = [line for line in lines if line and tables & {line[1]} and line[2] != "GPU type"]
    assert sorted(row[2] for row in rows) == sorted(IDS)


def test_a_type_costs_what_a_plan_of_it_alone_costs(told, problem):
    names = ["h100-sxm", "l40s", "a100-sxm", "a10"]
    rows = by_gpu(told("plan", problem(accelerators=names)))
    assert set(rows) == IDS - {"h100-80gb-sxm", "a100-80gb-sxm"} | {"h100-sxm", "a100-sxm"}
    bounds = set()
    for name in names:
        if rows[name]["status"] == "infeasible":
            told("plan", problem(accelerators=[name]), code=1)
            continue
        alone = told("plan", problem(accelerators=[name]))
        bounds.add(rows[name]["bound"])
        if rows[name]["bound"] == "exact":
            assert rows[name]["cost_usd_per_hour"] == pytest.approx(alone["cost_usd_per_hour"])
            assert rows[name]["gpus"] == alone["gpus"][name]
        else:
            assert rows[name]["cost_usd_per_hour"] >= alone["cost_usd_per_hour"] - 1e-9
    assert "exact" in bounds
    assert rows["mi300x"] == {
        **rows["mi300x"],
        "status": "excluded",
        "stopped_by": "fleet.accelerators",
        "cost_usd_per_hour": None,
    }


def test_two_workloads_share_the_servers_of_a_type(told, problem):
    code = CHAT | {"name": "code", "demand": {"peak_rps": 2}}
    names = ["h100-sxm", "mi300x"]
    rows = by_gpu(told("plan", problem((CHAT, code), accelerators=names)))
    # Instances of eight: one is enough for both.
    alone = told("plan", problem((CHAT, code), accelerators=["mi300x"]))
    assert rows["mi300x"]["gpus"] == 8 == alone["gpus"]["mi300x"]


def test_a_type_beyond_a_limit_of_the_plan_names_it(told, problem):
    rows = by_gpu(told("plan", problem(accelerators=["h100-sxm", "mi355x"], budget="40 USD/h")))
    row = rows["mi355x"]
    assert (row["status"], row["stopped_by"]) == ("infeasible", "budget")
    assert row["cost_usd_per_hour"] > 40


def test_types_out_of_reach_name_the_constraint(told, problem):
    strict = CHAT | {"slo": {"itl_p99": "1 ms"}}
    plan = told("plan", problem((strict,), accelerators=["h100-sxm"]), code=1)
    row = by_gpu(plan)["h100-sxm"]
    assert (row["status"], row["stopped_by"]) == ("infeasible", "itl:chat")
    assert "the limit is 1.0 ms" in row["why"]


def test_places_left_out_are_said(told, problem):
    rows = by_gpu(told("plan", problem(providers=["lambda"])))
    assert (rows["mi300x"]["status"], rows["mi300x"]["stopped_by"]) == ("excluded", "fleet.providers")


def test_the_page_names_every_accelerator_once(told, problem):
    plan = Plan.model_validate(told("plan", problem()))
    words = terminal.render(gpu_types_section(plan)).replace(",", " ").replace(":", " ").split()
    assert {name: words.count(name) for name in IDS} == dict.fromkeys(IDS, 1)


@pytest.mark.parametrize(("columns", "least"), [(100, 5), (80, 3)])
def test_one_screen_counts_what_it_leaves_out(told, problem, capsys, monkeypatch, columns, least):
    monkeypatch.setenv("COLUMNS", str(columns))
    rows = told("plan", problem())["gpu_types"]
    assert cli.run(["plan", problem()]) == 0
    text = capsys.readouterr().out
    assert text.count("\n") <= 40
    assert f"{sum(row['status'] == 'no-price' for row in rows)} without a price" in text
    priced = [row["gpu"] for row in rows if row["cost_usd_per_hour"] is not None]
    shown = [name for name in priced if f"\n  {name} " in text]
    assert shown == priced[: len(shown)]
    assert least <= len(shown) <= 5
    assert f"{len(priced) - len(shown)} dearer" in text
    assert "GPUs: 1 for the means already; no layer of safety adds one." in text


def test_details_have_a_row_for_each_with_its_place(problem, capsys):
    assert cli.run(["plan", problem(), "--details"]) == 0
    text = capsys.readouterr().out
    text = text[text.index("\nAll GPU types\n") : text.index("\nGuardrails")]
    # Names stay whole, however long.
    assert {name for name in IDS if f"\n  {name} " in text} == IDS
    assert "lambda all regions (uniform)" in " ".join(text.split())
