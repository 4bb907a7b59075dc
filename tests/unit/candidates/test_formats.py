"""Which formats are tried."""

import pytest

from planner.candidates.attributes import weights_native
from planner.candidates.formats import kv_formats, weight_formats
from planner.loaders.catalog import load_catalog

CATALOG = load_catalog()


def weights(model, named=None, everything=False):
    found = weight_formats(
        named, CATALOG.model(model), CATALOG.number_formats, CATALOG.number_format, everything
    )
    return {item.format.id: item.allowed for item in found}


def kv(named=None, everything=False):
    found = kv_formats(named, CATALOG.number_formats, CATALOG.number_format, everything)
    return {item.format.id: item.allowed for item in found}


@pytest.mark.parametrize(
    ("model", "tried"),
    [
        ("llama-3.3-70b", ["bf16", "fp8"]),  # published in 16 bit
        ("deepseek-r1", ["fp8"]),  # published in FP8: wider weights would add nothing
        ("gpt-oss-120b", ["mxfp4"]),  # published in 4 bit: its own format although it is not named
    ],
)
def test_by_default_the_native_format_and_8_bits(model, tried):
    assert list(weights(model)) == tried
    assert all(weights(model).values())


def test_named_formats_replace_the_default_aliases_included():
    assert list(weights("llama-3.3-70b", ("awq", "fp16"))) == ["bf16", "awq"]
    assert list(weights("gpt-oss-120b", ("fp8",))) == ["fp8"]


def test_everything_lists_the_others_as_not_allowed():
    found = weights("llama-3.3-70b", None, everything=True)
    assert {name for name, allowed in found.items() if allowed} == {"bf16", "fp8"}
    assert {"int4", "nvfp4"} <= set(found)


def test_formats_that_others_stand_for_are_tried_only_by_name():
    found = weights("llama-3.3-70b", None, everything=True)
    assert not {"awq", "gptq", "gguf-q4-k-m", "int4-experts"} & set(found)
    assert list(weights("llama-3.3-70b", ("Q4_K_M", "gptq"))) == ["gguf-q4-k-m", "gptq"]
    assert "int8" not in kv(None, everything=True)
    assert list(kv(("int8",))) == ["int8"]


def test_a_checkpoint_in_a_format_is_tried_in_it():
    assert list(weights("RedHatAI/Llama-3.3-70B-Instruct-quantized.w4a16")) == ["int4"]
    assert list(weights("someone/Llama-3.3-70B-Instruct-AWQ")) == ["awq"]
    assert list(weights("moonshotai/Kimi-K2.5")) == ["int4-experts"]


def test_a_mix_by_part_is_a_format_of_its_own():
    assert list(weights("qwen3-30b-a3b", ("fp8", "int4+head=fp8 + attention = fp8"))) == [
        "fp8",
        "int4+attention=fp8+head=fp8",
    ]
    for wrong in ("int4+lm_head=fp8", "int4+head=nope", "nope+head=fp8", "int4+head=int4-experts"):
        assert CATALOG.number_format(wrong) is None, wrong


def test_the_cache_is_kept_in_16_or_8_bits_unless_named():
    assert list(kv()) == ["bf16", "fp8"]
    assert list(kv(("nvfp4",))) == ["nvfp4"]
    assert kv(("fp8",), everything=True) == {"bf16": False, "nvfp4": False, "fp8": True}


@pytest.mark.parametrize(
    ("gpu", "form", "native"),
    [
        ("a100-sxm", "bf16", True),
        ("a100-sxm", "fp8", False),  # stored in 8 bits, multiplied in 16
        ("h100-sxm", "fp8", True),
        ("h100-sxm", "nvfp4", False),
        ("b200", "nvfp4", True),
        ("b200", "int4", False),  # unpacked to 16 bit everywhere
        ("a100-sxm", "int8", True),
    ],
)
def test_the_matrix_units_of_some_cards_take_a_format(gpu, form, native):
    class Item:
        accelerator = CATALOG.accelerator(gpu)
        weights = CATALOG.number_format(form)

    assert weights_native(Item) is native
