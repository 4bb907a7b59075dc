"""Versions of engines and the generations that the catalog knows."""

from __future__ import annotations

import dataclasses

import pytest

from planner.calibration.generations import generation_of
from planner.calibration.measured_rows import measured_rows
from planner.loaders.catalog import load_catalog
from planner.schema.measurement import Measurement


@pytest.mark.parametrize(
    ("engine", "version", "former"),
    [
        ("TensorRT-LLM", "0.17", "tensorrt-llm-legacy"),
        ("TensorRT-LLM", "1.0 (doc states v1.0 tables)", None),
        ("NIM (TensorRT-LLM)", "NIM 1.8.0", "tensorrt-llm-legacy"),
        ("NIM (TensorRT-LLM)", "NIM 2.0.1", None),
        ("vLLM", "0.6.3", "vllm-legacy"),
        ("vLLM", "v0.11.0", None),
        ("vLLM", "vLLM 0.4.3+rocm614, PyTorch 2.3.0", "vllm-legacy"),
        ("SGLang", "v0.5.3.post3", "sglang-legacy"),
        ("sglang", "0.5.5.post2", "sglang-legacy"),
        ("sglang", "0.5.6", None),
        ("vLLM", "nightly-5b8c30d62b754b57", None),
        ("sglang", "-", None),
    ],
)
def test_a_version_has_its_generation(engine, version, former):
    found = generation_of(load_catalog(()).engine(engine), engine, version)
    assert (found.id if found else None) == former


ROW = Measurement(
    id="S1", where="table.csv:2", kind="closed-loop", model="qwen3-32b", gpu="H100", engine="sglang",
    engine_version="0.5.1", weights="bf16", kv="bf16", tp=4, gpus=4, input_tokens=1024.0,
    output_tokens=256.0, requests=64.0, equal_lengths=True,
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "engine"),
    [
        ({}, "sglang-legacy"),
        ({"engine_version": "0.5.9"}, "sglang"),
        ({"legacy": False}, "sglang"),
        ({"engine_version": "0.5.9", "legacy": True}, "sglang-legacy"),
        ({"engine": "vllm", "engine_version": "0.6.3"}, "vllm-legacy"),
    ],
)
def test_rows_have_the_numbers_of_their_generation(changes, engine):
    """What a note says counts more than the version."""
    catalog = load_catalog(())
    rows = measured_rows([dataclasses.replace(ROW, **changes)], catalog, catalog.calibration)
    assert rows.configurations[0].engine.id == engine


def test_every_generation_has_numbers_in_the_calibration():
    catalog = load_catalog(())
    engines = [catalog.engine(name) for name in ("vllm", "sglang", "tensorrt-llm")]
    former = {generation.id for engine in engines for generation in engine.generations}
    assert former == {"vllm-legacy", "sglang-legacy", "tensorrt-llm-legacy"}
    assert former <= set(catalog.calibration.engines)
