"""Training: its memory is not planned, so keys and names that speak of it are refused as that."""

from __future__ import annotations

import re

_TRAINING = re.compile(
    r"(?:pre|post)?_?train(?:er|ing)?(?:_.*)?|fine_?tun(?:e|ed|ing)|optimi[sz]er(?:_.*)?|gradients?(?:_.*)?"
    r"|epochs|learning_rate|rlhf|sft",
    re.IGNORECASE,
)
TRAINING = "training"
EXPECTED = "what is served: memory of training (gradients, optimizer states) is not planned"


def is_training(word: object) -> bool:
    """Whether a key or a name is a word of training."""
    return isinstance(word, str) and _TRAINING.fullmatch(word.strip().replace("-", "_")) is not None
