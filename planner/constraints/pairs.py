"""Whether prefill and decode options fit each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from planner.schema.choice import Coupling, Option


def broken_pairs(used: Sequence[Option], coupling: Coupling) -> Iterator[str]:
    """Prefill and decode options in use of one workload and place that do not fit each other, in words."""
    limit_s = coupling.ttft_limit_s
    for prefill in (o for o in used if o.role == "prefill"):
        for decode in (o for o in used if o.role == "decode"):
            if prefill.place != decode.place:
                continue
            if prefill.kv and decode.kv and prefill.kv != decode.kv:
                yield f"kv: {prefill.id} has {prefill.kv}, {decode.id} has {decode.kv}"
            ttft_s = pair_ttft_s(prefill, decode)
            if limit_s is not None and ttft_s is not None and ttft_s > limit_s:
                yield f"ttft:{coupling.workload}: {prefill.id} with {decode.id}"


def pair_ttft_s(prefill: Option, decode: Option) -> Fraction | None:
    """Time to first token of a pair, with the slower KV transfer of the two; None where nobody states one."""
    if prefill.ttft_s is None:
        return None
    return prefill.ttft_s + max(prefill.transfer_s or Fraction(0), decode.transfer_s or Fraction(0))
