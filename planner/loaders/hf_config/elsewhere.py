"""Formats of checkpoints that none of the planned engines reads, with the engine that does."""

from __future__ import annotations

import re

ELSEWHERE = {
    "exl2": "ExLlamaV2 (TabbyAPI)",
    "exl3": "ExLlamaV3 (TabbyAPI)",
}
"""Method of ``quantization_config`` -> engine. Source: READMEs of turboderp-org/exllamav2 and exllamav3."""
EXPECTED = (
    "a checkpoint that vLLM, SGLang or TensorRT-LLM reads: safetensors in 16 bits, FP8, AWQ, GPTQ, or GGUF"
)


def run_elsewhere(name: str) -> str:
    """Which engine runs the format that a name says, where that is none of the planned; else nothing."""
    words = re.split(r"[^a-z0-9]+", name.lower().rpartition("/")[2])
    return next((f"which {ELSEWHERE[word]} runs" for word in words if word in ELSEWHERE), "")
