"""Shares that divide a whole, in percent or as fractions of one, through the command line."""

import json

import pytest

TABLE = """\
option,workload,bucket,gpu,gpus,max_rps,usd_per_hour
a,small,short,l4,1,4,1
a,small,long,l4,1,2,1
b,large,,h100,1,3,4
"""
PROBLEM = """\
name: divided
workers: rates.csv
workloads:
  - name: small
    demand: {peak_rps: 8}
    buckets: {short: SHORT, long: LONG}
  - name: large
    demand: {peak_rps: 8}
tiers:
  - {name: front, kind: routing, stages: [{workload: small, share: SMALL}, {workload: large, share: LARGE}]}
"""
FIXED = {"SHORT": "0.4", "LONG": "0.6", "SMALL": "70 %", "LARGE": "30 %"}


@pytest.fixture
def problem(tmp_path):
    (tmp_path / "rates.csv").write_text(TABLE)

    def written(**shares):
        text = PROBLEM
        for name, share in (FIXED | shares).items():
            text = text.replace(name, share)
        (tmp_path / "p.yaml").write_text(text)
        return str(tmp_path / "p.yaml")

    return written


def test_both_forms_are_the_same_plan(problem, told):
    one = told("plan", problem())
    assert one["status"] == "optimal"
    other = told("plan", problem(SHORT="40 %", LONG='"0.6"', SMALL="0.7", LARGE=".3"))
    assert json.dumps(other) == json.dumps(one)


def test_buckets_of_lengths_take_both_forms(told, tmp_path):
    text = """\
name: lengths
workloads:
  - name: chat
    model: llama-3.1-8b
    demand: {peak_rps: 8}
    lengths:
      buckets: [{name: a, share: ONE, input: 500, output: 40}, {name: b, share: OTHER, input: 9, output: 9}]
    precision: {weights: [bf16], kv: [bf16]}
fleet: {accelerators: [l40s], prices: {l40s: 1 USD/h}}
search: {modes: [aggregated], mix: false}
"""
    found = []
    for one, other in (("0.25", "0.75"), ("25 %", "75 %")):
        (tmp_path / "p.yaml").write_text(text.replace("ONE", one).replace("OTHER", other))
        found.append(told("plan", str(tmp_path / "p.yaml")))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ({"SHORT": "40"}, "p.yaml:6: workloads.small.buckets.short: found 40, expected a share"),
        ({"SHORT": "40"}, 'such as 0.4 or "40 %". Maybe 40 %?'),
        ({"SHORT": "140 %"}, "expected a share between 0 % and 100 %"),
        ({"SHORT": "-0.1"}, "found -0.1, expected a share between 0 and 1"),
        ({"SHORT": "0"}, "expected a number above 0"),
        ({"SHORT": "50 %"}, "found shares that sum to 1.1"),
        ({"SHORT": ".nan"}, "found .nan"),
        ({"SMALL": "70"}, "Maybe 70 %?"),
        ({"SMALL": "0.8"}, "tiers.front"),
    ],
)  # fmt: skip
def test_impossible_shares_are_told(problem, refused, shares, said):
    refused(said, "plan", problem(**shares))
