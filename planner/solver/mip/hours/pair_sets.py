"""Sets of prefill and decode options in which every pair fits, of one place: none of them is within another.

All options of a workload that are in use at one place and in one period lie within one of these sets
(`planner.solver.mip.pairs` has the rule for a pair).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from planner.schema.choice import Coupling, Option

Fitting = tuple[frozenset[int], frozenset[int]]
"""Numbers of the prefill and of the decode options in their pools."""

_Numbered = list[tuple[int, Option]]
_NONE = Fraction(0)


def fitting_sets(
    prefill: Sequence[Option], decode: Sequence[Option], coupling: Coupling | None
) -> dict[str, list[Fitting]]:
    """By place, the largest sets.

    Args:
        prefill: of one workload.
        decode: the same.
        coupling: what a pair must keep.
    """
    at: dict[str, tuple[_Numbered, _Numbered]] = defaultdict(lambda: ([], []))
    for side, options in enumerate((prefill, decode)):
        for number, option in enumerate(options):
            at[option.place][side].append((number, option))
    return {place: _largest(_sets(*sides, coupling)) for place, sides in sorted(at.items())}


def _sets(prefill: _Numbered, decode: _Numbered, coupling: Coupling | None) -> Iterator[Fitting]:
    if coupling is None:
        yield _numbers(prefill), _numbers(decode)
        return
    limit_s = coupling.ttft_limit_s
    for first, second in _of_formats(prefill, decode):
        if limit_s is None:
            yield _numbers(first), _numbers(second)
            continue
        left_s = [_left_s(option, limit_s) for _, option in first]
        for most_s in {option.transfer_s or _NONE for _, option in second}:
            yield (
                _numbers(
                    one for one, left in zip(first, left_s, strict=True) if left is None or most_s <= left
                ),
                _numbers(one for one in second if (one[1].transfer_s or _NONE) <= most_s),
            )


def _of_formats(prefill: _Numbered, decode: _Numbered) -> Iterator[tuple[_Numbered, _Numbered]]:
    """Of one format, or of any beside options that state none."""
    for kv in {option.kv for _, option in (*prefill, *decode)} - {None}:
        yield _stating(prefill, kv), _stating(decode, kv)
    yield _stating(prefill, None), decode
    yield prefill, _stating(decode, None)


def _stating(side: _Numbered, kv: str | None) -> _Numbered:
    """With this format or none."""
    return [one for one in side if one[1].kv in (kv, None)]


def _left_s(prefill: Option, limit_s: Fraction) -> Fraction | None:
    """For the KV transfer, negative where its own already takes more; None: any time."""
    if prefill.ttft_s is None:
        return None
    left = limit_s - prefill.ttft_s
    return left if (prefill.transfer_s or _NONE) <= left else Fraction(-1)


def _numbers(side: Iterable[tuple[int, Option]]) -> frozenset[int]:
    return frozenset(number for number, _ in side)


def _largest(sets: Iterable[Fitting]) -> list[Fitting]:
    found = sorted({one for one in sets if all(one)}, key=lambda one: [sorted(side) for side in one])
    return [
        one
        for one in found
        if not any(one != other and one[0] <= other[0] and one[1] <= other[1] for other in found)
    ]
