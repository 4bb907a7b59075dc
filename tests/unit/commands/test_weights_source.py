"""Which checkpoint a command names."""

import pytest
from export_samples import catalog

from planner.commands.weights_source import draft_weights, is_id, pool_weights
from planner.schema.launch import WeightsSource
from planner.schema.speculation import DraftsTaken

H100, MI300X = (catalog().accelerator(name) for name in ("h100-sxm", "mi300x"))


def source(asked, weights, accelerator=H100):
    return pool_weights(catalog().model(asked), asked, weights, accelerator, catalog())


@pytest.mark.parametrize(
    ("asked", "weights", "name"),
    [
        ("llama-3.3-70b", "bf16", "meta-llama/Llama-3.3-70B-Instruct"),
        ("llama-3.1-70b", "bf16", "meta-llama/Llama-3.1-70B-Instruct"),
        ("llama-3.3-70b", "fp8", "nvidia/Llama-3.3-70B-Instruct-FP8"),
        ("llama-3.3-70b", "nvfp4", "nvidia/Llama-3.3-70B-Instruct-FP4"),
        ("gpt-oss-120b", "mxfp4", "openai/gpt-oss-120b"),
        ("deepseek-v3", "fp8", "deepseek-ai/DeepSeek-V3"),
        # An id is taken at its word, in the format that it stands for.
        ("deepseek-ai/DeepSeek-V3.1", "fp8", "deepseek-ai/DeepSeek-V3.1"),
        ("RedHatAI/Llama-3.3-70B-Instruct-quantized.w4a16", "int4",
         "RedHatAI/Llama-3.3-70B-Instruct-quantized.w4a16"),
    ],
)  # fmt: skip
def test_the_published_one_that_is_most_like_what_was_asked(asked, weights, name):
    assert source(asked, weights) == WeightsSource(name)


def test_checkpoints_of_one_vendor_are_not_for_others():
    assert source("llama-3.3-70b", "fp8", MI300X).name.startswith("RedHatAI/")
    assert source("nemotron-4-340b", "bf16", MI300X).name == "nvidia/Nemotron-4-340B-Instruct"


def test_an_id_in_another_format_is_not_what_the_plan_loads():
    assert source("meta-llama/Llama-3.3-70B-Instruct", "fp8").name == "nvidia/Llama-3.3-70B-Instruct-FP8"


def test_eight_bits_are_made_while_loading_where_nobody_published_them():
    found = source("mistral-7b-v0.1", "fp8")
    assert (found.name, found.quantize) == ("mistralai/Mistral-7B-v0.1", True)


def test_what_nobody_published_goes_into_a_folder():
    found = source("llama-3.2-1b", "nvfp4")
    assert (found.name, found.folder) == ("/models/llama-3.2-1b-nvfp4", True)
    assert "knows no published checkpoint of llama-3.2-1b in nvfp4" in found.note
    mixed = source("llama-3.2-1b", "int4+head=fp8")
    assert mixed.name == "/models/llama-3.2-1b-int4-head-fp8"


def test_a_folder_of_one_s_own_stays_one():
    model = catalog().model("llama-3.2-1b").model_copy(update={"id": "mine"})
    found = pool_weights(model, "../my models/x", "bf16", H100, catalog())
    assert (found.name, found.folder) == ("/models/mine", True)
    assert pool_weights(model, "../x", "fp8", H100, catalog()).quantize
    assert pool_weights(model, "../x", "int4", H100, catalog()).name == "/models/mine-int4"


def test_drafts():
    taken = DraftsTaken(kind="draft-model", tokens=3, acceptance=0.7, tokens_per_step=2.0, draft="qwen3-0.6b")
    assert draft_weights(taken, "qwen3-32b", H100, catalog()) == WeightsSource("Qwen/Qwen3-0.6B")
    head = taken.model_copy(update={"kind": "eagle", "draft": None})
    assert draft_weights(head, "qwen3-32b", H100, catalog()).name == "/models/qwen3-32b-eagle3"


@pytest.mark.parametrize("name", ["a/b", "Qwen/Qwen3-0.6B", "x_1/y.z-2"])
def test_ids(name):
    assert is_id(name)


@pytest.mark.parametrize("name", ["a", "a/b/c", "../x", "./x", "a/$(b)", "a/b c", "a/b\n", "/x", "~/x"])
def test_no_ids(name):
    assert not is_id(name)
