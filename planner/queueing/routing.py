"""Waiting in a pool of replicas by how its router spreads requests.

A pool of n replicas is more than n queues fed at random: round robin thins bursts, a router that looks at
loads keeps short queues short, a shared queue keeps no replica idle while a prompt waits.

Sources: splitting of renewal streams (Whitt, The queueing network analyzer, Bell System Technical Journal 62,
1983, section 4.4); M/M/n (Erlang 1917) with the variability of GI/G/n (Allen, Probability, Statistics and
Queueing Theory, 1990, section 5.3, after Allen and Cunneen); two choices (Vvedenskaya, Dobrushin and
Karpelevich, Queueing system with selection of the shortest of two queues, Problems of Information
Transmission 32, 1996; Mitzenmacher, The power of two choices in randomized load balancing, IEEE TPDS 12,
2001); the shortest queue lies between n queues and one shared by all (Winston, Optimality of the shortest
line discipline, J. Applied Probability 14, 1977). What a router compares beside answers: `_by_answers`.
Assumes: like replicas; a router that knows the present loads.
Breaks down when: several routers do not know of each other; lengths differ so much that loads counted in
requests say little.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
TWO_CHOICES_LEAST_LOADED = 0.6
"""How far gaps between arrivals under power of two lie from those at random to those under least loaded."""
_MANY_ANSWERS = 7.0
"""Answers of a replica: with fewer, what a router counts are mostly prompts."""
_UNLIKE_SCV = 0.1**2
"""Of answer lengths: from there on ends of answers repeat nothing."""
_MORE_IN_BOTH = 9
"""Terms of `_two_choices`: the queue behind one that is busy with a probability of 0.99."""


@dataclass(frozen=True, eq=False)
class Wait:
    """The wait of prompts in front of a server, per row."""

    probability_fraction: FloatArray
    mean_s: FloatArray
    random_ratio: FloatArray | float = 1.0
    """Of long queues, what is left of those of arrivals at random where a router counts answers; else 1."""
    scv_ratio: FloatArray | float = 1.0
    """Squared coefficient of variation of the wait of those who wait."""

    @property
    def scale_s(self) -> FloatArray:
        """Mean wait of those who wait."""
        return self.mean_s / np.maximum(self.probability_fraction, 1e-12)


def compares_loads(policy: str, replicas: int) -> bool:
    """Whether a router sends requests to where fewer are."""
    return replicas > 1 and policy not in (*_SCATTERED, "round-robin")


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

    Equation: by Erlang's loss formula, 1/B_k = 1 + (k / a) / B_(k-1) with a = n rho and B_0 = 1, and
    C = B_n / (1 - rho (1 - B_n)).
    """
    rho = np.clip(np.asarray(utilization_fraction, dtype=np.float64), 1e-12, 1.0)
    each, inverse = 1.0 / (servers * rho), np.ones_like(rho)
    with np.errstate(over="ignore"):  # the loss of a pool that is nearly idle is 0
        for busy in range(1, servers + 1):
            inverse *= busy * each
            inverse += 1.0
    loss = 1.0 / inverse
    return np.asarray(loss / (1.0 - rho * (1.0 - loss)))


def pool_wait(
    policy: str,
    replicas: int,
    utilization_fraction: FloatArray,
    mean_service_s: FloatArray,
    arrival_scv_ratio: float,
    service_scv_ratio: FloatArray,
    slowed_ratio: FloatArray | None = None,
    service_third_ratio: FloatArray | None = None,
) -> Wait:
    """The wait of a request in a pool.

    Equations: random and round robin are GI/G/1 with the gaps of `replica_scv_ratio`; a shared queue is
    GI/G/n, E[W] = C(n, rho) S (c_a^2 + c_s^2) / (2 n (1 - rho)); of prompts alone see `_shortest` for least
    loaded and `_two_choices` for power of two; beside answers, least loaded is that of `_by_answers`, and
    power of two the geometric mean of random and least loaded. Cache-aware counts as random: what is sticky
    cannot be moved. Who waits for one replica waits for its long services (`waiting.delay_scv_ratio`); who
    waits for the first of n waits for the shortest of n rests, which tells less of them: 1 + (c^2 - 1)/n.

    Args:
        policy: of the router.
        replicas: of the pool.
        utilization_fraction: of a replica.
        mean_service_s: of a request.
        arrival_scv_ratio: squared coefficient of variation of gaps at the router.
        service_scv_ratio: of service times.
        slowed_ratio: how fast answers end while their replica computes prompts, over how fast they end
            otherwise, at most 1; None: replicas hold nothing but prompts.
        service_third_ratio: E[S^3]/E[S]^3; None: waits are taken as exponential.
    """
    n = min(replicas, MOST_SERVERS)
    given = (utilization_fraction, mean_service_s, arrival_scv_ratio, service_scv_ratio)
    found = _pool_wait(policy, n, slowed_ratio, *given)
    if service_third_ratio is None:
        return found
    scv = waiting.delay_scv_ratio(found.probability_fraction, service_scv_ratio, service_third_ratio)
    return replace(found, scv_ratio=1.0 + _own_queue_ratio(policy, n, slowed_ratio) * (scv - 1.0))


