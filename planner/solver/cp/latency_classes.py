"""Waits and KV formats as far as they matter: two that fit the same partners are the same.

Prefill and decode options are told apart by time to first token, KV transfer and KV format only where these
decide which pairs are allowed. Anything finer would keep options that no plan needs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from planner.schema.choice import ChoiceProblem, Coupling, Option


def by_partners(problem: ChoiceProblem) -> Iterator[Option]:
    """The options that may be used, with waits rounded up to where a partner is lost; None where none is."""
    couplings = {coupling.workload: coupling for coupling in problem.couplings}
    split: dict[str, list[Option]] = defaultdict(list)
    for option in problem.options:
        if option.role == "serve" or option.workload not in couplings:
            yield option.but(ttft_s=None, transfer_s=None, kv=None) if _waits(option) else option
        else:
            split[option.workload].append(option)
    for workload, options in split.items():
        yield from _coupled(couplings[workload], options)


def _waits(option: Option) -> bool:
    return (option.ttft_s, option.transfer_s, option.kv) != (None, None, None)


def _coupled(coupling: Coupling, options: Sequence[Option]) -> Iterator[Option]:
    limit_s = coupling.ttft_limit_s
    left = [option for option in options if limit_s is None or _least_s(option) <= limit_s]
    formats = {role: {o.kv for o in left if o.role == role} for role in ("prefill", "decode")}
    partners = {"prefill": formats["decode"], "decode": formats["prefill"]}
    left = [option for option in left if option.kv is None or partners[option.role] & {option.kv, None}]
    kinds = {option.kv for option in left if option.kv is not None}
    prefill = [option for option in left if option.role == "prefill" and option.ttft_s is not None]
    steps = _Steps(o.transfer_s for o in left if o.role == "decode" and o.transfer_s is not None)
    rooms = _Steps(limit_s - o.ttft_s for o in prefill if limit_s is not None and o.ttft_s is not None)
    for option in left:
        kv = option.kv if len(kinds) > 1 else None
        ttft_s = transfer_s = None
        if limit_s is not None and option.ttft_s is not None and option.role == "prefill":
            admitted = steps.up_to(limit_s - option.ttft_s)
            if admitted < len(steps.values):
                ttft_s = limit_s - (steps.values[admitted - 1] if admitted else 0)
        if option.transfer_s is not None and option.role == "decode":
            lost = rooms.below(option.transfer_s)
            transfer_s = rooms.values[lost - 1] if lost else None
        yield option.but(ttft_s=ttft_s, transfer_s=transfer_s, kv=kv)


def _least_s(option: Option) -> Fraction:
    """Time to first token with the fastest partner."""
    if option.role == "decode" or option.ttft_s is None:
        return Fraction(0)
    return option.ttft_s + (option.transfer_s or 0)


class _Steps:
    """Different values in order; found through their floats, then exactly."""

    def __init__(self, values: Iterable[Fraction]) -> None:
        self.values = sorted(set(values), key=lambda value: (float(value), value))
        self._floats = [float(value) for value in self.values]

    def up_to(self, value: Fraction) -> int:
        """How many are at most a value."""
        place = bisect_right(self._floats, float(value))
        while place and self.values[place - 1] > value:
            place -= 1
        return place

    def below(self, value: Fraction) -> int:
        """How many are less than a value."""
        place = bisect_right(self._floats, float(value))
        while place and self.values[place - 1] >= value:
            place -= 1
        return place
