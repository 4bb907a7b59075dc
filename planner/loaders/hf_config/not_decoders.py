"""Architectures that do not write token by token from a KV cache of their own: refused by name."""

from __future__ import annotations

import re

_ENCODER = "an encoder"
BOTH = "an encoder-decoder model"
EXPECTED = "a decoder-only language model; encoders and encoder-decoders are not planned"
NOT_DECODERS = {
    **dict.fromkeys(
        (
            "albert", "bert", "camembert", "clip", "deberta", "deberta-v2", "distilbert", "electra", "ernie",
            "longformer", "modernbert", "mpnet", "nomic_bert", "roberta", "siglip", "vit", "wav2vec2",
            "xlm-roberta",
        ),
        _ENCODER,
    ),
    **dict.fromkeys(
        (
            "bart", "bigbird_pegasus", "blenderbot", "led", "longt5", "m2m_100", "marian", "mbart", "mt5",
            "nllb-moe", "pegasus", "prophetnet", "speech_to_text", "switch_transformers", "t5", "t5gemma",
            "umt5", "whisper",
        ),
        BOTH,
    ),
}  # fmt: skip
"""``model_type`` -> what it is. Source: the model list of the Transformers documentation, by their tasks."""
_NAMES = {name: what for name, what in NOT_DECODERS.items() if re.fullmatch(r"[a-z0-9]+", name)}


def not_a_decoder(name: str) -> str:
    """What the id of a model says that it is, where that is no decoder; empty where it says nothing."""
    words = re.split(r"[^a-z0-9]+", name.lower().rpartition("/")[2])
    return next((_NAMES[word] for word in words if word in _NAMES), "")