def busy_fraction(
    policy: str,
    replicas: int,
    utilization_fraction: FloatArray,
    arrival_scv_ratio: float,
    service_scv_ratio: FloatArray,
) -> FloatArray:
    """Share of prompts that find every replica busy which the router may choose, in a pool of prompts alone.

    Equations: C(n, rho) where an idle replica is found if there is one; both of two choices,
    rho^2 (1 + (2/n) (1 - rho)/(1 + rho)): C(2, rho) for two replicas, rho^2 for many; each times what bursts
    make of the share that waits for one. Else GI/G/1.
    """
    n = min(replicas, MOST_SERVERS)
    own = replica_scv_ratio(policy, n, arrival_scv_ratio, large_pool_ratio=0.0)
    if not compares_loads(policy, n):
        return waiting.wait_probability_fraction(utilization_fraction, own, service_scv_ratio)
    rho = np.clip(utilization_fraction, 1e-12, 1.0)
    if policy == "power-of-two":
        busy = rho * rho * (1.0 + 2.0 / n * (1.0 - rho) / (1.0 + rho))
    else:
        busy = erlang_c_fraction(rho, n)
    return _in_bursts(busy, rho, arrival_scv_ratio, service_scv_ratio)


def meanwhile_ratio(
    policy: str, replicas: int, utilization_fraction: FloatArray, wait: Wait, slowed_ratio: FloatArray
) -> FloatArray | float:
    """Prompts that come to a replica beside answers while it serves one, over those of random times.

    Equations: the share that waits over rho, as who waits comes meanwhile; who takes from a shared queue has
    ended a step, f times as often while it computes prompts: half of them f/(f rho + 1 - rho) times as often,
    as behind a router that counts (`_by_answers`).
    """
    if not compares_loads(policy, replicas):
        return 1.0
    busy = np.clip(utilization_fraction, 1e-12, 1.0)
    come = wait.probability_fraction / busy
    if policy == "shared-queue":
        met = slowed_ratio / (slowed_ratio * busy + np.maximum(1.0 - busy, 1e-12))
        come = np.maximum(come, (1.0 + met) / 2.0)
    return np.minimum(come, 1.0)


def seen_ratio(policy: str, replicas: int, slowed_ratio: FloatArray) -> FloatArray | float:
    """Of long queues of prompts beside answers, what is left of those at random (`_by_answers`)."""
    n = min(replicas, MOST_SERVERS)
    if not compares_loads(policy, n):
        return 1.0
    return 1.0 / n + (1.0 - 1.0 / n) * slowed_ratio


def repeated_fraction(policy: str, running_requests: FloatArray, output_scv_ratio: float) -> FloatArray:
    """Share of arrivals at a replica that repeat those of one stay earlier, behind a router that counts.

    Answers that are all alike end in the order and at the distances in which they came, so a router that
    sends the next request to where one ended repeats the arrivals of the stay before: clumps last. Stays that
    differ by more than the gap between arrivals undo it: with m running, a variation of lengths of 1/m.

    Equation: m^2/(m^2 + 7^2) (1 - (c/0.1)^2) / (1 + (2 m c)^2), and 0 from a variation c of 0.1 on; all three
    numbers by judgment, see ``docs/decisions/0051-answers-of-one-length.md``.
    """
    alike = max(1.0 - output_scv_ratio / _UNLIKE_SCV, 0.0)
    if policy == "shared-queue" or not alike:
        return np.zeros_like(running_requests)
    squares = running_requests * running_requests
    left = alike / (1.0 + 4.0 * squares * output_scv_ratio)
    return np.asarray(left * squares / (squares + _MANY_ANSWERS**2))


def count_variance(policy: str, replicas: int) -> float | None:
    """Variance of the requests at one replica around their mean in the pool; None: loads are not compared.

    By judgment: who joins the least loaded keeps counts within one of each other, two choices within a few.
    With the prompts among them runs show up to 4.1 and 5.7; see
    ``docs/decisions/0049-answers-slow-each-other.md``.
    """
    if not compares_loads(policy, replicas):
        return None
    return 2.0 if policy == "power-of-two" else 1.0


