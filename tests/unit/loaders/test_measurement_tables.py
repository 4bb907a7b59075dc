"""Tables of measurements: both layouts, their notes, and what is wrong with broken ones."""

from __future__ import annotations

import pytest

from planner.errors import InputError
from planner.loaders.measurement_notes import read_note
from planner.loaders.measurements import PUBLIC, SERVING, read_measurements, told_legacy

ROW = {
    "id": "P1",
    "model": "Llama-3.1-8B",
    "gpu": "H100 SXM 80GB",
    "engine": "vLLM",
    "weight_precision": "fp8",
    "scenario": "concurrency",
    "isl_mean": "1000",
    "osl_mean": "100",
    "concurrency_or_batch": "8",
}


def table(tmp_path, rows, columns=PUBLIC):
    path = tmp_path / "table.csv"
    quoted = [[f'"{row.get(column, "")}"' for column in columns] for row in rows]
    path.write_text("\n".join([",".join(columns), *(",".join(cells) for cells in quoted)]) + "\n", "utf-8")
    return path


def faults(path):
    with pytest.raises(InputError) as problem:
        read_measurements(path)
    return [str(fault) for fault in problem.value.faults]


def test_public_layout(tmp_path):
    (row,) = read_measurements(table(tmp_path, [ROW]))
    assert (row.kind, row.requests, row.input_tokens, row.tp) == ("closed-loop", 8, 1000, 0)


def test_a_closed_loop_may_say_how_many_requests_it_had(tmp_path):
    rows = [ROW, ROW | {"id": "P2", "note": "closed loop, 500 requests, EOS honoured"}]
    unstated, stated = read_measurements(table(tmp_path, rows))
    assert (unstated.run_requests, stated.run_requests) == (0, 500)


def test_serving_layout_shortens_lengths(tmp_path):
    values = {
        "id": "S1", "engine": "trtllm", "model": "m", "gpu": "g", "mode": "agg", "weight_precision": "fp8",
        "isl": "1000", "osl": "100", "concurrency": "4", "length_factor": "0.9", "speculation": "mtp",
    }  # fmt: skip
    (row,) = read_measurements(table(tmp_path, [values], SERVING))
    assert (row.input_tokens, row.output_tokens, row.speculation) == (900, 90, "on")
    assert not row.equal_lengths
    (row,) = read_measurements(table(tmp_path, [values | {"length_factor": "1.0"}], SERVING))
    assert (row.input_tokens, row.equal_lengths) == (1000, True)


def test_attention_parallelism_of_a_pool_is_a_switch(tmp_path):
    """0 and 1 are off and on: over all GPUs of a worker; a larger number is the degree."""
    values = {
        "id": "S1", "engine": "trtllm", "model": "m", "gpu": "g", "mode": "disagg", "weight_precision": "fp8",
        "isl": "1000", "osl": "100", "concurrency": "4", "speculation": "none", "prefill_tp": "4",
        "prefill_workers": "1", "decode_tp": "8", "decode_workers": "2", "prefill_attention_dp": "1",
        "decode_attention_dp": "0",
    }  # fmt: skip
    (row,) = read_measurements(table(tmp_path, [values], SERVING))
    assert (row.prefill.attention_dp, row.decode.attention_dp) == (4, 0)
    (row,) = read_measurements(table(tmp_path, [values | {"decode_attention_dp": "2"}], SERVING))
    assert row.decode.attention_dp == 2


@pytest.mark.parametrize(
    ("scenario", "note", "changes", "kind"),
    [
        ("offline_max", "", {"concurrency_or_batch": ""}, "offline"),
        ("offline_max", "queueing for 500 requests", {"concurrency_or_batch": ""}, "burst"),
        ("offline_max", "", {}, "burst"),
        ("concurrency", "static batch (no in-flight batching)", {}, "static-batch"),
        ("concurrency", "", {"osl_mean": "1"}, "first-token"),
        ("open_loop_rate", "", {}, "open-loop"),
        ("server_slo", "", {}, "server-slo"),
    ],
)
def test_kinds_of_load(tmp_path, scenario, note, changes, kind):
    (row,) = read_measurements(table(tmp_path, [ROW | changes | {"scenario": scenario, "note": note}]))
    assert row.kind == kind


@pytest.mark.parametrize(
    ("text", "ttft", "tpot"),
    [
        (
            "Poisson arrivals; p99 SLO (ms): TTFT 2000 TPOT 200; measured p99 TTFT 611, p99 TPOT 164.3",
            2000,
            200,
        ),
        ("p99 SLO: TTFT <= 2 s, TPOT <= 40 ms", 2000, 40),
        ("SLO (s): TTFT 6 TPOT 0.175", 6000, 175),
        ("p99 SLO (ms): TPOT 80", 0, 80),
        ("measured p99 TTFT 611", 0, 0),
    ],
)
def test_limits_of_notes(text, ttft, tpot):
    note = read_note(text)
    assert (note.ttft_limit_ms, note.tpot_limit_ms) == (ttft, pytest.approx(tpot))


def test_other_statements_of_notes():
    note = read_note(
        "DISAGGREGATED 1P3D; each worker TP2; --max-num-batched-tokens 4096; SPECULATIVE DECODING ON"
    )
    assert (note.prefill.workers, note.decode.workers, note.decode.tp) == (1, 3, 2)
    assert (note.batched_tokens, note.speculation) == (4096, True)
    assert read_note("KV fraction up to 0.95").memory_fraction == 0.95
    assert read_note("benchmark with max_num_seqs 1500").max_running == 1500


def test_what_tells_of_a_generation_beside_the_version():
    """A release of TensorRT-LLM's compiled engine."""
    assert told_legacy("TensorRT 10.8, CUDA 12.8")
    assert told_legacy("0.17") is None


def test_every_fault_at_once_with_its_line(tmp_path):
    rows = [
        ROW | {"isl_mean": "many", "tp": "1.5"},
        ROW | {"id": "P2", "scenario": "offlin_max"},
        ROW | {"id": "P2", "model": ""},
    ]
    found = faults(table(tmp_path, rows))
    assert len(found) == 5
    assert any('table.csv:2: isl_mean: found "many"' in fault for fault in found[:2])
    assert any("table.csv:2: tp: found" in fault for fault in found[:2])
    assert 'Maybe "offline_max"?' in found[2]
    assert "table.csv:4: model: found nothing" in found[3]
    assert 'found "P2" again' in found[4]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "an empty file"),
        (b"id;model;gpu\n", "columns separated by commas"),
        (b"name,age\nbob,3\n", "a table of measurements"),
        (b"id,model,gpu,scenario\n\xff\xfe", "text in UTF-8"),
        (b'id,scenario\n"P1,x\n', "a CSV table"),
        (b"id,scenario,isl_meen\nP1,x,3\n", 'Maybe "isl_mean"?'),
    ],
)
def test_broken_files_get_sentences(tmp_path, content, words):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    assert words in " ".join(faults(path))


def test_a_file_that_is_not_there(tmp_path):
    assert "no such file" in faults(tmp_path / "none.csv")[0]
