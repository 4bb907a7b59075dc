"""Models that read a few of the tokens they keep, through the command line."""

import json

import pytest

from planner.interfaces import cli

LAYERS = {"deepseek-v3.2": 61, "glm-5": 78, "glm-5.2": 21}
"""Layers with an indexer of one key of 128 values a token."""


@pytest.fixture
def asked(capsys):
    def asked(*words):
        assert cli.run([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return asked


@pytest.mark.parametrize("model", LAYERS)
def test_keys_of_the_indexer_are_kept_whole_on_every_rank(asked, model):
    """128 bytes and one scale of 4, whatever the format of the latent of 576 values."""
    layers = {"deepseek-v3.2": 61}.get(model, 78)
    shown = asked("catalog", "show", model)
    keys = LAYERS[model] * 132
    assert shown["index_bytes_per_token"] == keys
    for name, value in (("bf16", 2), ("fp8", 1)):
        assert shown["kv_bytes_per_token"][name]["all_layers"] == layers * 576 * value + keys
        by_rank = shown["kv_bytes_per_token_per_gpu_by_tp"][name]
        assert by_rank["8"]["all_layers"] == by_rank["1"]["all_layers"]


def test_long_contexts_are_read_by_their_keys_alone(asked):
    """Four times the context adds to a step what its keys take, and no more latents than the top 2,048."""

    def step_s(model, isl):
        words = ("--gpu", "h200-sxm", "--tp", "8", "--isl", str(isl), "--osl", "64", "--concurrency", "1")
        return asked("estimate", "--model", model, *words)["decode_step_s"]

    added_s = step_s("deepseek-v3.2", 64_000) - step_s("deepseek-v3.2", 16_000)
    read_s = 48_000 * 61 * 132 / 4.8e12
    assert read_s < added_s < 1.5 * read_s
    assert added_s < 0.5 * (step_s("deepseek-v3", 64_000) - step_s("deepseek-v3", 16_000))