def _own_queue_ratio(policy: str, n: int, slowed_ratio: FloatArray | None) -> FloatArray | float:
    """How far waits are those of a queue of one's own (1) rather than of the shortest of n rests (1/n)."""
    if policy == "shared-queue":
        return 1.0 / n
    if slowed_ratio is None:
        return 1.0
    left = seen_ratio(policy, n, slowed_ratio)
    return (1.0 + left) / 2.0 if policy == "power-of-two" else left


def _pool_wait(
    policy: str,
    n: int,
    slowed_ratio: FloatArray | None,
    utilization_fraction: FloatArray,
    service_s: FloatArray,
    arrival_scv_ratio: float,
    service_scv_ratio: FloatArray,
) -> Wait:
    given = (utilization_fraction, service_s, arrival_scv_ratio, service_scv_ratio)
    if not compares_loads(policy, n):
        return _alone(policy, n, *given)
    if policy == "shared-queue":
        return _shared(n, *given)
    if slowed_ratio is None:
        return _shortest(n, *given) if policy == "least-loaded" else _two_choices(n, *given)
    least = _by_answers(n, slowed_ratio, *given)
    return least if policy == "least-loaded" else _halfway(_alone("random", n, *given), least)


def _halfway(one: Wait, other: Wait) -> Wait:
    """Geometric means."""
    return Wait(
        np.sqrt(one.probability_fraction * other.probability_fraction),
        np.sqrt(one.mean_s * other.mean_s),
        (one.random_ratio + other.random_ratio) / 2.0,
    )


def _shortest(
    replicas: int,
    utilization_fraction: FloatArray,
    service_s: FloatArray,
    arrival_scv_ratio: float,
    service_scv_ratio: FloatArray,
) -> Wait:
    """The shortest of n queues of prompts alone, for prompts that cannot move to another.

    Equation: the wait of a shared queue, and where all are busy (1 - 1/n) of the rest of the prompt in front,
    (1 + c_s^2) S/2: who chose a queue waits for its rest, not for the first of n that ends. Exact for one
    queue; for exponential services first tokens of 2 and 8 replicas come out 3 to 17 % above simulations.
    """
    shared = _shared(replicas, utilization_fraction, service_s, arrival_scv_ratio, service_scv_ratio)
    rest_s = service_s * (1.0 + service_scv_ratio) / 2.0
    more_s = shared.probability_fraction * (1.0 - 1.0 / replicas) * rest_s
    return Wait(shared.probability_fraction, shared.mean_s + more_s)


def _two_choices(
    replicas: int,
    utilization_fraction: FloatArray,
    service_s: FloatArray,
    arrival_scv_ratio: float,
    service_scv_ratio: FloatArray,
) -> Wait:
    """The shorter of two queues of prompts alone, chosen at random.

    Equation: in a large pool i prompts or more are in a share rho^(2^i - 1) of the queues, so E[W] is the
    rest of a prompt times the sum over i >= 2 of rho^(2^i - 2); two replicas are `_shortest`; between, 2/n.
    Source: Vvedenskaya et al. 1996; the rest of a prompt, (c_a^2 + c_s^2) S/2, stands for its mean time:
        for exponential services first tokens of 4 to 32 replicas come out up to 10 % above simulations.
    """
    given = (utilization_fraction, service_s, arrival_scv_ratio, service_scv_ratio)
    two, few = _shortest(2, *given), 2.0 / replicas
    rho = np.minimum(utilization_fraction, 1.0)
    ahead = sum((np.power(rho, 2.0**i - 2.0) for i in range(2, _MORE_IN_BOTH)), np.zeros_like(rho))
    own = replica_scv_ratio("random", replicas, arrival_scv_ratio)
    many_s = ahead * service_s * (own + service_scv_ratio) / 2.0
    busy = busy_fraction("power-of-two", replicas, utilization_fraction, arrival_scv_ratio, service_scv_ratio)
    return Wait(busy, few * two.mean_s + (1.0 - few) * many_s)


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
    waits = _in_bursts(waits, utilization_fraction, arrival_scv_ratio, service_scv_ratio)
    return Wait(waits, np.where(utilization_fraction < 1.0, mean, np.inf))


def _in_bursts(
    busy_fraction_: FloatArray,
    utilization_fraction: FloatArray,
    arrival_scv_ratio: float,
    service_scv_ratio: FloatArray,
) -> FloatArray:
    """Share of requests that find all replicas busy, from that of random arrivals; bursts as for one."""
    if arrival_scv_ratio <= 1.0:
        return np.asarray(busy_fraction_)
    one = waiting.wait_probability_fraction(utilization_fraction, arrival_scv_ratio, service_scv_ratio)
    return np.minimum(busy_fraction_ * one / np.clip(utilization_fraction, 1e-12, 1.0), 1.0)
