"""The documents of catalog entries: fields as published, numbers by hand."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from planner.loaders.hf_config import read_hf_config
from planner.schema.catalog import Accelerator, NumberFormat
from planner.steptime.catalog_facts import accelerator_document, model_document

DATA = Path(__file__).resolve().parents[2] / "data" / "hf"
SOURCES = {"s": {"title": "data sheet", "date": "2025-01-01"}}


def number_format(name: str, bits: str, kv: bool, **more: Any) -> NumberFormat:
    values = {"id": name, "name": name, "sources": SOURCES, "weights": True, "kv": kv, "bits": bits}
    values |= {"nominal_bits": 4, "rate": "bf16", "by_default": True, "source": "s"}
    return NumberFormat.model_validate(values | more)


FORMATS = {
    "bf16": number_format("bf16", "16", True),
    "fp8": number_format("fp8", "8", True),
    "int4": number_format("int4", "4.25", False),
}


def test_model_document():
    document = model_document(read_hf_config(DATA / "llama-3-70b"), FORMATS)
    assert json.loads(json.dumps(document)) == document
    assert document["id"] == "llama-3-70b"
    assert document["kind"] == "model"
    assert document["params_total"] == document["params_active"] == 70553706496
    assert document["params_active_excl_input_embedding"] == 69503033344
    assert document["kv_bytes_per_token"] == {
        "bf16": {"all_layers": 327680, "growth_past_window": 327680},
        "fp8": {"all_layers": 163840, "growth_past_window": 163840},
    }
    assert document["kv_bytes_per_token_per_gpu_by_tp"]["bf16"]["16"]["all_layers"] == 40960
    assert document["state_bytes_per_sequence"] == 0
    assert document["weight_bytes"]["bf16"] == 141107412992
    assert document["weight_bytes"]["int4"] == pytest.approx(40.57e9, rel=1e-3)
    assert set(document["sources"]) == {"config"}


def test_model_document_of_a_hybrid():
    document = model_document(read_hf_config(DATA / "qwen3-next-80b-a3b"), FORMATS)
    assert document["state_bytes_per_sequence"] == 77266944
    assert document["kv_bytes_per_token"]["bf16"]["all_layers"] == 24576


def test_accelerator_document():
    card = Accelerator.model_validate(
        {
            "id": "h100-80gb-sxm",
            "name": "H100-80GB-SXM",
            "sources": SOURCES,
            "vendor": "NVIDIA",
            "architecture": "hopper",
            "memory": {
                "reported": "81559 MiB",
                "marketing": "80 GB",
                "bandwidth": "3.35 TB/s",
                "source": "s",
            },
            "compute": {"bf16": "989.4 TFLOPS", "fp8": "1978.9 TFLOPS", "native": ["fp8"], "source": "s"},
            "link": {"kind": "nvlink", "one_way": "450 GB/s", "domain": 8, "source": "s"},
            "host": {"node_size": 8, "pcie_one_way": "63 GB/s", "source": "s"},
            "power": {"tdp": "700 W", "source": "s"},
        }
    )
    document = accelerator_document(card)
    assert json.loads(json.dumps(document)) == document
    assert document["memory_bytes"] == 81559 * 2**20
    assert document["memory_bandwidth_bytes_per_s"] == 3.35e12
    assert document["dense_flops_per_s"] == {"bf16": 989.4e12, "fp8": 1978.9e12}
    assert document["ridge_flops_per_byte"]["bf16"] == pytest.approx(295.34, abs=0.01)
    assert document["native"] == ["fp8"]
    assert document["link"]["bytes_per_s_one_way"] == 450e9
    assert document["link"]["domain"] == 8
    assert document["power_w"] == 700
    assert card.memory.marketing == Decimal(80_000_000_000)
