"""Waiting in a pool of replicas by how its router spreads requests.

A pool of n replicas is more than n queues fed at random: round robin thins bursts, a router that looks at
loads keeps short queues short, a shared queue keeps no replica idle while a prompt waits.

Sources: splitting of renewal streams (Whitt, The queueing network analyzer, Bell System Technical Journal 62,
1983, section 4.4); M/M/n (Erlang 1917) with the variability of GI/G/n (Allen, Probability, Statistics and
Queueing Theory, 1990, section 5.3, after Allen and Cunneen); power of two choices (Mitzenmacher, The power
of two choices in randomized load balancing, IEEE TPDS 12, 2001); the shortest queue lies between n queues and
one shared by all (Winston, Optimality of the shortest line discipline, J. Applied Probability 14, 1977).
What a router compares beside answers: `_by_answers`.
Assumes: like replicas; a router that knows the present loads.
Breaks down when: several routers do not know of each other; lengths differ so much that loads counted in
requests say little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.queueing import waiting

FloatArray = NDArray[np.float64]

_SCATTERED = ("random", "cache-aware")
"""Policies that send requests without regard to what replicas have to do."""
MOST_SERVERS = 64
"""Larger pools count as this many: what more of them gain is below a hundredth."""
IN_TURN_SCV = 0.1
"""Of gaps between turns in a large pool: requests come in turn, their work does not."""
LEAST_LOADED_SHARED = 0.35
"""How far the shortest queue of a large pool lies from a queue of its own to a shared one, in logarithms."""
TWO_CHOICES_LEAST_LOADED = 0.6
"""How far power of two lies from random to least loaded, in logarithms."""


@dataclass(frozen=True, eq=False)
class Wait:
    """The wait of prompts in front of a server, per row."""

    probability_fraction: FloatArray
    mean_s: FloatArray
    random_ratio: FloatArray | float = 1.0
    """Of long queues, what is left of those of arrivals at random where a router counts answers; else 1."""

    @property
    def scale_s(self) -> FloatArray:
        """Mean wait of those who wait."""
        return self.mean_s / np.maximum(self.probability_fraction, 1e-12)


def replica_scv_ratio(
    policy: str, replicas: int, arrival_scv_ratio: float, large_pool_ratio: float = IN_TURN_SCV
) -> float:
    """Squared coefficient of variation of the gaps between arrivals at one replica.

    Equations: 1 + (c^2 - 1)/n where each request goes anywhere at random, c^2/n where every n-th comes here.
    A router that compares loads sends the next request here after a departure rather than at random. What
    comes in turn is of unlike size: queues see gaps as uneven as ``large_pool_ratio``, in any pool.
    """
    n = min(replicas, MOST_SERVERS)
    scattered = 1.0 + (arrival_scv_ratio - 1.0) / n
    in_turn = large_pool_ratio * (1.0 - 1.0 / n) + (1.0 - large_pool_ratio) * arrival_scv_ratio / n
    in_turn += large_pool_ratio * arrival_scv_ratio / (n * n)
    if n == 1 or policy in _SCATTERED:
        return scattered
    if policy == "power-of-two":
        w = TWO_CHOICES_LEAST_LOADED
        return (1.0 - w) * scattered + w * in_turn
    return in_turn


def erlang_c_fraction(utilization_fraction: FloatArray, servers: int) -> FloatArray:
    """Share of customers who wait in M/M/n.

    Equation: by Erlang's loss formula, 1/B = sum over j <= n of n (n - 1) ... (n - j + 1) / a^j with
    a = n rho, and C = B / (1 - rho (1 - B)).
    """
    rho = np.clip(np.asarray(utilization_fraction, dtype=np.float64), 1e-12, 1.0)
    falling = np.arange(servers, 0, -1.0).reshape(servers, *(1 for _ in rho.shape))
    with np.errstate(over="ignore"):  # the loss of a pool that is nearly idle is 0
        loss = 1.0 / (1.0 + np.cumprod(falling / (servers * rho), axis=0).sum(axis=0))
    return np.asarray(loss / (1.0 - rho * (1.0 - loss)))


def pool_wait(
    policy: str,
    replicas: int,
    utilization_fraction: FloatArray,
    mean_service_s: FloatArray,
    arrival_scv_ratio: float,
    service_scv_ratio: FloatArray,
    slowed_ratio: FloatArray | None = None,
) -> Wait:
    """The wait of a request in a pool.

    Equations: random and round robin are GI/G/1 with the gaps of `replica_scv_ratio`; a shared queue is
    GI/G/n, E[W] = C(n, rho) S (c_a^2 + c_s^2) / (2 n (1 - rho)); of prompts alone, least loaded lies between
    round robin and the shared queue, the nearer the larger the pool, and power of two between random and
    least loaded; beside answers, least loaded is that of `_by_answers`, and power of two a GI/G/1 with gaps
    between random and in turn. Cache-aware counts as random: what is sticky cannot be moved.

    Args:
        policy: of the router.
        replicas: of the pool.
        utilization_fraction: of a replica.
        mean_service_s: of a request.
        arrival_scv_ratio: squared coefficient of variation of gaps at the router.
        service_scv_ratio: of service times.
        slowed_ratio: how fast answers end while their replica computes prompts, over how fast they end
            otherwise, at most 1; None: replicas hold nothing but prompts.
    """
    given = (utilization_fraction, mean_service_s, arrival_scv_ratio, service_scv_ratio)
    n = min(replicas, MOST_SERVERS)
    single = (*_SCATTERED, "round-robin", *(() if slowed_ratio is None else ("power-of-two",)))
    if n == 1 or policy in single:
        return _alone(policy, n, *given)
    shared = _shared(n, *given)
    if policy == "shared-queue":
        return shared
    if slowed_ratio is not None:
        return _by_answers(n, slowed_ratio, *given)
    near = LEAST_LOADED_SHARED * (1.0 - 1.0 / n)
    least = _between(_alone("round-robin", n, *given), shared, near)
    if policy == "least-loaded":
        return least
    return _between(_alone("random", n, *given), least, TWO_CHOICES_LEAST_LOADED)


def _by_answers(
    replicas: int,
    slowed_ratio: FloatArray,
    utilization_fraction: FloatArray,
    service_s: FloatArray,
    arrival_scv_ratio: float,
    service_scv_ratio: FloatArray,
) -> Wait:
    """Least loaded where most of what is counted are answers being written.

    In a large pool all replicas hold k or k + 1 requests, so who loses one gets the next: arrivals follow
    departures, which are rarer by f, ``slowed_ratio``, while prompts are computed. With a rate f times that
    of idle times and the same load rho, a prompt meets others with probability r = f rho / (f rho + 1 - rho),
    and M/G/1 gives r / (1 - r) = f rho / (1 - rho): f times the wait at random. Who holds k also gets one
    without a departure, half of the time: of the rest, half of those who would meet a prompt meet one. In a
    pool of n a replica takes 1/n of what the whole pool gains, however bursty.

    E[W] = W_c/n + (1 - 1/n) (f W_1 + (1 - f) rho/2 (1 + c_s^2) S/2), W_c alone with the pool's arrivals and
    W_1 with random ones.
    Source: counts in a large pool, Mukherjee, Borst, van Leeuwaarden and Whiting, Asymptotic optimality of
    power-of-d load balancing in large-scale systems, Mathematics of Operations Research 45, 2020.
    Assumes: many answers; few of them decide nothing more than their own end. Nothing in it is fitted.
    """
    given = (service_s, arrival_scv_ratio, service_scv_ratio)
    alone = _alone("random", 1, utilization_fraction, *given)
    even = _alone("random", 1, utilization_fraction, service_s, 1.0, service_scv_ratio)
    busy, own = np.minimum(utilization_fraction, 1.0), 1.0 / replicas
    met = np.where(busy < 1.0, busy * slowed_ratio / (busy * slowed_ratio + 1.0 - busy), 1.0)
    rest_s = service_s * (1.0 + service_scv_ratio) / 2.0
    many_s = slowed_ratio * even.mean_s + (1.0 - slowed_ratio) * busy / 2.0 * rest_s
    return Wait(
        own * alone.probability_fraction + (1.0 - own) * (busy + met) / 2.0,
        own * alone.mean_s + (1.0 - own) * many_s,
        own + (1.0 - own) * slowed_ratio,
    )


def _between(one: Wait, other: Wait, share_fraction: float) -> Wait:
    """Geometric means; without any wait in both there is none between."""
    parts = ((one.probability_fraction, other.probability_fraction), (one.mean_s, other.mean_s))
    return Wait(*(np.power(a, 1.0 - share_fraction) * np.power(b, share_fraction) for a, b in parts))


def _alone(
    policy: str,
    replicas: int,
    utilization_fraction: FloatArray,
    service_s: FloatArray,
    arrival_scv_ratio: float,
    service_scv_ratio: FloatArray,
) -> Wait:
    own = replica_scv_ratio(policy, replicas, arrival_scv_ratio)
    return Wait(
        waiting.wait_probability_fraction(utilization_fraction, own, service_scv_ratio),
        waiting.mean_wait_s(utilization_fraction, service_s, own, service_scv_ratio),
    )


def _shared(
    servers: int,
    utilization_fraction: FloatArray,
    service_s: FloatArray,
    arrival_scv_ratio: float,
    service_scv_ratio: FloatArray,
) -> Wait:
    """Infinite where rho >= 1."""
    waits = erlang_c_fraction(utilization_fraction, servers)
    free = np.where(utilization_fraction < 1.0, 1.0 - utilization_fraction, 1.0)
    mean = waits * service_s * (arrival_scv_ratio + service_scv_ratio) / (2.0 * servers * free)
    return Wait(waits, np.where(utilization_fraction < 1.0, mean, np.inf))
