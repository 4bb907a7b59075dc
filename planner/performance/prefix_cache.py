"""The prefix cache of one replica in a simulated run: what it holds, what is being read, what goes first."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from planner.performance.run_requests import Requests

Key = tuple[str, int]
"""A group's beginning, a whole prompt, or an answer, with its number."""


@dataclass(slots=True)
class PrefixCache:
    """Whole prompts, beginnings of groups, and answers; what was used longest ago makes room first.

    Answers are not found again and take their place all the same: engines keep the blocks of a request that
    has ended until somebody needs them.
    """

    requests: Requests
    entries: OrderedDict[Key, int] = field(default_factory=OrderedDict)
    """Tokens of each; the first was used longest ago."""
    tokens: int = 0
    """All of them."""
    pinned: int = 0
    """Of these, what requests in progress begin with."""
    pins: dict[Key, int] = field(default_factory=dict)
    """Requests in progress that begin with what the cache holds."""

    def matched_tokens(self, index: int) -> int:
        """Prompt tokens of a request that are found."""
        requests = self.requests
        last = max(requests.prompt[index] - 1, 0)
        if requests.again[index] >= 0 and ("own", requests.again[index]) in self.entries:
            return last
        if requests.group[index] >= 0 and ("group", requests.group[index]) in self.entries:
            return min(requests.group_tokens, last)
        return 0

    def pin(self, index: int, number: int) -> None:
        """So many requests more, or fewer, read the prompt of this one: that stays."""
        for key in (("group", self.requests.group[index]), ("own", self.requests.again[index])):
            before = self.pins.get(key, 0)
            self.pins[key] = before + number
            if key in self.entries:
                self.entries.move_to_end(key)
                self.pinned += self.entries[key] * (bool(before + number) - bool(before))

    def remember(self, index: int) -> None:
        """A prompt was computed."""
        group, own = self.requests.group[index], self.requests.again[index]
        shared = self.requests.group_tokens if group >= 0 else 0
        if shared:
            self._keep(("group", group), shared)
        if own >= 0:
            self._keep(("own", own), max(self.requests.prompt[index] - shared, 1))

    def leave(self, index: int) -> None:
        """An answer ended: its place is free for whoever needs it."""
        self._keep(("answer", index), self.requests.answer[index])

    def _keep(self, key: Key, tokens: int) -> None:
        if key not in self.entries:
            self.tokens += tokens
            self.pinned += tokens if self.pins.get(key, 0) else 0
            self.entries[key] = tokens
        self.entries.move_to_end(key)

    def evict(self, room_tokens: float) -> None:
        """Forget what was used longest ago until the rest has room."""
        passed = []
        while self.tokens > room_tokens and self.entries:
            key, tokens = self.entries.popitem(last=False)
            if self.pins.get(key, 0):
                passed.append((key, tokens))
            else:
                self.tokens -= tokens
        for key, tokens in reversed(passed):
            self.entries[key] = tokens
            self.entries.move_to_end(key, last=False)
