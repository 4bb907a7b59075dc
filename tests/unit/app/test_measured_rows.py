"""Rows of measurements as loads: what a table says about many GPUs."""

from __future__ import annotations

import dataclasses

import pytest

from planner.app.validate import predict
from planner.calibration.measured_rows import measured_rows
from planner.loaders.catalog import load_catalog
from planner.performance.rows import predict_rows
from planner.schema.measurement import Measurement, Pool
from planner.steptime.calibration_paths import with_values

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


def _split(**changes):
    catalog = load_catalog(())
    row = dataclasses.replace(SPLIT, **changes)
    return measured_rows([row], catalog, catalog.calibration)


def test_experts_of_data_parallel_attention_span_a_worker_without_a_stated_degree():
    changes = {"model": "deepseek-r1", "gpu": "GB200", "prefill": Pool(1, 8)}
    rows = _split(**changes, decode=Pool(1, 16, attention_dp=16))
    assert [item.ep for item in rows.configurations] == [16, 1]
    stated = _split(**changes, decode=Pool(1, 16, ep=8, attention_dp=16))
    assert stated.configurations[0].ep == 8


def test_workers_that_cannot_hold_their_model_are_mislabeled():
    rows = _split(model="deepseek-r1", gpu="GB200", prefill=Pool(1, 1), decode=Pool(1, 8))
    assert rows.skipped["S1"] == "a prefill worker of 1 GPU does not hold the model: mislabeled"


def test_a_worker_beyond_its_fast_link_talks_over_the_network():
    wide = Pool(1, 16, attention_dp=16)
    many = {"model": "deepseek-r1", "prefill": Pool(1, 8), "decode": wide}
    assert _split(gpu="B200", **many).configurations[0].spans_servers
    assert not _split(gpu="GB200", **many).configurations[0].spans_servers


def test_caches_take_the_fast_link_where_all_workers_share_one():
    """Eight GPUs of one server; a fourth worker makes two servers: 400 Gb/s a GPU."""
    near, far = _split(), _split(decode=Pool(3, 4))
    assert near.loads.kv_transfer_bytes_per_s[0] == 450e9
    assert far.loads.kv_transfer_bytes_per_s[0] == 50e9


def test_a_kv_transfer_takes_its_bytes_over_the_link():
    """An 8B model with 16-bit KV: 1,000 tokens of 131,072 bytes in four parts over 50 GB/s."""
    catalog = load_catalog(())
    base = dataclasses.replace(SPLIT, model="Llama-3.1-8B", kv="bf16", input_tokens=1024.0, requests=1.0)
    near = predict((base,), catalog, catalog.calibration).rows[0]
    far = predict((dataclasses.replace(base, decode=Pool(3, 4)),), catalog, catalog.calibration).rows[0]
    sent = 1024 * 131072 / 4
    assert far.ttft_ms - near.ttft_ms == pytest.approx(1e3 * sent * (1 / 50e9 - 1 / 450e9), rel=1e-6)


def test_a_run_of_equal_requests_ends_with_the_rest_of_its_last_wave():
    """The document sends 3,000 requests of 1,000 and 1,000 tokens: waves of what fits, then the rest."""
    catalog = load_catalog(())
    run = dataclasses.replace(
        ROW, kind="offline", engine="tensorrt-llm", gpus=2, tp=2, output_tokens=1000.0, requests=0.0,
        source="some perf-overview",
    )  # fmt: skip
    resolved = measured_rows([run], catalog, catalog.calibration)
    fits = int(predict_rows(resolved.prepared.specs(), resolved.loads, catalog.calibration).fitting[0])
    rest = 3000 % fits
    assert fits < 3000
    assert rest
    loops = [dataclasses.replace(run, id=f"C{n}", kind="closed-loop", requests=n) for n in (fits, rest)]
    endless = dataclasses.replace(run, id="other", source="elsewhere")
    full, last, found, other = (
        row.output_tokens_per_s for row in predict((*loops, run, endless), catalog, catalog.calibration).rows
    )
    assert found == pytest.approx(3000 / ((3000 - rest) / full + rest / last))
    assert found < other == pytest.approx(full)


@pytest.mark.parametrize(("ranks", "share"), [(1, 0.0), (4, 0.75)])
def test_a_prompt_waits_for_those_of_the_other_attention_ranks(ranks, share):
    catalog = load_catalog(())
    row = dataclasses.replace(ROW, model="deepseek-r1", gpu="B200", engine="trtllm", gpus=8, tp=8 // ranks)
    row = dataclasses.replace(row, attention_dp=ranks)

    def after(steps):
        path = "engines.tensorrt-llm.closed_loop_rank_wait_steps"
        return predict((row,), catalog, with_values(catalog.calibration, {path: steps})).rows[0]

    waiting, at_once = after(20.0), after(0.0)
    assert waiting.ttft_ms - at_once.ttft_ms == pytest.approx(20.0 * share * at_once.tpot_ms)
    assert waiting.tpot_ms == at_once.tpot_ms
