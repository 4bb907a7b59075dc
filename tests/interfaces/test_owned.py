"""GPUs that are there anyway: used for their electricity, no more than there are, beside rented ones."""

from __future__ import annotations

import json

import pytest
import yaml

from planner.interfaces import cli
from planner.loaders.catalog import load_catalog

CHAT = {
    "name": "chat",
    "model": "llama-3.1-8b",
    "demand": {"peak_rps": 60},
    "lengths": {"input": {"p50": 1000, "p99": 2000}, "output": {"p50": 200, "p99": 500}},
    "slo": {"ttft_p99": "1000 ms", "itl_p99": "50 ms"},
}
HEADER = "workload,bucket,option,gpu,gpus,max_rps\n"


@pytest.fixture
def plan(capsys, tmp_path):
    """The plan of a fleet, or its errors."""

    def asked(fleet, code=0, text=False, **more):
        path = tmp_path / "problem.yaml"
        path.write_text(yaml.safe_dump({"name": "own", "workloads": [CHAT], "fleet": fleet, **more}))
        assert cli.run(["plan", str(path), *([] if text else ["--json"])]) == code
        ended = capsys.readouterr()
        if code == 2:
            return ended.err
        return ended.out if text else json.loads(ended.out)

    return asked


def test_what_is_owned_is_used_at_the_price_of_its_electricity(plan):
    found = plan({"owned": {"h100": 8}, "electricity": "0.12 USD/kWh", "pue": 1.5})
    (line,) = {item["line"]: item for item in found["supply"]}.values()
    watts = float(load_catalog().accelerator("h100").power.tdp)
    assert (line["line"], line["term"]) == ("h100/owned", "owned")
    assert found["cost_usd_per_hour"] == pytest.approx(found["gpus"]["h100"] * watts / 1000 * 1.5 * 0.12)
    assert not [text for text in found["warnings"] if "counts as free" in text]


def test_nothing_is_owned_twice_over_and_the_rest_is_rented(plan):
    all_rented = plan({"prices": {"h100": "3 USD/h"}})
    owned = plan({"owned": {"h100": 1}, "prices": {"h100": "3 USD/h"}})
    lines = {item["line"]: item["gpus"] for item in owned["supply"]}
    assert lines == {"h100/owned": 1, "h100/on_demand": all_rented["gpus"]["h100"] - 1}
    assert owned["cost_usd_per_hour"] == pytest.approx(all_rented["cost_usd_per_hour"] - 3)
    text = plan({"owned": {"h100": 1}, "prices": {"h100": "3 USD/h"}}, text=True)
    assert "Use 1 of your 1 × h100 and rent" in text
    assert "h100 is owned and counts as free, electricity too: state fleet.electricity" in " ".join(
        text.split()
    )


def test_other_types_stay_allowed_unless_some_are_named(plan):
    mixed = plan({"owned": {"h100": 1}})
    assert mixed["gpus"]["h100"] == 1
    assert len(mixed["gpus"]) > 1, "what one H100 cannot carry is rented elsewhere"
    alone = plan({"owned": {"h100": 1}, "accelerators": ["h100"]}, code=1)
    assert alone["status"] == "infeasible"


def test_owned_is_a_line_of_supply_at_nothing(plan):
    owned = plan({"owned": {"h100": 8}, "accelerators": ["h100"]})
    line = {"gpu": "h100", "term": "owned", "usd_per_gpu_h": 0, "max_gpus": 8}
    stated = plan({"supply": [line], "accelerators": ["h100"]})
    for key in ("status", "gpus", "cost_usd_per_hour", "supply"):
        assert owned[key] == stated[key]


def test_with_a_table_of_workers(plan, tmp_path):
    (tmp_path / "workers.csv").write_text(HEADER + "chat,all,x,big,1,30\nchat,all,y,small,1,10\n")
    fleet = {"owned": {"big": 2}, "prices": {"small": "1 USD/h"}, "headroom": {"capacity": "0 %"}}
    found = plan(fleet, workers="workers.csv")
    assert found["gpus"] == {"big": 2}
    assert found["cost_usd_per_hour"] == 0
    assert 'fleet.owned.bog: found "bog", expected a GPU of the table' in plan(
        {**fleet, "owned": {"bog": 2}}, code=2, workers="workers.csv"
    )


@pytest.mark.parametrize(
    ("fleet", "told"),
    [
        ({"owned": {"h1000": 8}}, 'found "h1000", expected an accelerator of the catalog'),
        ({"owned": {"h100": -1}}, "fleet.owned.h100: found -1"),
        ({"owned": {"h100": 8}, "electricity": "0.12 USD"}, "fleet.electricity"),
        ({"owned": {"h100": 8, "h100-sxm": 8}}, "one name for one accelerator"),
        (
            {"owned": {"h100": 8}, "supply": [{"gpu": "h100", "term": "owned", "usd_per_gpu_h": 1}]},
            'fleet.supply.0.gpu: found "h100", owned in fleet.owned too, expected one of them',
        ),
    ],
)
def test_faults_are_told_with_their_place(plan, fleet, told):
    assert told in " ".join(plan(fleet, code=2).split())
