"""What a move between two fleets is made of: changes by GPU type, limits, and the way that was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

_NONE = Fraction(0)
Shares = tuple[Fraction, ...]
"""Carried share by workload, from 0 to 1."""
SharesOf = Callable[[Mapping[str, Fraction], Mapping[str, Fraction]], Shares]
"""Shares carried by parts of today's fleet and of the new one, each by GPU type from 0 to 1. GPUs
that stay as they are have 1 in both; all others at most 1 together."""


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
    retasked: int = 0
    """GPUs that stay and get other work; they carry nothing while they change."""
    unit_gpus: int = 1
    """Added and removed in multiples of this number."""

    @property
    def portions(self) -> int:
        """Most portions in which it can be done."""
        moved = max(abs(self.after - self.before), self.retasked)
        return max(1, moved // self.unit_gpus)

    def count(self, done: int, portions: int) -> int:
        """GPUs after so many of the portions."""
        if done == portions:
            return self.after
        moved = abs(self.after - self.before) * done // portions // self.unit_gpus * self.unit_gpus
        return self.before + moved if self.after > self.before else self.before - moved

    def part(self, done: int, portions: int) -> Fraction:
        """How far it has come, from 0 to 1."""
        if self.after == self.before:
            return Fraction(done, portions)
        return Fraction(self.count(done, portions) - self.before, self.after - self.before)


@dataclass(frozen=True)
class Way:
    """States one after the other, with what is least carried on the way into each."""

    changes: tuple[TypeChange, ...]
    gpus: tuple[dict[str, int], ...]
    """By type, in every state; the first is today's."""
    touched: tuple[tuple[int, int], ...]
    """Per step: index of the type, and GPUs that get other work."""
    least: tuple[Fraction, ...]
    """Per step: the least share of any workload's demand, during the step and after it."""
    shortfall: Fraction
    """Of any workload, below what is carried at both ends or asked; 0 keeps the demand."""
    excess: Fraction
    """Of any limit, as a part of it."""
