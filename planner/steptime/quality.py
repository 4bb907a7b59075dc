"""What publications say that number formats cost in quality."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from planner.schema.catalog import NumberFormat
from planner.schema.configuration import Configuration
from planner.schema.facts import ModelFacts
from planner.schema.number_format import QualityLoss

NOTHING = Decimal(0)
SIXTEEN_BITS = 16


def weights_losses(model: ModelFacts, weights: NumberFormat) -> tuple[QualityLoss, ...] | None:
    """Published losses of weights; none for the format in which the model is published, and for 16 bit.

    Of a mix those of every part. None: some format in it has no published figure.
    """
    forms = (weights, *weights.own_parts.values())
    if weights.id == model.own_format:
        return ()
    return _all(form.losses_of("weights") for form in forms if form.nominal_bits < SIXTEEN_BITS)


def cache_losses(kv: NumberFormat) -> tuple[QualityLoss, ...] | None:
    """Published losses of a cache; none for 16 bit, None where there is no published figure."""
    return () if kv.nominal_bits >= SIXTEEN_BITS else _all([kv.losses_of("kv")])


def quality_loss(model: ModelFacts, weights: NumberFormat, kv: NumberFormat) -> Decimal | None:
    """The largest published loss of the weights and the largest of the cache, added; None: no figure.

    Source: Sizing LLM Inference for Production, section 7.5: the two do not depend on each other.
    Assumes: figures for one kind of task bound those of others.
    """
    found = [weights_losses(model, weights), cache_losses(kv)]
    if any(losses is None for losses in found):
        return None
    return sum((max((one.loss for one in losses), default=NOTHING) for losses in found if losses), NOTHING)


def quality_losses(items: Sequence[Configuration]) -> list[Decimal | None]:
    """Of configurations of one model; formats are looked at once."""
    known = {(item.weights.id, item.kv.id): item for item in items}
    found = {pair: quality_loss(item.model, item.weights, item.kv) for pair, item in known.items()}
    return [found[item.weights.id, item.kv.id] for item in items]


def exceeds(loss: Decimal | None, most: Decimal | None) -> bool:
    """Whether a loss is above a limit; one without a figure always is."""
    return most is not None and (loss is None or loss > most)


def _all(parts: Iterable[tuple[QualityLoss, ...]]) -> tuple[QualityLoss, ...] | None:
    found = list(parts)
    return tuple(one for losses in found for one in losses) if all(found) else None
