"""Ways to divide limits between prefill and decode workers, so that each side can be evaluated alone.

A limit on the first token holds for a pair of workers: prefill, KV transfer and start of the decode side
share it. A limit on the whole answer (E2E) is shared by the first token and the answer. The shares of a
`Division` are fixed parts of each limit, so looser limits never leave less to anybody. Percentiles of the
parts are added, which is an upper bound.

Workers of two divisions fit each other when both have the same ``track`` and the room that one side needs is
no more than the room that the other leaves. The rooms of a track are nested: a larger one has larger shares
for everything after prefill.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner import numbers
from planner.schema.slo import STATISTICS

START_PERCENT = (3, 6, 10, 15, 22, 33, 50, 70)
"""Of a limit on the first token, what its start on the decode side may take."""
KV_TRANSFER_PERCENT = (1, 2, 3, 4, 6, 8, 12, 16)
"""What the KV transfer may take beside each of these."""
SLOW_LINK_PERCENT = ((6, 20), (6, 45), (15, 20), (15, 45), (33, 20), (33, 45))
"""Start and KV transfer where links are slow."""
SLOW_LINK_BYTES_PER_S = 25e9
"""Links below this rate of one GPU are slow: what the field guide, section 5.6, names for KV transfer."""
ANSWER_PERCENT = (50, 70, 85, 95)
"""Of a limit on E2E, what the answer may take."""
SENDER_BOUNDS_MS = (1, 4, 16, 64, 256, 1024, 4096, 16384)
"""Where the prefill side sends the first token: what the KV transfer may take on its links."""


@dataclass(frozen=True)
class Division:
    """Percent of the limits; 0 where there is nothing to share."""

    start: int = 0
    kv_transfer: int = 0
    answer: int = 0
    sender_ms: int | None = None
    """Bound on the sender's part of the KV transfer where the prefill side sends the first token."""
    own_track: bool = False
    """No other room fits beside this one."""
    local_tokens: int = 0
    """Prompts up to this are computed by decode workers; 0 = none."""

    @property
    def track(self) -> str:
        """What both sides must have in common, in words."""
        parts = [f"answers {self.answer} % of E2E"] if self.answer else []
        parts += [f"{self.start} + {self.kv_transfer} % of TTFT after prefill"] if self.own_track else []
        return ", ".join([*parts, *self._local])

    @property
    def text(self) -> str:
        """Tells divisions apart, briefly."""
        parts = [f"{self.start + self.kv_transfer} % of TTFT after prefill"] if self.start else []
        parts += [f"answers {self.answer} % of E2E"] if self.answer else []
        parts += [f"KV transfer within {self.sender_ms} ms"] if self.sender_ms is not None else []
        return ", ".join([*parts, *self._local])

    @property
    def _local(self) -> list[str]:
        longest = numbers.count(self.local_tokens, "token")
        return [f"prompts up to {longest} at decode"] if self.local_tokens else []

    @property
    def room(self) -> Fraction:
        """Of `LARGEST_ROOM`: what happens after prefill, or what senders may take."""
        if self.sender_ms is not None:
            return Fraction(self.sender_ms, SENDER_BOUNDS_MS[-1])
        return Fraction(self.start + self.kv_transfer, 100)


LARGEST_ROOM = Fraction(1)


def first_limits_s(limits_s: Mapping[str, float], answer_percent: int) -> dict[str, float]:
    """Limits on the first token by statistic: those on TTFT, and what answers leave of those on E2E."""
    found: dict[str, float] = {}
    for statistic in STATISTICS:
        named = [limits_s[name] for name in (f"ttft_{statistic}",) if name in limits_s]
        if f"e2e_{statistic}" in limits_s:
            named.append((100 - answer_percent) / 100.0 * limits_s[f"e2e_{statistic}"])
        if named:
            found[statistic] = min(named)
    return found


def useful(bounds: Sequence[float], least: float, most: float) -> list[int]:
    """Places of bounds worth trying when workers need between ``least`` and ``most``.

    None smaller is enough for anybody, and the first that is enough for all is the last of use.
    """
    enough = [place for place, bound in enumerate(bounds) if bound >= most]
    last = enough[0] if enough else len(bounds) - 1
    return [place for place, bound in enumerate(bounds) if bound >= least and place <= last]
