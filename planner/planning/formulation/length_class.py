"""The length classes of a workload: names that a gateway can follow, and exact shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from planner.performance.prompts import Prompts
from planner.planning.formulation.tokens import RequestTokens
from planner.schema.candidates import FloatArray
from planner.schema.lengths import LengthBucket


@dataclass(frozen=True, eq=False)
class LengthClasses:
    """The classes of one workload."""

    names: tuple[str, ...]
    """``prompt<=1024`` (tokens), or the names of the buckets that the problem states."""
    shares: tuple[Fraction, ...]
    """Of requests; they sum to 1."""
    prompts: Prompts
    """The requests, each in its class."""

    @property
    def part(self) -> FloatArray:
        """The shares as numbers."""
        return np.array([float(share) for share in self.shares])

    def tokens(self) -> dict[str, RequestTokens]:
        """Mean tokens of a request by class."""
        found = {}
        for number, name in enumerate(self.names):
            of = self.prompts.traffic(self.only(number))
            cached = of.input_mean_tokens - min(of.prefill_mean_tokens, of.input_mean_tokens)
            found[name] = RequestTokens(of.input_mean_tokens, cached, of.output_mean_tokens)
        return found

    def only(self, number: int) -> list[float]:
        """All requests of one class, and none of the others."""
        return [1.0 if place == number else 0.0 for place in range(len(self.names))]


def cut_classes(prompts: Prompts, tops: Sequence[int]) -> LengthClasses:
    """Classes of prompts up to these lengths (rising), and of all longer ones."""
    cut = prompts.cut(tops)
    up_to = [Fraction(value).limit_denominator(10**9) for value in np.cumsum(cut.shares[:-1]).tolist()]
    return LengthClasses(
        tuple([*(f"prompt<={top}" for top in tops), f"prompt>{tops[-1]}"] if tops else ["all"]),
        tuple(after - before for before, after in pairwise([Fraction(0), *up_to, Fraction(1)])),
        cut,
    )


def stated_classes(prompts: Prompts, buckets: Sequence[LengthBucket]) -> LengthClasses:
    """One class a bucket that the problem states, short prompts first."""
    rising = sorted(buckets, key=lambda bucket: bucket.input)
    total = sum((Fraction(bucket.share) for bucket in rising), Fraction(0))
    return LengthClasses(
        tuple(bucket.name for bucket in rising),
        tuple(Fraction(bucket.share) / total for bucket in rising),
        replace(prompts, class_of=np.arange(len(rising)), classes=len(rising)),
    )
