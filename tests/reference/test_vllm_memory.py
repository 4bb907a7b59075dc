"""Memory of vLLM on one H100 against published start-up logs.

Citation: llm-d-incubation/llm-d-planner, docs/empirical-vllm-memory-results.md (GiB of one GPU: weights,
activations, KV left; H100 with 81,559 MiB reported, context 16,000).
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from planner.loaders.catalog import load_catalog
from planner.schema.configuration import Configuration
from planner.steptime.build import build_specs
from planner.steptime.memory import max_sequences, memory_account
from planner.steptime.model_facts import model_facts
from planner.steptime.weights import attention_format

ZERO = np.array([0])
GIB = 2.0**30
CONTEXT_TOKENS = 16_000

PUBLISHED = [
    # The three parts of gpt-oss sum to 95 % of 79.18 GiB; those of the Llamas to 90 %.
    ("llama-3.1-8b", "bf16", 1, "0.90", 14.99, 51.38),
    ("llama-3.3-70b", "fp8", 2, "0.90", 33.88, 32.00),
    ("gpt-oss-120b", "mxfp4", 1, "0.95", 64.38, 3.33),
    ("mistral-small-3.2-24b", "bf16", 1, "0.95", 44.76, 28.20),
]


@pytest.fixture(scope="module")
def catalog():
    return load_catalog()


def specs_of(catalog, model: str, form: str, tp: int, utilization: str):
    formats = {entry.id: entry for entry in catalog.number_formats}
    facts, engine = model_facts(catalog.model(model)), catalog.engine("vllm")
    memory = engine.memory.model_copy(update={"utilization": Decimal(utilization)})
    configuration = Configuration(
        model=facts,
        accelerator=catalog.accelerator("h100-sxm"),
        weights=formats[form],
        attention_weights=attention_format(facts, formats[form], formats),
        kv=formats["bf16"],
        engine=engine.model_copy(update={"memory": memory}),
        calibration=catalog.find("calibration", "reference"),
        tp=tp,
        batched_tokens=engine.limits.batched_tokens,
    )
    return build_specs([configuration])


@pytest.mark.parametrize(("model", "form", "tp", "utilization", "weights_gib", "kv_gib"), PUBLISHED)
def test_start_up_logs(catalog, model, form, tp, utilization, weights_gib, kv_gib):
    specs = specs_of(catalog, model, form, tp, utilization)
    account = memory_account(specs, ZERO)
    assert account.weights_bytes[0] / GIB == pytest.approx(weights_gib, rel=0.03)
    assert account.kv_cache_bytes[0] / GIB == pytest.approx(kv_gib, abs=max(0.1 * kv_gib, 1.5))
    assert account.fits[0]
    assert max_sequences(specs, ZERO, account.kv_cache_bytes, CONTEXT_TOKENS)[0] >= 1


def test_llama_70b_in_fp8_does_not_start_on_one_gpu(catalog):
    specs = specs_of(catalog, "llama-3.3-70b", "fp8", 1, "0.90")
    account = memory_account(specs, ZERO)
    assert max_sequences(specs, ZERO, account.kv_cache_bytes, CONTEXT_TOKENS)[0] == 0
