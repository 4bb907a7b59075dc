"""Which checkpoint a plan loads, and what the 16-bit one would cost."""

from __future__ import annotations

from planner.schema.base import Noun


class CheckpointTaken(Noun):
    """Weights of one format that some pools of a workload load."""

    workload: str
    model: str
    """Catalog id, or the id of the configuration that was read."""
    weights: str
    ids: tuple[str, ...] = ()
    """Published checkpoints of the model in this format; none is known: it has to be made."""
    sixteen_bit_ids: tuple[str, ...] = ()
    """The same in 16 bit."""
    sixteen_bit_cost_usd_per_hour: float | None = None
    """Of the cheapest plan whose weights of this workload all have 16 bits; null where there is none, where
    it was not asked (several hours), or where these weights are it."""
    text: str
