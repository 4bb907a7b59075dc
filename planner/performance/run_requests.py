"""The requests of a simulated run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Requests:
    """In the order in which they are sent."""

    prompt: list[int]
    answer: list[int]
    group: list[int]
    """Of requests that begin with the same tokens; -1: none."""
    group_tokens: int
    again: list[int]
    """Of requests with the very same prompt; -1: none."""
