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
_ROUNDING = 1e-9
_ROUNDED_UNITS = 200
"""Units up to which it counts that whole GPUs are bought of which a part carries nothing."""


@dataclass(frozen=True)
class Offer:
    """Of a line: GPUs that may be used, and what each of them costs an hour."""

    line: Line
    most: float
    usd_per_h: float
    share: Fraction | None = None
    """Of all GPUs of the kind, at most; None: any."""
    alone: bool = False
    """Replicas on its GPUs use none of other lines."""

    def usd(self, gpus: float) -> float:
        """Of so many GPUs in use; where a part of them carries nothing, whole ones are bought."""
        if not self.line.reserve:
            return gpus * self.usd_per_h
        carries = float(1 - self.line.reserve)
        return math.ceil(gpus / carries - _ROUNDING) * carries * self.usd_per_h


def offers_of(problem: FleetProblem, stands: set[Stand]) -> list[Offer]:
    """The lines of these stands; a share that carries nothing is paid with the rest.

    What part of its type a line may be is left out where the type is sold elsewhere too.
    """
    caps, found = Caps(problem), []
    lines = [line for line in problem.lines if (line.host, line.site) in stands]
    alike = [line for line in problem.lines if line.gpu in {mine.gpu for mine in lines}]
    for line in lines:
        cap, left = caps.lines[line.id], float(1 - line.reserve)
        price = float(line.usd_per_gpu_h) if problem.limits.objective == "cost" else 1.0
        most = 0.0 if line.max_share == 0 else INF if cap is None else math.floor(cap) * left
        share = line.max_share if lines == alike else None
        alone = sum((line.host, line.site) == (mine.host, mine.site) for mine in lines) == 1
        found.append(Offer(line, most, price / left, share, alone))
    return found


def share_of(offers: Sequence[Offer]) -> Fraction:
    """What part of the GPUs in use the lines with a share may be together; 1 where there are none.

    Equation: (1-r) s / ((1-r) s + (1-q) (1-s)), for shares add up to s, and of what is bought a part r of
    these lines and q of the others carries nothing; where these differ, those with which it is most.
    """
    shared = [offer for offer in offers if offer.share is not None]
    if not shared:
        return Fraction(1)
    share = min(sum((offer.share or Fraction(0) for offer in shared), Fraction(0)), Fraction(1))
    use = share * (1 - min(offer.line.reserve for offer in shared))
    others = [1 - offer.line.reserve for offer in offers if offer.share is None]
    return use / (use + (1 - share) * min(others, default=Fraction(1)))


def most_shared(offers: Sequence[Offer], gpus: Floats) -> Floats:
    """By GPUs used, how many may be of lines with a share: more of these needs more of the others too."""
    share = share_of(offers)
    if _carry_in_part(offers):
        return np.asarray(gpus * float(share) * (1 + _ROUNDING))
    return np.asarray(np.ceil(gpus) * share.numerator // share.denominator)


def _carry_in_part(offers: Sequence[Offer]) -> bool:
    """A part of the GPUs of some line carries nothing, so that what is used need not be whole GPUs."""
    return any(offer.line.reserve for offer in offers)


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
    prices = [own.get(index, offer.usd_per_h) for index, offer in enumerate(offers)]
    odd = next((index for index, offer in enumerate(offers) if offer.line.reserve), None)
    if odd is None or odd in own or most > _ROUNDED_UNITS or not _alone_odd(offers, odd):
        gpus = np.arange(most + 1) / units
        return _of_gpus(offers, prices, gpus if _carry_in_part(offers) else np.ceil(gpus), own)
    return _beside_rounded(offers, odd, prices, units, most, own)


def _alone_odd(offers: Sequence[Offer], odd: int) -> bool:
    """No other line carries in part, is a share at most, or serves the same replicas."""
    return offers[odd].alone and not any(
        offer.line.reserve or offer.share is not None for index, offer in enumerate(offers) if index != odd
    )


def _of_gpus(
    offers: Sequence[Offer], prices: Sequence[float], gpus: Floats, own: Mapping[int, float]
) -> tuple[Floats, dict[int, Floats]]:
    """The same for so many GPUs, by the cheapest offers."""
    if not _carry_in_part(offers):
        step = math.gcd(*(offer.line.unit_gpus for offer in offers)) or 1
        gpus = np.ceil(gpus / step) * step
    cost, left, taken = np.zeros(len(gpus)), gpus.copy(), {}
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


def _beside_rounded(
    offers: Sequence[Offer],
    odd: int,
    prices: Sequence[float],
    units: int,
    most: int,
    own: Mapping[int, float],
) -> tuple[Floats, dict[int, Floats]]:
    """The same where a part of the GPUs of one offer carries nothing: of it whole GPUs are bought.

    What it carries is tried unit by unit; the others carry the rest, and are as many as its share asks for.
    """
    offer, rest = offers[odd], [index for index in range(len(offers)) if index != odd]
    left, share = 1 - offer.line.reserve, offer.share or Fraction(1)
    by = np.arange(most + 1)
    unit = units * left.numerator * offer.line.unit_gpus
    bought = -(-by * left.denominator // unit) * offer.line.unit_gpus
    beside = -(-bought * (share.denominator - share.numerator) // share.numerator)
    mine = {at: own[index] for at, index in enumerate(rest) if index in own}
    others, taken = _of_gpus(
        [offers[index] for index in rest], [prices[index] for index in rest],
        np.arange(math.ceil(most / units) + 1.0), mine,
    )  # fmt: skip
    # [units used, of them of this offer]
    gpus = np.maximum(-(-(by[:, None] - by) // units), beside)
    fits = (by <= by[:, None]) & (gpus <= -(-by[:, None] // units))
    fits &= bought * float(left) <= offer.most + _ROUNDING
    usd = prices[odd] * float(left) * bought + others[np.where(fits, gpus, 0)]
    best = np.argmin(np.where(fits, usd, np.inf), axis=1)
    gpus = gpus[by, best]
    return usd[by, best], {rest[at]: part[gpus] for at, part in taken.items()}


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


def idle_usd(gpus: float, free: Sequence[tuple[float, float]]) -> float:
    """Of GPUs bought only because others may be a share at most; ``free``: prices and what is left."""
    paid = 0.0
    for usd_per_h, most in sorted(free):
        part = min(gpus, most)
        paid, gpus = paid + part * usd_per_h, gpus - part
    return paid + (gpus * BEYOND if gpus > _ROUNDING else 0.0)
