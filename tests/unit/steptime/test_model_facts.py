"""Tensor counts against the published table and hand calculations."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from planner.loaders.hf_config import read_hf_config
from planner.schema.catalog import Attention, Model, NumberFormat
from planner.steptime.checkpoint import with_checkpoint_note
from planner.steptime.model_facts import attention_params_per_layer, model_facts
from planner.steptime.weights import attention_format, kv_bytes_per_token, weight_bytes, weight_parts

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "tests" / "data" / "hf"
TABLE = ROOT.parent / "shared" / "facts" / "models.csv"
SOURCES = {"s": {"title": "test", "date": "2025-01-01"}}


def model_of(name: str) -> Model:
    return read_hf_config(DATA / name)


def number_format(name: str, bits: str, **more: Any) -> NumberFormat:
    values = {
        "id": name,
        "name": name,
        "sources": SOURCES,
        "weights": True,
        "kv": True,
        "bits": bits,
        "nominal_bits": 4,
        "rate": "bf16",
        "by_default": True,
        "source": "s",
    }
    return NumberFormat.model_validate(values | more)


BF16 = number_format("bf16", "16")
FP8 = number_format("fp8", "8")
INT4 = number_format("int4", "4.25")
MXFP4 = number_format("mxfp4", "4.25", expert_multiple=256, moe_attention_format="bf16")
FORMATS = {entry.id: entry for entry in (BF16, FP8, INT4, MXFP4)}


def test_llama_tensor_by_tensor():
    facts = model_facts(model_of("llama-3-70b"))
    assert facts.embedding_params == facts.lm_head_params == 128256 * 8192
    assert facts.attention_params_per_layer == 8192 * (64 + 16) * 128 + 64 * 128 * 8192
    assert facts.dense_mlp_params_per_layer == 3 * 8192 * 28672
    assert facts.norm_params == 161 * 8192
    assert facts.params_active_excl_input_embedding == 69503033344
    assert facts.attention_layers == 80
    assert facts.decode_attention_flops_per_context_token == 4 * 64 * 128


def test_latent_attention():
    facts = model_facts(model_of("deepseek-v3"))
    assert facts.is_mla
    assert facts.kv_heads == 1
    assert facts.head_dim == 128 + 64
    assert facts.kv_elements_per_token_layer == 576
    assert facts.decode_attention_flops_per_context_token == 2 * 128 * (2 * 512 + 64)
    assert facts.prefill_attention_flops_per_context_token == 2 * 128 * (128 + 64 + 128)
    query = 7168 * 1536 + 1536 + 1536 * 128 * 192
    cached = 7168 * 576 + 512 + 512 * 128 * 256
    assert facts.attention_params_per_layer == query + cached + 128 * 128 * 7168


def test_small_vectors_of_attention():
    shape = {"kind": "gqa", "query_heads": 4, "kv_heads": 2, "head_dim": 3, "full_layers": 1}
    plain = 10 * (4 + 2 + 2) * 3 + 4 * 3 * 10
    extras = {
        "none": ({}, 0),
        "bias": ({"qkv_bias": True, "output_bias": True}, 24 + 10),
        "norm": ({"qk_norm": "per-head-dim"}, 6),
        "norm per head": ({"qk_norm": "per-head"}, 18),
        "sinks": ({"sinks": True}, 4),
        "gate": ({"output_gate": True}, 10 * 12),
    }
    for name, (more, added) in extras.items():
        attention = Attention.model_validate(shape | more)
        assert attention_params_per_layer(attention, 10) == plain + added, name


def test_experts_have_biases_and_a_router():
    facts = model_facts(model_of("gpt-oss-120b"))
    assert facts.expert_params == 3 * 2880 * 2880 + 2 * 2880 + 2880
    assert facts.router_params_per_moe_layer == 128 * 2880 + 128
    # The model card counts 5.13 B active parameters, without the input embedding.
    assert facts.params_active == facts.params_active_excl_input_embedding == 5132849472
    shared = model_facts(model_of("deepseek-v3"))
    assert shared.shared_params_per_moe_layer == 3 * 7168 * 2048


def test_tied_embeddings_count_once():
    facts = model_facts(model_of("gemma-2-27b"))
    assert facts.lm_head_params == 0
    assert facts.params_active_excl_input_embedding == facts.params_total


def test_vision_is_counted_and_never_active():
    facts = model_facts(model_of("gemma-3-27b"))
    assert facts.vision_params == 423060336
    assert facts.params_total - facts.params_active == 423060336


def test_counts_agree_with_the_table_beside_the_repository():
    if not TABLE.exists():
        pytest.skip("no models.csv beside the repository")
    with TABLE.open(newline="", encoding="utf-8") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    names = {
        "llama-2-7b": "Llama-2-7B",
        "mixtral-8x7b": "Mixtral-8x7B",
        "qwen3-next-80b-a3b": "Qwen3-Next-80B-A3B",
        "llama-4-scout": "Llama-4-Scout-17B-16E",
        "kimi-k2": "Kimi-K2",
        "glm-4.5": "GLM-4.5",
        "gpt-oss-120b": "gpt-oss-120b",
        "command-r-plus": "Command-R+ 104B",
        "nemotron-3-nano-30b-a3b": "Nemotron-3-Nano-30B-A3B",
    }
    for folder, name in names.items():
        facts, row = model_facts(model_of(folder)), rows[name]
        assert facts.params_total == int(row["params_total_computed"]), name
        assert facts.params_active == int(row["params_active_computed"]), name
        without = int(row["params_active_excl_input_embedding"])
        assert facts.params_active_excl_input_embedding == without, name


def test_weight_bytes_of_published_checkpoints():
    llama = model_facts(model_of("llama-3-70b"))
    assert weight_bytes(llama, BF16) == 2 * 70553706496
    assert weight_bytes(llama, INT4) / 1e9 == pytest.approx(40.6, abs=0.05)
    deepseek = model_facts(model_of("deepseek-v3"))
    # One byte each, and a second one for embeddings, head, routers and norms.
    assert weight_bytes(deepseek, FP8) / 1e9 == pytest.approx(671.03 + 1.853 + 0.107, abs=0.02)


def test_expert_padding_and_attention_of_another_format():
    facts = model_facts(model_of("gpt-oss-120b"))
    attention = attention_format(facts, MXFP4, FORMATS)
    assert attention is BF16
    assert weight_bytes(facts, MXFP4, attention) / 2**30 == pytest.approx(64.5, abs=0.1)
    bare = MXFP4.model_copy(update={"expert_multiple": 1})
    assert weight_bytes(facts, bare, attention) / 1e9 == pytest.approx(65.2, abs=0.1)
    assert attention_format(model_facts(model_of("llama-3-70b")), MXFP4, FORMATS) is MXFP4


def test_weight_parts_sum_to_all_parameters():
    for folder in sorted(DATA.iterdir()):
        facts = model_facts(read_hf_config(folder))
        assert weight_parts(facts, BF16).total_bytes == 2 * facts.params_total, folder.name


def test_cache_per_token_and_tensor_parallelism():
    llama = model_facts(model_of("llama-3-70b"))
    assert kv_bytes_per_token(llama, 16).all_layers_bytes == 327680
    assert kv_bytes_per_token(llama, 8, tp=8).all_layers_bytes == 20480
    assert kv_bytes_per_token(llama, 8, tp=16).all_layers_bytes == 20480
    latent = model_facts(model_of("deepseek-v3"))
    assert kv_bytes_per_token(latent, 16, tp=8).all_layers_bytes == 70272
    window = kv_bytes_per_token(model_facts(model_of("gemma-3-27b")), 16)
    assert (window.all_layers_bytes, window.growth_past_window_bytes) == (507904, 81920)


def test_a_checkpoint_of_another_size_is_noted():
    model = model_of("llama-2-7b")
    assert with_checkpoint_note(model, 13476831232, FORMATS) == model
    assert with_checkpoint_note(model, None, FORMATS) == model
    assert "+48.4%" in with_checkpoint_note(model, 20_000_000_000, FORMATS).note
