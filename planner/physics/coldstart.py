"""How long a new replica takes from nothing to its first request."""

from __future__ import annotations

import numpy as np

from planner.physics.arrays import Floats


def load_s(
    server_weight_bytes: Floats,
    storage_bytes_per_s: Floats,
    gpu_weight_bytes: Floats,
    host_link_bytes_per_s: Floats,
) -> Floats:
    """Reading weights: ``server weights / storage + weights of one GPU / host link``.

    All GPUs of a server share the storage path; each has a host link of its own.

    Assumes: reading and copying do not overlap (the slower case).
    Breaks down when: the page cache already holds the file, or ranks read the same shards repeatedly.
    """
    return server_weight_bytes / storage_bytes_per_s + gpu_weight_bytes / host_link_bytes_per_s


def cold_start_s(container_s: Floats, load_s: Floats, compile_s: Floats) -> Floats:
    """Container and process groups, then weights, then graph capture and compilation: the sum."""
    total: Floats = np.asarray(container_s) + load_s + compile_s
    return total
