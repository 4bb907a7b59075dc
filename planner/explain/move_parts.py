"""What a move between two fleets is made of: work that GPUs leave and take up, limits, the way found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

_NONE = Fraction(0)
Shares = tuple[Fraction, ...]
"""Carried share by workload, from 0 to 1."""
Work = tuple[str, str | None, int]
"""What GPUs do: their type, the workload, and GPUs of a replica; workload None: whatever the type does."""
SharesOf = Callable[[Mapping[Work, Fraction], Mapping[Work, Fraction]], Shares]
"""Shares carried by parts of today's fleet and of the new one, each by work from 0 to 1. Work that
stays as it is has 1 in both; all other at most 1 together."""


def any_work(gpu: str) -> Work:
    """All that GPUs of a type do, where nobody tells it apart."""
    return (gpu, None, 0)


def part_of(parts: Mapping[Work, Fraction], work: Work) -> Fraction:
    """The part of some work; that of its type where the type is not told apart."""
    return parts.get(work, parts.get(any_work(work[0]), _NONE))


@dataclass(frozen=True)
class Cap:
    """A limit on GPUs that stand at one time: ``sum per_gpu x GPUs <= most``."""

    id: str
    most: Fraction
    per_gpu: Mapping[str, Fraction]
    unit: str = "GPUs"

    def used(self, gpus: Mapping[str, int]) -> Fraction:
        """What so many GPUs take of it."""
        return sum((self.per_gpu.get(gpu, _NONE) * count for gpu, count in gpus.items()), _NONE)


@dataclass(frozen=True)
class TypeChange:
    """What happens to the GPUs of one type."""

    gpu: str
    before: int
    after: int
    leaves: Mapping[Work, int]
    """GPUs that leave their work, by work; idle ones that go under workload None."""
    comes: Mapping[Work, int]
    """GPUs that take up work, by work."""
    unit_gpus: int = 1
    """Added and removed in multiples of this number."""

    @classmethod
    def of(
        cls,
        gpu: str,
        ends: tuple[int, int],
        old: Mapping[Work, int],
        new: Mapping[Work, int],
        unit_gpus: int = 1,
    ) -> TypeChange:
        """From the GPUs of a type and those at each work, today and in the new fleet.

        Args:
            gpu: the type.
            ends: GPUs today and in the new fleet.
            old: by work, today; the rest is idle.
            new: by work, in the new fleet.
            unit_gpus: added and removed in multiples of it.
        """
        leaves = {w: n - new.get(w, 0) for w, n in sorted(old.items(), key=str) if n > new.get(w, 0)}
        comes = {w: n - old.get(w, 0) for w, n in sorted(new.items(), key=str) if n > old.get(w, 0)}
        idle = [max(0, count - sum(work.values())) for count, work in zip(ends, (old, new), strict=True)]
        if idle[0] > idle[1]:
            leaves[any_work(gpu)] = leaves.get(any_work(gpu), 0) + idle[0] - idle[1]
        elif idle[1] > idle[0]:
            comes[any_work(gpu)] = comes.get(any_work(gpu), 0) + idle[1] - idle[0]
        return cls(gpu, *ends, leaves, comes, unit_gpus)

    @property
    def retasks(self) -> bool:
        """Some GPUs may stay and get other work."""
        return bool(self.leaves and self.comes)

    def count(self, left: int, come: int) -> int:
        """GPUs that stand when so many have left their work and so many have taken up other.

        Where the work of several hours overlaps, the first GPUs that come are those of other hours.
        """
        every = sum(self.leaves.values()), sum(self.comes.values())
        if (left, come) == every:
            return self.after
        overlap = self.before - every[0] + every[1] - self.after
        more = max(0, come - max(0, overlap)) - left
        return max(0, self.before + -(-more // self.unit_gpus) * self.unit_gpus)


@dataclass(frozen=True)
class Way:
    """States one after the other, with what is least carried on the way into each."""

    gpus: tuple[dict[str, int], ...]
    """By type, in every state; the first is today's."""
    touched: tuple[tuple[str, int], ...]
    """Per step: the type, and GPUs that get other work."""
    least: tuple[Fraction, ...]
    """Per step: the least share of any workload's demand, during the step and after it."""
    shortfall: Fraction
    """Of any workload, below what is carried at both ends or asked; 0 keeps the demand."""
    excess: Fraction
    """Of any limit, as a part of it."""
    every_order: bool
    """Every order of single GPUs was looked at, where not everything at once already keeps all."""
