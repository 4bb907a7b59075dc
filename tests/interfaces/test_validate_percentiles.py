"""`planner validate` on tables of runs with percentiles, through the command line."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from planner.interfaces import cli
from planner.loaders.percentile_rows import policy_of
from planner.schema.percentiles import NUMBERS

HEADER = (
    "id,source,model,gpu,n_gpus,tp,replicas,router,engine,engine_version,dataset,isl_mean,isl_kind,osl_mean,"
    "osl_kind,prefix_share,load_kind,request_rate_rps,burstiness,concurrency,n_requests,"
    "request_throughput_rps,ttft_p50_ms,ttft_p99_ms,tpot_p99_ms,quality,note"
)
FLEET = (
    "{id},a,Llama-3.1-8B,H100 80GB,4,1,4,{router},vLLM,0.11.0,shared: 120 groups x 5 prompts,4000,fixed,100,"
    "fixed,0.8,rate,{rate},1,,600,{rate},{p50},{p99},20,B,"
)
ONE = (
    "{id},b,Llama-3.1-8B,H100 80GB,1,1,1,,vLLM,0.11.0,random,{isl},fixed,{osl},fixed,,{load},{times},"
    "{quality},"
)
ROWS = [
    FLEET.format(id="A", router="round robin (Service)", rate=30, p50=300, p99=900),
    FLEET.format(id="B", router="precise prefix cache + load scorers", rate=30, p50=40, p99=200),
    ONE.format(id="C", isl=1000, osl=200, load="concurrency,,,16,160,", times="90,500,12", quality="A"),
    ONE.format(id="D", isl=1000, osl=200, load="burst,inf,,,300,", times="4000,9000,80", quality="A"),
    ONE.format(id="E", isl=1000, osl=200, load="rate,4,constant,,200,4", times="60,90,9", quality="C"),
    ONE.format(id="F", isl=1000, osl=200, load="rate,4,1,,200,4", times="60,90,9", quality="A").replace(
        "3.1", "9"
    ),
    ONE.format(id="G", isl=1000, osl="", load="rate,4,1,,200,4", times="60,90,9", quality="A"),
]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("\n".join([HEADER, *ROWS]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def told(capsys):
    def told(*words, code=0):
        ended = cli.run([str(word) for word in words])
        found = capsys.readouterr()
        assert ended == code, found.err
        return found.out or found.err

    return told


def test_every_row_has_its_percentiles_or_a_reason(told, table, tmp_path):
    answer = json.loads(told("validate", table, "--json", "--out", tmp_path / "out.csv"))
    rows = {row["id"]: row for row in answer["predictions"]}
    fields = [f"predicted_{name}_ms" for name in NUMBERS]
    for name in "ABCDE":
        assert all(rows[name][field] > 0.0 for field in fields), name
    assert "not in the catalog" in rows["F"]["skipped"]
    assert rows["G"]["skipped"] == "the output length is not stated"
    assert rows["E"]["doubt"].startswith("graded C")
    assert answer["scored"] == 4
    written = csv.DictReader((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines())
    assert set(fields) <= set(written.fieldnames)
    assert float(next(written)["predicted_ttft_p99_ms"]) == pytest.approx(rows["A"][fields[3]], rel=1e-4)
    # The same bytes again.
    before = (tmp_path / "out.csv").read_bytes()
    told("validate", table, "--out", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == before


def test_the_largest_rate_is_that_within_the_limits_of_the_note(told, table, tmp_path):
    """Of all replicas; where a note states no limit there is none."""
    row = ONE.format(id="{id}", isl=1000, osl=200, load="rate,4,1,,9000,4", times="60,90,9", quality="A")
    limits = {"tight": (300, 20), "loose": (900, 60), "tighter": (300, 15)}
    noted = [
        f"{row.format(id=name)}limits p99 TTFT {ttft} ms and TPOT {tpot} ms"
        for name, (ttft, tpot) in limits.items()
    ]
    table.write_text("\n".join([HEADER, *noted, row.format(id="free")]) + "\n", encoding="utf-8")
    told("validate", table, "--out", tmp_path / "out.csv")
    lines = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    most = {line["id"]: line["predicted_max_rps"] for line in csv.DictReader(lines)}
    assert most.pop("free") == ""
    assert 4.0 < float(most["tighter"]) < float(most["tight"]) < float(most["loose"])
    answer = json.loads(told("validate", table, "--json"))
    assert answer["predictions"][0]["predicted_max_rps"] == pytest.approx(float(most["tight"]), rel=1e-4)


def test_classes_stand_in_one_order_whatever_python_hashes(table):
    """Sets of words come in an order that changes from process to process."""
    script = str(Path(sys.executable).with_name("planner"))
    pages = {
        subprocess.run(
            [script, "validate", str(table)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(pages) == 1


def test_loads_are_said_and_routers_are_ordered(told, table):
    answer = json.loads(told("validate", table, "--json"))
    loads = {row["id"]: row["load"] for row in answer["predictions"]}
    assert loads["A"] == "random arrivals at 30 requests/s over 4 replicas, round-robin, run of 600 requests"
    assert loads["C"] == "closed loop of 16 clients, start burst included, run of 160 requests"
    assert answer["router_order"] == {"pairs": 1, "right": 1}


def test_the_page(told, table):
    page = told("validate", table)
    assert "4 of 7 rows scored" in page
    assert "P99 all" in page
    assert "Right in 1 of 1 pairs" in page


LOOP = (
    "{id},c@1,Llama-3.1-8B,H100 80GB,1,1,1,,vLLM,0.11.0,random,{isl},fixed,200,fixed,,concurrency,,,"
    "{clients},{count},,{p50},500,12,A,"
)


def told_loops(told, tmp_path, *rows):
    lines = [LOOP.format(**({"isl": 1000, "count": ""} | row)) for row in rows]
    (tmp_path / "loops.csv").write_text("\n".join([HEADER, *lines]) + "\n", encoding="utf-8")
    answer = json.loads(told("validate", tmp_path / "loops.csv", "--json"))
    counted = {line["number"]: line["rows"] for line in answer["errors"] if line["group"] == "all"}
    return {row["id"]: row["doubt"] for row in answer["predictions"]}, counted


def test_the_start_of_a_loop_that_states_no_number_of_requests_is_not_compared(told, tmp_path):
    doubts, counted = told_loops(
        told,
        tmp_path,
        {"id": "A", "clients": 1, "p50": 60},
        {"id": "B", "clients": 16, "p50": 900},
        {"id": "C", "clients": 16, "p50": 90, "count": 160},
    )
    assert set(doubts.values()) == {""}
    # One client has no queue; of sixteen nobody knows how many started together.
    assert counted["ttft_p50"] == counted["ttft_p99"] == 2
    assert counted["tpot_p99"] == 3


def test_prompts_that_nothing_could_compute_so_soon_were_held_in_a_cache(told, tmp_path):
    """16 TFLOP of 8 billion parameters and 1,000 tokens take 15 ms at the peak of an H100."""
    doubts, counted = told_loops(
        told,
        tmp_path,
        {"id": "A", "clients": 1, "p50": 9, "count": 100},
        {"id": "B", "clients": 2, "p50": 60, "count": 100},
        {"id": "C", "clients": 1, "p50": 60, "count": 100, "isl": 2000},
    )
    # Other prompts of the same client and length were the same, those of another length not.
    assert "held in a cache" in doubts["A"]
    assert doubts["B"] == doubts["A"]
    assert doubts["C"] == ""
    assert counted["ttft_p50"] == counted["tpot_p99"] == 1


def test_bad_cells_are_told_together(told, table):
    text = table.read_text(encoding="utf-8")
    wrong = {
        ",rate,4,constant,": ",rates,4,constant,",
        "C,b,": "A,b,",
        "fixed,200,fixed,,burst": "same,200,fixed,,burst",
    }
    for right, changed in wrong.items():
        text = text.replace(right, changed)
    table.write_text(text, encoding="utf-8")
    said = told("validate", table, code=2)
    assert '"rates", expected one of rate, concurrency, burst' in said
    assert '"same", expected one of fixed' in said
    assert '"A" again' in said


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("round robin (k8s Service)", "round-robin"),
        ("random picker", "random"),
        ("least load", "least-loaded"),
        ("load scorers only (queue + KV utilisation)", "least-loaded"),
        ("optimized baseline (prefix + load scorers)", "cache-aware"),
        ("KV-aware", "cache-aware"),
        ("", None),
        ("by hand", None),
    ],
)
def test_names_of_routers(name, policy):
    assert policy_of(name) == policy
