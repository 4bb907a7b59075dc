"""``planner validate`` from the command line: every row gets a prediction or a reason."""

from __future__ import annotations

import csv
import json

from planner.interfaces.cli import run

HEADER = "id,model,gpu,engine,engine_version,weight_precision,n_gpus,tp,scenario,isl_mean,osl_mean,"
HEADER += "concurrency_or_batch,output_tok_s,tpot_ms,note"
ROWS = (
    "A,Llama-3.1-8B,H100 SXM 80GB,vLLM,v0.11.0,fp8,1,1,concurrency,1000,200,8,900,8,",
    "B,Llama-9-9B,H100 SXM 80GB,vLLM,v0.11.0,fp8,1,1,concurrency,1000,200,8,900,8,",
    "C,Llama-3.1-8B,H900,vLLM,v0.11.0,fp8,1,1,concurrency,1000,200,8,900,8,",
    "D,Llama-3.1-8B,H100 SXM 80GB,vLLM,v0.11.0,fp8,1,1,concurrency,1000,200,,900,8,",
    "E,Llama-3.1-8B,H100 SXM 80GB,vLLM,v0.11.0,fp8,1,1,server_slo,1000,200,,,,"
    '"p99 SLO (ms): TTFT 2000 TPOT 40"',
    "F,Llama-3.1-405B,H100 SXM 80GB,vLLM,v0.11.0,bf16,1,1,concurrency,1000,200,8,900,8,",
    "G,Llama-3.1-8B,H100 SXM 80GB,vLLM,v0.11.0,fp8,1,1,offline_max,1000,200,,900,,",
)
COLUMNS = [
    "id", "predicted_output_tok_s", "predicted_ttft_ms", "predicted_tpot_ms", "predicted_itl_ms",
    "predicted_max_rps", "class", "skipped",
]  # fmt: skip


def table(tmp_path, *lines):
    path = tmp_path / "m.csv"
    path.write_text("\n".join([HEADER, *lines]) + "\n", "utf-8")
    return path


def test_every_row_is_answered(tmp_path, capsys):
    out = tmp_path / "p.csv"
    assert run(["validate", str(table(tmp_path, *ROWS)), "--out", str(out)]) == 0
    with out.open(encoding="utf-8") as lines:
        rows = {row["id"]: row for row in csv.DictReader(lines)}
    assert list(rows["A"]) == COLUMNS
    assert "".join(rows) == "ABCDEFG"
    assert float(rows["A"]["predicted_tpot_ms"]) > 0
    assert "dense, h100-80gb-sxm, vllm, batch up to 8, known" in rows["A"]["class"]
    assert not rows["A"]["skipped"]
    assert 'model "Llama-9-9B" is not in the catalog' in rows["B"]["skipped"]
    assert 'GPU "H900" is not in the catalog' in rows["C"]["skipped"]
    assert "requests in flight" in rows["D"]["skipped"]
    assert float(rows["E"]["predicted_max_rps"]) > 0
    assert "no room" in rows["F"]["skipped"]
    assert float(rows["G"]["predicted_output_tok_s"]) > 0
    assert "Skipped" in capsys.readouterr().out


def test_the_start_of_a_short_run_weighs_more(tmp_path):
    """All clients send at once at the start: of 128 requests more do than of 1,280."""
    note = "DISAGGREGATED 1P1D; each worker TP1; closed loop, {} requests"
    row = '{},Llama-3.1-8B,H100 SXM 80GB,vLLM,v0.11.0,fp8,2,1,concurrency,2000,200,64,900,8,"{}"'
    lines = [row.format(name, note.format(count)) for name, count in (("A", 128), ("B", 1280))]
    out = tmp_path / "p.csv"
    assert run(["validate", str(table(tmp_path, *lines)), "--out", str(out)]) == 0
    with out.open(encoding="utf-8") as found:
        short, long = (float(line["predicted_ttft_ms"]) for line in csv.DictReader(found))
    assert short > 1.1 * long


def test_models_of_more_layers_start_their_prompts_later(tmp_path):
    """The host launches 80 layers of a 70B for 32 of an 8B, however many GPUs share them."""
    row = "{},{},H100 SXM 80GB,vLLM,v0.11.0,fp8,{},{},concurrency,100,200,1,900,8,"
    lines = [row.format("A", "Llama-3.1-8B", 1, 1), row.format("B", "Llama-3.1-70B", 8, 8)]
    out = tmp_path / "p.csv"
    assert run(["validate", str(table(tmp_path, *lines)), "--out", str(out)]) == 0
    with out.open(encoding="utf-8") as found:
        few, many = (float(line["predicted_ttft_ms"]) for line in csv.DictReader(found))
    assert many > few + 12.0


def test_errors_by_class_as_json(tmp_path, capsys):
    assert run(["validate", str(table(tmp_path, ROWS[0])), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {line["number"] for line in found["errors"]} == {"throughput", "tpot"}


def test_a_broken_table_is_bad_input(tmp_path, capsys):
    assert run(["validate", str(table(tmp_path, "A,too,few"))]) == 2
    assert "m.csv:2" in capsys.readouterr().err


def test_a_problem_is_checked_by_plan(tmp_path, capsys):
    path = tmp_path / "chat:eu.yaml"
    path.write_text("name: chat\nworkloads: []\n", "utf-8")
    assert run(["validate", str(path)]) == 2
    assert "Maybe it is a problem, which planner plan checks and answers?" in capsys.readouterr().err


def test_calibrate_asks_for_what_it_needs(capsys):
    assert run(["calibrate", "--reference", "--date", "soon"]) == 2
    words = capsys.readouterr().err
    assert "--measurements" in words
    assert "--date" in words
