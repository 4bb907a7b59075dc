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


@pytest.mark.parametrize(
    ("direction", "flags", "seen", "command", "undo"),
    [
        ("raise", "--budget 16384", {"--budget": 20480.0}, "--budget 40960", "--budget 20480"),
        ("raise", "--budget 16384", {"--budget": 8192.0}, "--budget 16384", "--budget 8192"),
        ("raise", "--budget 16384", {"--budget": 256.0}, "--budget 2048", "--budget 256"),
        ("raise", "--no-slow --budget 16384", {"--budget": 32768.0}, "--no-slow", "--slow"),
        ("lower", "--block 16", {"--block": 16.0}, "--block 8", "--block 16"),
        ("lower", "--on, --budget", {"--budget": 32768.0}, "--budget 16384", "--budget 32768"),
        ("enable", "--size 8192, --size", {}, "--size 8192", "without --size"),
        ("disable", "--size 8192, --size", {}, "without --size", "--size as before"),
        ("raise", "smi --limit max", {}, "smi --limit max", "its value of before"),
    ],
)
def test_no_setting_goes_the_other_way_than_what_was_seen(direction, flags, seen, command, undo):
    found = setting("token_budget", direction, flags, None, None, seen)
    assert (found.command, found.undo) == (command, undo)


def test_a_share_that_is_there_already_is_not_set():
    assert setting("memory_share", "raise", "--share 0.92", 0.95, None, {"--share": 0.95}) is None


@pytest.mark.parametrize(
    ("direction", "seen", "command"),
    [("raise", 0.9, "--share 0.95"), ("lower", 0.95, "--share 0.9"), ("lower", 0.5, "--share 0.25")],
)
def test_a_share_stays_one(direction, seen, command):
    found = setting("memory_share", direction, "--share", seen, None, {"--share": seen})
    assert (found.command, found.undo) == (command, f"--share {seen}")


def test_what_no_option_wrote_is_taken_back_without_it():
    found = setting("weights_precision", "lower", "--quantization", "unquantized", None)
    assert (found.command, found.undo) == ("--quantization fp8", "without --quantization")
