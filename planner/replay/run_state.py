"""What the requests of one run have come to: shared by its replicas."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field

from planner.replay.gaps import Gaps
from planner.replay.requests import Requests

NOT_YET = math.nan


@dataclass(slots=True)
class RunState:
    """Progress of every request; times in seconds since the start."""

    requests: Requests
    since_s: float
    """Gaps and busy times before that are the warm-up and count for nothing …"""
    until_s: float
    """… nor after that."""
    parts: int = 1
    """Equal parts of the period whose gaps are counted apart."""
    disaggregated: bool = False
    """Prompts are computed here and answers there."""
    first_s: array[float] = field(init=False)
    last_s: array[float] = field(init=False)
    sent_s: array[float] = field(init=False)
    """End of prefill of requests that are decoded elsewhere."""
    written: dict[int, int] = field(default_factory=dict)
    """Tokens that requests had written when they were set back."""
    stalled_s: dict[int, float] = field(default_factory=dict)
    """Last token of those requests."""
    swapped: dict[int, int] = field(default_factory=dict)
    """Context of requests whose KV cache lies in the memory of the host."""
    computed: array[int] = field(init=False)
    """Prompt tokens that were computed."""
    handed: bytearray = field(init=False)
    """1 for requests whose KV cache has come from a prefill worker."""
    gaps_by_part: list[Gaps] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Nothing has happened yet."""
        count = len(self.requests)
        self.computed = array("i", self.requests.computed)
        self.first_s, self.last_s = array("d", [NOT_YET]) * count, array("d", [NOT_YET]) * count
        self.sent_s = array("d", [NOT_YET]) * (count if self.disaggregated else 0)
        self.handed = bytearray(count)
        self.gaps_by_part = [Gaps() for _ in range(self.parts)]

    @property
    def gaps(self) -> Gaps:
        """Those of the whole period."""
        return Gaps.of(self.gaps_by_part)

    def part_of(self, at_s: float) -> int:
        """The part of the period that a moment in it falls into."""
        if self.parts == 1:
            return 0
        return min(int((at_s - self.since_s) / (self.until_s - self.since_s) * self.parts), self.parts - 1)

    def counts(self, now_s: float) -> bool:
        """Whether what happens now is in the period that is looked at."""
        return self.since_s <= now_s <= self.until_s
