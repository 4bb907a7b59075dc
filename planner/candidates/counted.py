"""The best of several candidates for every number of replicas, where they hold for some numbers only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.schema.evaluation import Variants


@dataclass(frozen=True)
class Ranged:
    """A candidate for a range of numbers of replicas of its pool."""

    candidate: int
    first: int = 1
    last: int | None = None
    """None: no end."""
    part: str = ""
    """Tells ranges apart where one candidate is the best in several."""


def best_by_number(variants: Variants, ranked: Sequence[int], lost: int) -> list[Ranged]:
    """The best candidate for each number of replicas; neighbouring numbers with the same one are one range.

    Args:
        variants: numbers for which candidates hold.
        ranked: candidates for one room, the best first, each once.
        lost: replicas that may be lost; where hits rise with the number, those that are left count.
    """
    known = [_range(variants, candidate, lost) for candidate in ranked]
    starts = sorted({first for first, _ in known} | {last + 1 for _, last in known if last is not None})
    found: list[Ranged] = []
    for place, first in enumerate(starts):
        last = starts[place + 1] - 1 if place + 1 < len(starts) else None
        best = next((c for c, one in zip(ranked, known, strict=True) if _holds(one, first)), None)
        if best is None:
            continue
        if found and found[-1].candidate == best and found[-1].last == first - 1:
            found[-1] = Ranged(best, found[-1].first, last, found[-1].part)
        else:
            again = any(one.candidate == best for one in found)
            found.append(Ranged(best, first, last, f" from{first}" if again else ""))
    return found


def _range(variants: Variants, candidate: int, lost: int) -> tuple[int, int | None]:
    """First and last number of replicas bought for which a candidate holds."""
    first, last = int(variants.replicas_from[candidate]), int(variants.replicas_to[candidate])
    more = lost if variants.after_losses else 0
    return first + (more if first > 1 else 0), last + more if last else None


def _holds(one: tuple[int, int | None], number: int) -> bool:
    return one[0] <= number and (one[1] is None or number <= one[1])
