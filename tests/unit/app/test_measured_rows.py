"""Rows of measurements as loads: what a table says about many GPUs."""

from __future__ import annotations

import dataclasses

from planner.app.validate import predict
from planner.calibration.measured_rows import measured_rows
from planner.loaders.catalog import load_catalog
from planner.schema.measurement import Measurement, Pool

ROW = Measurement(
    id="S1", where="table.csv:2", kind="closed-loop", model="Llama-3.1-70B", gpu="H100", engine="vllm",
    engine_version="", weights="fp8", kv="fp8", input_tokens=1000.0, output_tokens=500.0, requests=64.0,
)  # fmt: skip
SPLIT = dataclasses.replace(ROW, disaggregated=True, prefill=Pool(1, 4), decode=Pool(1, 4))


def test_replicas_share_the_requests():
    catalog = load_catalog(())
    rows = measured_rows([dataclasses.replace(ROW, tp=4, gpus=8)], catalog, catalog.calibration)
    assert (rows.loads.replicas[0], rows.loads.requests[0]) == (2.0, 32.0)


def test_workers_of_a_split_are_no_replicas():
    """Whether a table counts the GPUs or not, all requests meet all workers."""
    catalog = load_catalog(())
    counted = dataclasses.replace(SPLIT, id="S2", gpus=8)
    one, other = predict((SPLIT, counted), catalog, catalog.calibration).rows
    assert one.tpot_ms == other.tpot_ms
    assert one.ttft_ms == other.ttft_ms
    assert one.output_tokens_per_s == other.output_tokens_per_s
