"""How an action is written for an engine, and taken back."""

import pytest

from planner.diagnosis.settings import setting


@pytest.mark.parametrize(
    ("knob", "direction", "flags", "present", "target", "command", "undo"),
    [
        ("max_batch", "lower", "--max-num-seqs", 256.0, None, "--max-num-seqs 128", "--max-num-seqs 256"),
        ("max_batch", "raise", "--max-num-seqs", 8.0, None, "--max-num-seqs 16", "--max-num-seqs 8"),
        (
            "kv_precision",
            "set",
            "--kv-cache-dtype",
            "bf16",
            "fp8",
            "--kv-cache-dtype fp8",
            "--kv-cache-dtype bf16",
        ),
        ("cuda_graphs", "enable", "--no-enforce-eager", False, True, "--no-enforce-eager", "--enforce-eager"),
        ("cuda_graphs", "enable", "remove --x", False, True, "remove --x", "--x"),
        (
            "prefix_caching",
            "enable",
            "--enable-prefix-caching",
            False,
            True,
            "--enable-prefix-caching",
            "--no-enable-prefix-caching",
        ),
    ],
)
def test_settings_are_written_with_their_value(knob, direction, flags, present, target, command, undo):
    found = setting(knob, direction, flags, present, target)
    assert (found.command, found.undo) == (command, undo)


def test_no_value_is_made_up():
    assert setting("max_batch", "lower", "--max-num-seqs", None, None) is None
    assert setting("gpu", "set", "--gpu", None, None) is None
