"""What lines offer of one kind of GPU, and the least that a number of GPUs costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from planner.schema.fleet import FleetProblem, Line
from planner.solver.bounds import Caps
from planner.solver.mip.hours.points import Points
from planner.solver.mip.mip import INF, Floats
from planner.solver.mip.prepared import Stand

BEYOND = 1e12
"""USD/h of a GPU that cannot be had."""


@dataclass(frozen=True)
class Offer:
    """Of a line: GPUs that may be used, and what each of them costs an hour."""

    line: Line
    most: float
    usd_per_h: float
    share: Fraction | None = None
    """Of all GPUs of the kind, at most; None: any."""


def offers_of(problem: FleetProblem, stands: set[Stand]) -> list[Offer]:
    """The lines of these stands; a share that carries nothing is paid with the rest.

    What part of its type a line may be is left out where the type is sold elsewhere too.
    """
    caps, found = Caps(problem), []
    lines = [line for line in problem.lines if (line.host, line.site) in stands]
    alike = [line for line in problem.lines if line.gpu in {mine.gpu for mine in lines}]
    alone = lines == alike and not any(line.reserve for line in lines)
    for line in lines:
        cap, left = caps.lines[line.id], float(1 - line.reserve)
        price = float(line.usd_per_gpu_h) if problem.limits.objective == "cost" else 1.0
        most = INF if cap is None else math.floor(cap) * left
        found.append(Offer(line, most, price / left, line.max_share if alone else None))
    return found


def share_of(offers: Sequence[Offer]) -> Fraction:
    """What part of a kind the lines with a share may be together; 1 where there are none."""
    shares = [offer.share for offer in offers if offer.share is not None]
    return min(sum(shares, Fraction(0)), Fraction(1)) if shares else Fraction(1)


def most_shared(offers: Sequence[Offer], gpus: Floats) -> Floats:
    """By GPUs used, how many may be of lines with a share: more of these needs more of the others too."""
    share = share_of(offers)
    return np.asarray(np.ceil(gpus) * share.numerator // share.denominator)


def least_cost(
    offers: Sequence[Offer], units: int, most: int, own: Mapping[int, float] = MappingProxyType({})
) -> tuple[Floats, dict[int, Floats]]:
    """By units used from 0 to ``most``: a lower bound of the cost of an hour, and what is taken of lines.

    Args:
        offers: of one kind of GPU.
        units: parts in which a GPU is counted.
        most: units at most.
        own: prices of this hour by number of the offer, where they are not those of the line; what is taken
            of these is told.
    """
    whole = [offer.line.unit_gpus for offer in offers if not offer.line.reserve]
    step = math.gcd(*whole) if len(whole) == len(offers) and offers else 1
    gpus = np.ceil(np.ceil(np.arange(most + 1) / units) / step) * step
    prices = [own.get(index, offer.usd_per_h) for index, offer in enumerate(offers)]
    cost, left, taken = np.zeros(most + 1), gpus.copy(), {}
    shared = most_shared(offers, gpus)
    for index in sorted(range(len(offers)), key=lambda i: (prices[i], i)):
        part = np.minimum(left, offers[index].most)
        if offers[index].share is not None:
            part = np.minimum(part, shared)
            shared = shared - part
        cost, left = cost + part * prices[index], left - part
        if index in own:
            taken[index] = part
    return cost + np.where(left > 0, left * BEYOND, 0.0), taken


def with_reserved(offers: Sequence[Offer], units: int, used: Points) -> list[Offer]:
    """The offers of single hours when as many GPUs are reserved as pay for these uses.

    Args:
        offers: of one kind of GPU.
        units: parts in which a GPU is counted.
        used: [hour], units of it.
    """
    found = list(offers)
    most = int(used.max(initial=0))
    for index in sorted(range(len(found)), key=lambda i: found[i].usd_per_h):
        offer = found[index]
        if offer.line.term != "reserved":
            continue
        best = (math.inf, offer)
        step = offer.line.unit_gpus
        for gpus in range(0, int(min(offer.most, math.ceil(most / units) + step - 1)) + 1, step):
            # What is still to be decided costs what an hour of it costs.
            held = replace(offer, most=float(gpus), usd_per_h=0.0)
            cost = least_cost([*found[:index], held, *found[index + 1 :]], units, most)[0][used].sum()
            best = min(best, (cost + gpus * offer.usd_per_h * len(used), held), key=lambda one: one[0])
        found[index] = best[1]
    return [offer for offer in found if offer.most]
