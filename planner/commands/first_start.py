"""How long a server takes to its first token where weights first come over the network."""

from __future__ import annotations

from planner.commands.pool_facts import PoolFacts
from planner.schema.launch import WeightsSource

HUB = "object-store"
"""The storage of the catalog that weights with a hub's id come from."""
CLAIM = "network-volume"
"""The one that a volume claim of many readers stands on."""
_WIDER = 2
"""Bytes of a 16-bit checkpoint over those that are kept of it in eight bits."""


def start_s(facts: PoolFacts, weights: WeightsSource) -> float | None:
    """The planned cold start, and before it the way of the weights to the server.

    Equation: cold start + weights of the replica / read rate of their storage.
    Where the workload names a storage the planned cold start holds its way already.
    Assumes: every server fetches the whole checkpoint, and reads it only then (the slower case).
    """
    pool = facts.pool
    planned_s, memory = pool.cold_start_s, pool.memory_bytes
    if planned_s is None or memory is None or facts.workload.storage is not None:
        return planned_s
    storage = facts.catalog.storage(CLAIM if weights.folder else HUB)
    assert storage is not None, "a storage of the catalog, which overlays replace and do not remove"
    fetched_bytes = memory.weights * pool.gpus_per_replica * (_WIDER if weights.quantize else 1)
    return planned_s + fetched_bytes / float(storage.read)
