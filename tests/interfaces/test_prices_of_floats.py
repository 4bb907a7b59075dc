"""Prices with the digits that sums of floats leave behind: the same plan as without them, and proved."""

import pytest

PREDICTED = """\
name: p
workloads:
  - name: chat
    model: llama-3.1-8b
    demand: {peak_rps: 80}
    lengths: {input: {fixed: 500}, output: {fixed: 40}}
    slo: {ttft_p99: 800 ms, itl_p99: 40 ms}
fleet:
  FLEET
"""
PRICES = "{accelerators: [l40s, a100-sxm], prices: {l40s: ONE USD/h, a100-sxm: OTHER USD/h}}"
SUPPLY = """
  supply:
    - {gpu: l40s, term: on_demand, usd_per_gpu_h: ONE}
    - {gpu: a100-sxm, term: on_demand, usd_per_gpu_h: OTHER}"""


@pytest.mark.parametrize("fleet", [PRICES, SUPPLY], ids=["prices", "supply"])
def test_a_predicted_plan_is_proved(told, tmp_path, fleet):
    found = []
    for one, other in (("1.28", "0.3"), ("1.2800000000000002", "0.30000000000000004")):
        text = PREDICTED.replace("FLEET", fleet).replace("ONE", one).replace("OTHER", other)
        (tmp_path / "p.yaml").write_text(text)
        found.append(told("plan", str(tmp_path / "p.yaml")))
    assert found[1]["status"] == "optimal"
    assert found[1] == found[0]


def test_a_price_of_a_table_fits_the_budget_that_it_equals(told, tmp_path):
    (tmp_path / "t.csv").write_text("option,gpu,gpus,max_rps,usd_per_hour\na,g,1,2,0.30000000000000004\n")
    text = (
        "{name: p, workers: t.csv, workloads: [{name: w, demand: {peak_rps: 1}}], fleet: {budget: 0.3 USD/h}}"
    )
    (tmp_path / "p.yaml").write_text(text)
    assert told("plan", str(tmp_path / "p.yaml"))["objective"]["value"] == 0.3
