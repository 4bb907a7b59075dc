"""Counted weights against the bytes of the checkpoint that lies beside a configuration."""

from __future__ import annotations

from collections.abc import Mapping

from planner.schema.catalog import Model, NumberFormat
from planner.steptime.model_facts import model_facts
from planner.steptime.weights import attention_format, weight_bytes

TOLERANCE = 0.02
"""Index files round, and some checkpoints carry buffers: a larger gap is worth a note."""


def with_checkpoint_note(
    model: Model, checkpoint_bytes: int | None, formats: Mapping[str, NumberFormat]
) -> Model:
    """The same model, with a note where its checkpoint is more than 2 % off the counted weights.

    Expert padding is a matter of kernels, not of files, so it does not count here.
    """
    native = formats.get(model.native_format)
    if checkpoint_bytes is None or native is None:
        return model
    facts = model_facts(model)
    stored = native.model_copy(update={"expert_multiple": 1})
    counted = weight_bytes(facts, stored, attention_format(facts, stored, formats))
    gap = checkpoint_bytes / counted - 1.0
    if abs(gap) <= TOLERANCE:
        return model
    text = (
        f"The checkpoint holds {checkpoint_bytes / 1e9:.1f} GB, {gap:+.1%} against the "
        f"{counted / 1e9:.1f} GB counted from the configuration in {native.name}."
    )
    return model.model_copy(update={"note": f"{model.note} {text}".strip()})
