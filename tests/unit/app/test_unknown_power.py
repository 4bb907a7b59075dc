"""Accelerators whose power nobody states, where power is what counts."""

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import planner
from planner.errors import InputError
from planner.interfaces.cli import app

UNKNOWN = "tpu-v5e: no rated power is known, so it was not considered"
PRICES = {"h100-sxm": "4 USD/h", "tpu-v5e": "0.1 USD/h"}


def written(folder: Path, **more):
    """A problem that TPUs serve at a fortieth of the price."""
    fleet = {"prices": PRICES, **more.pop("fleet", {})}
    workload = {
        "name": "chat",
        "model": "llama-3.1-8b",
        "demand": {"peak_rps": 2},
        "lengths": {"input": {"fixed": 500}, "output": {"fixed": 100}},
        **more.pop("workload", {}),
    }
    path = folder / "problem.yaml"
    path.write_text(yaml.safe_dump({"name": "p", "workloads": [workload], "fleet": fleet, **more}))
    return path


def solved(folder: Path, **more):
    return planner.load(written(folder, **more)).solve()


SPOT = {
    "supply": [{"gpu": name, "term": "spot", "usd_per_gpu_h": usd.split()[0]} for name, usd in PRICES.items()]
}
SPOT_FLEET = {"prices": None, **SPOT}


def test_where_power_does_not_count_an_unknown_power_does_no_harm(tmp_path):
    plan = solved(tmp_path)
    assert set(plan.gpus) == {"tpu-v5e"}
    assert plan.pools[0].power_w is None
    assert not [line for line in plan.warnings if "power" in line]


@pytest.mark.parametrize(
    "more",
    [
        {"objective": "power"},
        {"fleet": {"max_power": "100 kW"}},
        {"objective": "power", "fleet": SPOT_FLEET},
        {"fleet": {**SPOT_FLEET, "max_power": "100 kW"}},
        {"objective": "power", "workload": {"demand": {"hourly_rps": [1, 2] * 12}}},
    ],
)
def test_unknown_power_is_left_aside_and_named(tmp_path, more):
    plan = solved(tmp_path, **more)
    assert set(plan.gpus) == {"h100-sxm"}
    assert UNKNOWN in plan.warnings
    assert all(pool.power_w for pool in plan.pools)


@pytest.mark.parametrize("fleet", [{}, SPOT_FLEET])
def test_it_is_refused_when_nothing_is_left(tmp_path, fleet):
    only = {**fleet, "accelerators": ["tpu-v5e"]}
    with pytest.raises(InputError) as found:
        solved(tmp_path, objective="power", fleet=only)
    assert "no accelerator with a rated power among tpu-v5e" in str(found.value)


@pytest.mark.parametrize("fleet", [{}, SPOT_FLEET])
def test_it_is_said_of_an_infeasible_plan_too(tmp_path, fleet):
    plan = solved(tmp_path, fleet={**fleet, "max_power": "1 W"})
    assert plan.status == "infeasible"
    assert UNKNOWN in plan.warnings


@pytest.mark.parametrize("fleet", [{}, SPOT_FLEET])
def test_fronts_over_power_leave_it_aside(tmp_path, fleet):
    front = planner.load(written(tmp_path, fleet=fleet)).pareto(("cost", "power"))
    assert front.plans
    assert all(set(plan.gpus) == {"h100-sxm"} for plan in front.plans)
    assert all(UNKNOWN in plan.warnings for plan in front.plans)


@pytest.mark.parametrize("fleet", [{}, SPOT_FLEET])
def test_without_the_limit_it_may_serve_so_the_limit_has_a_price(tmp_path, fleet):
    plan = planner.load(written(tmp_path, fleet={**fleet, "max_power": "100 kW"})).relax()
    (price,) = [row for row in plan.prices if row.id == "power"]
    free = solved(tmp_path, fleet=fleet)
    saved = plan.cost_usd_per_hour - free.cost_usd_per_hour
    assert price.removed_saves_usd_per_hour == pytest.approx(saved)
    assert saved > 0


@pytest.mark.parametrize("fleet", [{}, SPOT_FLEET])
def test_explain_says_why_not(tmp_path, fleet):
    run, path = CliRunner().invoke, written(tmp_path, objective="power", fleet=fleet)
    out = tmp_path / "plan.json"
    assert run(app, ["plan", str(path), "--json", "--out", str(out)]).exit_code == 0
    told = run(app, ["explain", str(out), "--candidate", "TPU v5e", "--json"])
    assert told.exit_code == 0
    assert "no rated power is known" in " ".join(json.loads(told.stdout)["answer"])
    (line,) = [row for row in planner.load(path).solve().why_not if row.gpu == "tpu-v5e"]
    assert line.why == "no rated power is known"


def test_a_table_has_no_front_over_power(tmp_path):
    (tmp_path / "rows.csv").write_text("gpu,option,gpus,rate_rps,usd_per_hour\ng,one,1,5,2\n")
    path = tmp_path / "table.yaml"
    path.write_text("name: t\nworkers: rows.csv\nworkloads: [{name: w, demand: {peak_rps: 2}}]\n")
    for axes in (("cost", "power"), ("power", "gpus")):
        with pytest.raises(InputError, match="states no power"):
            planner.load(path).pareto(axes)


def test_electricity_is_not_paid_without_a_power(tmp_path):
    owned = {"capex_usd_per_gpu": 10000, "years": 4, "electricity_usd_per_kwh": "0.2"}
    fleet = {"prices": None, "supply": [{"gpu": "h100-sxm", "term": "owned", "amortized": owned}]}
    with pytest.raises(InputError, match="electricity_usd_per_kwh without power"):
        planner.load(written(tmp_path, fleet=fleet))
    owned["power"] = "700 W"
    planner.load(written(tmp_path, fleet=fleet))
