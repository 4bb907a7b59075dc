"""What a prefix cache still holds when a request comes back to it."""

from __future__ import annotations

import numpy as np

from planner.physics.arrays import Floats


def gathered_fraction(cache_ranks: Floats, cache_bytes: Floats, set_bytes: Floats) -> Floats:
    """Share of the hits of a single full cache that is left when equal prefixes go to the same cache.

    Equation: ``min(1, n C / W)``: n caches of C bytes hold the working set of W bytes once between them.

    Source: hit ratio of a least-recently-used cache of equally popular items, C / W (Che, Tung and Wang,
    "Hierarchical web caching systems", 2002, whose characteristic time cancels).
    Assumes: prefixes are equally popular and asked for at random; popular ones among rare ones do better.
    Breaks down when: prefixes are asked for in a fixed cycle that is longer than the cache.
    """
    return np.asarray(np.minimum(1.0, cache_ranks * np.asarray(cache_bytes) / set_bytes))


def scattered_fraction(
    cache_ranks: Floats, cache_bytes: Floats, set_bytes: Floats, reuse_requests: float = 0.0
) -> Floats:
    """Share of the hits of a single full cache that is left when requests go to n caches in turn.

    A prefix that is asked for x times while it stays (Poisson) is found by a single cache with probability
    ``1 - exp(-x)``. Each of n caches sees one part in n of these requests and finds ``1 - exp(-x / n)``.
    Equation: ``min(r, C / W)`` with ``r = (1 - exp(-x / n)) / (1 - exp(-x))``; ``r = 1 / n`` for x = 0. Every
    cache needs room for its own copies, r W.

    Source: as `gathered_fraction`; one part in n is the figure of "Sizing LLM Inference for Production", 7.3.
    Assumes: as `gathered_fraction`; the time that a prefix stays is that of the working set.
    Breaks down when: nothing but room ends a stay. Then a stay lasts longer in each of n caches, all find
        the same share, and ``reuse_requests`` should be large.
    """
    ranks = np.asarray(cache_ranks, dtype=np.float64)
    if reuse_requests > 0.0:
        left = np.expm1(-reuse_requests / ranks) / np.expm1(-reuse_requests)
    else:
        left = 1.0 / ranks
    return np.asarray(np.minimum(left, np.asarray(cache_bytes) / set_bytes))


def overcommitted_sequences(pool_bytes: Floats, mean_bytes: Floats, spread_bytes: Floats) -> Floats:
    """Sequences that run on average when a cache is kept full and what does not fit is set aside.

    The need of B sequences is about normal, B m with variance B s^2. Admitting B = K / m keeps the pool K
    full half of the time; the rest lacks ``s sqrt(B) / sqrt(2 pi)`` on average (mean of a normal variable
    below its mean), and the sequences that hold it wait outside.
    Equation: ``(K - s sqrt(K / m) / sqrt(2 pi)) / m``, 0 at least.

    Assumes: many sequences of independent lengths; setting aside and fetching back take no time of a step.
    Breaks down when: only a few sequences fit.
    """
    pool = np.asarray(pool_bytes, dtype=np.float64)
    missing = spread_bytes * np.sqrt(pool / mean_bytes) / np.sqrt(2.0 * np.pi)
    return np.asarray(np.maximum((pool - missing) / mean_bytes, 0.0))
