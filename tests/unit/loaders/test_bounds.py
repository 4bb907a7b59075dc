"""Inputs that would take all time or memory are refused, in words, by every reader that meets them."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

import planner
from planner.errors import InputError
from planner.loaders import csv_table
from planner.loaders.benchmarks import read_benchmarks
from planner.loaders.catalog import load_catalog
from planner.loaders.hf_config import read_hf_config
from planner.loaders.json_source import MAX_CONTAINERS, read_json
from planner.loaders.measurements import read_measurements
from planner.loaders.observed import load_observed
from planner.loaders.plan_file import load_plan
from planner.loaders.problem import load_problem, load_problem_document
from planner.loaders.today import load_today
from planner.loaders.traces import read_trace
from planner.loaders.validation import MAX_REFUSALS
from planner.loaders.worker_table import read_workers

JSON_READERS = {
    "plan": load_plan,
    "workers": read_workers,
    "trace": read_trace,
    "start": load_today,
    "model": read_hf_config,
    "observed": load_observed,
    "benchmark": lambda path: read_benchmarks([path]),
}
TEXTS = {
    "half a character": '{"gpu_info": {"\\ud800": 1}, "pools": 1, "schema": "planner/plan/1"}',
    "deep": "[" * 100_000,
    "deep objects": '{"a":' * 100_000,
    "the same key": "{" + ",".join('"schema": "planner/plan/1"' for _ in range(50_000)) + "}",
    "keys": "{" + ",".join(f'"k{n}": 1' for n in range(50_000)) + "}",
    "digits": '{"gpu_info": ' + "9" * 100_000 + "}",
    "exponent": '{"total_request_rate": 1e-9999999, "gpu_info": {"a": {"cost": 1e9999999}}}',
    "not finite": '{"timestamp": NaN, "input_length": Infinity, "output_length": -Infinity}',
    "empty": "",
    "spaces": " \n\t\n",
    "zero bytes": "\0" * 1000,
    "null": "null",
    "a long text": '"' + "x" * 1_000_000 + '"',
    "a long line": "x" * 2_000_000,
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("reader", JSON_READERS)
def test_no_reader_of_json_is_taken_in(tmp_path, reader, text):
    path = tmp_path / "x.json"
    path.write_text(TEXTS[text])
    with pytest.raises(InputError) as caught:
        JSON_READERS[reader](path)
    assert len(str(caught.value)) < 300_000
    assert all(fault.where.startswith(str(path)) for fault in caught.value.faults)


def test_too_many_values_are_refused_before_they_are_made():
    with pytest.raises(InputError, match="2,000,001 brackets"):
        read_json("[" + "{}," * (MAX_CONTAINERS - 1) + "{}]", "x")


def test_json_faults_come_together_with_their_lines():
    found = read_json('{"a": 1,\n "b": NaN,\n "a": 2,\n "c": 1e999}', "x.json")
    assert [(fault.where, fault.key, fault.found) for fault in found.faults] == [
        ("x.json:3", "a", "the key twice"),
        ("x.json:2", "", "NaN"),
        ("x.json:4", "", "1e999"),
    ]


@pytest.fixture(scope="module")
def catalog():
    return load_catalog()


PROBLEM = {
    "name": "p",
    "workloads": [
        {
            "name": "chat",
            "model": "llama-3.1-8b",
            "demand": {"peak_rps": 1},
            "lengths": {"input": {"fixed": 9}, "output": {"fixed": 9}},
        }
    ],
}


@pytest.mark.parametrize(
    "number", ["1e-9999999", "1e9999999", "9" * 5000, Decimal("1e-9999999"), "-1e-99999"]
)
def test_numbers_of_any_exponent_are_refused_wherever_they_stand(catalog, number):
    for change in (
        {"peak_rps": number},
        {"hourly_rps": [1, number]},
        {"tokens_per_day": number},
        {"peak_rps": 1, "burstiness": number},
        {"sessions": {"per_hour": number}},
    ):
        values = {**PROBLEM, "workloads": [{**PROBLEM["workloads"][0], "demand": change}]}
        with pytest.raises(InputError):
            load_problem_document(values, catalog)
    for fleet in (
        {"prices": {"h100-sxm": f"{number} USD/h"}},
        {"budget": f"{number} USD/h"},
        {"headroom": {"capacity": f"{number} %"}},
        {"network": f"{number} GB/s"},
        {"network": f"{number}"},
        {"max_utilization": f"{number}"},
        {"supply": [{"gpu": "h100-sxm", "term": "owned", "usd_per_gpu_h": number}]},
    ):
        with pytest.raises(InputError):
            load_problem_document({**PROBLEM, "fleet": fleet}, catalog)


YAMLS = {
    "keys": "".join(f"k{n}: 1\n" for n in range(10_000)),
    "the same key": "k: 1\n" * 10_000,
    "empty lists": "name: p\nworkloads: [" + "[]," * 10_000 + "]\n",
    "a list in a list": "name: p\nworkloads: [[]]\n",
    "unknown accelerators": "fleet: {accelerators: [" + ",".join(f"k{n}" for n in range(10_000)) + "]}\n",
    "deep": "name: " + "[" * 100_000,
    "aliases": "a: &a [x,x,x,x]\n"
    + "".join(f"b{n}: &b{n} [{','.join(['*a' if n == 0 else f'*b{n - 1}'] * 9)}]\n" for n in range(9)),
    "half a character": 'name: "\\ud800"\n',
    "a zero byte": "name: p\0\n",
    "digits": "name: " + "9" * 1_000_000,
    "empty": "",
}


@pytest.mark.parametrize("text", YAMLS)
def test_yaml_is_bounded(tmp_path, catalog, text):
    path = tmp_path / "x.yaml"
    path.write_text(YAMLS[text])
    for read in (
        lambda: load_problem(path, catalog, ()),
        lambda: load_observed(path),
        lambda: load_today(path),
    ):
        with pytest.raises(InputError) as caught:
            read()
        assert 0 < len(caught.value.faults) <= MAX_REFUSALS + 10


def test_what_is_left_out_is_counted(tmp_path, catalog):
    (tmp_path / "x.yaml").write_text(YAMLS["keys"])
    with pytest.raises(InputError) as caught:
        load_problem(tmp_path / "x.yaml", catalog, ())
    assert "9,802 more faults" in str(caught.value).splitlines()[-1]


@pytest.mark.parametrize("columns", [b"id," * 50_000, b"id\n" * 6_000, b'"', b"id,model\n\xff"])
def test_tables_are_bounded(tmp_path, monkeypatch, columns):
    monkeypatch.setattr(csv_table, "MAX_LINES", 5_000)
    path = tmp_path / "x.csv"
    path.write_bytes(columns)
    for read in (read_measurements, read_workers, read_trace):
        with pytest.raises(InputError):
            read(path)


def test_a_session_refuses_large_lists():
    session = planner.load(Path(__file__).parents[3] / "problems" / "01-chat-70b.yaml")
    with pytest.raises(InputError, match="at most 8784 items"):
        session.changed({"workloads.chat.demand": {"hourly_rps": [1] * 10_000}})
    text = json.dumps([dict(PROBLEM["workloads"][0], name=f"w{n}") for n in range(1001)])
    with pytest.raises(InputError, match="at most 1000 items"):
        load_problem_document({"name": "p", "workloads": json.loads(text)})
