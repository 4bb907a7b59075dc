"""Own GPUs or an outside supplier whose prices the catalog knows, from the command line."""

import pytest
import yaml

from planner.interfaces import cli

PROBLEM = {
    "name": "own-or-api",
    "workloads": [
        {
            "name": "chat",
            "model": "llama-3.3-70b",
            "demand": {"peak_rps": 4, "mean_rps": 1},
            "lengths": {"input": {"fixed": 1000}, "output": {"fixed": 200}},
        }
    ],
    "fleet": {"accelerators": ["h100-sxm"]},
    "search": {"modes": ["aggregated"], "tp": [2]},
}


@pytest.fixture
def problem(tmp_path):
    def problem(*api, **workload):
        path = tmp_path / "problem.yaml"
        workloads = [PROBLEM["workloads"][0] | workload]
        path.write_text(yaml.safe_dump(PROBLEM | {"workloads": workloads, "api": list(api)}))
        return str(path)

    return problem


def test_a_supplier_by_name_has_the_prices_of_the_catalog(told, problem):
    named = told("plan", problem({"workload": "chat", "supplier": "Crusoe"}))
    typed = {"workload": "chat", "usd_per_million_input": 0.2, "usd_per_million_output": 0.2}
    by_hand = told("plan", problem(typed))
    # 1 request/s of 1,000 + 200 tokens at 0.20 USD a million
    assert named["cost_usd_per_hour"] == pytest.approx(1200 * 3600 * 0.2 / 1e6)
    assert named["cost_usd_per_hour"] == by_hand["cost_usd_per_hour"]
    (api,) = named["api"]
    assert api["id"] == "chat/api/crusoe"
    assert "crusoe/meta-llama/Llama-3.3-70B-Instruct: 0.2 USD in, 0.2 USD out" in api["entry"]


def test_any_is_the_cheapest_for_these_requests(told, problem):
    anyone = told("plan", problem({"workload": "chat", "supplier": "any"}))
    for name in ("deepinfra", "nebius", "azure_ai", "together_ai"):
        one = told("plan", problem({"workload": "chat", "supplier": name}))
        assert anyone["cost_usd_per_hour"] <= one["cost_usd_per_hour"]


def test_a_context_that_is_too_short_is_left_out(told, problem):
    long = {"input": {"fixed": 30_000}, "output": {"fixed": 200}}
    offer = {"workload": "chat", "supplier": "cloudflare"}
    words = told("plan", problem(offer, lengths=long), code=2)
    assert "cloudflare, of which no entry of llama-3.3-70b holds 30,200 tokens" in words


def test_several_suppliers_stand_beside_each_other(told, problem):
    plan = told("plan", problem(*({"workload": "chat", "supplier": name} for name in ("nebius", "crusoe"))))
    assert {api["id"] for api in plan["api"]} == {"chat/api/nebius", "chat/api/crusoe"}


@pytest.mark.parametrize(
    ("offer", "words"),
    [
        ({"supplier": "deepinfr"}, ('found "deepinfr" for llama-3.3-70b', 'Maybe "deepinfra"')),
        ({"supplier": "nebius", "usd_per_million_input": 1}, ("found a supplier and prices",)),
        ({"usd_per_million_input": 1}, ("found no price of input or output, expected supplier",)),
    ],
)
def test_what_is_wrong_with_a_supplier_is_told(told, problem, offer, words):
    found = told("plan", problem({"workload": "chat", **offer}), code=2)
    assert "api.0" in found
    for word in words:
        assert word in found


def test_the_page_says_what_is_paid_for(problem, capsys):
    assert cli.run(["plan", problem({"workload": "chat", "supplier": "crusoe"}), "--details"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "(crusoe sells it as crusoe/meta-llama/Llama-3.3-70B-Instruct: 0.2 USD in" in text


def test_a_table_of_prices_by_the_token_is_checked(told, tmp_path):
    folder = tmp_path / "mine" / "prices"
    folder.mkdir(parents=True)
    (folder / "house.yaml").write_text(
        "kind: prices\nid: house\nname: House\napi_table: house.csv\n"
        "sources: {table: {title: contract, date: 2026-11-01}}\n"
    )
    head = "model,supplier,entry,usd_per_million_input,usd_per_million_output\n"
    (folder / "house.csv").write_text(f"{head}llama-3.3-70b,house,ours,cheap,1\n")
    words = told("catalog", "check", "--catalog", str(tmp_path / "mine"), code=2)
    assert 'house.csv:2: usd_per_million_input: found "cheap"' in words
    (folder / "house.csv").write_text(f"{head}llama-3.3-71b,house,ours,1,1\n")
    words = told("catalog", "check", "--catalog", str(tmp_path / "mine"), code=2)
    assert (
        'house.csv: model: found "llama-3.3-71b", expected an id in catalog/models. Maybe "llama-3.3-70b"'
        in words
    )
    (folder / "house.csv").write_text(f"{head}llama-3.3-70b,house,ours,0.01,0.01\n")
    problem = tmp_path / "problem.yaml"
    problem.write_text(yaml.safe_dump(PROBLEM | {"api": [{"workload": "chat", "supplier": "house"}]}))
    plan = told("plan", str(problem), "--catalog", str(tmp_path / "mine"))
    assert plan["cost_usd_per_hour"] == pytest.approx(1200 * 3600 * 0.01 / 1e6)
