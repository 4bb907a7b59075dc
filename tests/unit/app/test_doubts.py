"""Rows whose first tokens measure a start-up."""

from __future__ import annotations

import dataclasses

import pytest

from planner.app.validate import predict
from planner.calibration.accuracy import error_lines
from planner.calibration.doubts import BEYOND_ALL, COLD_SERVER, SLOWER_BELOW, start_ups
from planner.calibration.measured_rows import measured_rows
from planner.loaders.catalog import load_catalog
from planner.schema.measurement import Measurement, Pool

ROW = Measurement(
    id="C8", where="table.csv:2", kind="closed-loop", model="llama-3.1-8b", gpu="H100", engine="vllm",
    engine_version="0.12.0", weights="fp8", kv="fp8", tp=1, gpus=1, input_tokens=1000.0, output_tokens=500.0,
    requests=8.0, ttft_ms=60.0, tpot_ms=6.0,
)  # fmt: skip


def ladder(*points, **changes):
    rows = [
        dataclasses.replace(ROW, id=f"C{clients}", requests=float(clients), ttft_ms=float(ms), **changes)
        for clients, ms in points
    ]
    catalog = load_catalog(())
    return start_ups(measured_rows(rows, catalog, catalog.calibration), catalog.calibration)


def test_a_lower_load_is_not_twice_as_late():
    assert ladder((4, 201), (8, 60), (16, 100)) == {"C4": SLOWER_BELOW}
    assert ladder((4, 119), (8, 60), (16, 100)) == {}


def test_no_first_token_waits_for_more_than_every_prompt_twice():
    assert ladder((4, 5000)) == {"C4": BEYOND_ALL}
    assert ladder((4, 900)) == {}


def test_a_full_cache_and_other_kinds_of_rows_are_no_start_up():
    assert ladder((20000, 500000)) == {}
    assert ladder((4, 5000), kind="static-batch") == {}
    assert ladder((4, 5000), speculation="on") == {}


def test_prompts_of_split_rows_have_all_prefill_workers():
    split = {"disaggregated": True, "decode": Pool(1, 1), "gpus": 0}
    assert ladder((256, 9000), prefill=Pool(1, 1), **split) == {}
    assert ladder((256, 9000), prefill=Pool(8, 1), **split) == {"C256": BEYOND_ALL}


def test_only_the_first_token_is_not_counted():
    catalog = load_catalog(())
    late = dataclasses.replace(ROW, id="C4", requests=4.0, ttft_ms=5000.0)
    found = predict((ROW, late), catalog, catalog.calibration).rows
    lines = {line.number: line.rows for line in error_lines(found) if line.group == "all"}
    assert (lines["ttft"], lines["tpot"]) == (1, 2)
    assert found[1].ttft_ms == pytest.approx(found[0].ttft_ms, rel=0.5)


def test_a_server_that_is_cold_in_every_third_row_is_doubted_altogether():
    """Three of eight rows wait for seconds; of twelve they are fewer than a third."""
    cold = [(4, 5000), (5, 5000), (6, 5000)]
    warm = [(clients, 5000 + clients) for clients in range(200, 205)]
    found = ladder(*cold, *warm)
    assert found == {f"C{clients}": BEYOND_ALL for clients, _ in cold} | {
        f"C{clients}": COLD_SERVER for clients, _ in warm
    }
    more = [(clients, 5000 + clients) for clients in range(205, 212)]
    assert len(ladder(*cold, *warm, *more)) == 3
    assert len(ladder(*cold[:2])) == 2
