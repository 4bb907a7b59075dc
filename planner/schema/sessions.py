"""Sessions: demand as conversations or agents whose context grows from turn to turn."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from planner.schema.base import Exact, Noun, Seconds, refused
from planner.schema.lengths import LengthSide, Tokens

MOST_TURNS = 10_000
Turns = Annotated[int, Field(ge=1, le=MOST_TURNS, strict=True)]


class Sessions(Noun):
    """Requests that belong together: each turn sends the context of the turn before and more.

    The prompt of turn k has first_input + (k - 1) x growth tokens. What the turn before had as its prompt is
    found in the cache where the session returns to a replica that still holds it.
    """

    per_hour: Annotated[Exact, Field(gt=0, le=1_000_000_000_000)]
    """Sessions that begin per hour, at the peak."""
    mean_per_hour: Annotated[Exact, Field(gt=0, le=1_000_000_000_000)] | None = None
    """Sessions that begin per hour on average; divides the cost per token. Default: the peak."""
    turns: Turns | LengthSide
    """Requests of one session: a number, or percentiles over sessions."""
    growth: Annotated[int, Field(ge=0, le=100_000_000, strict=True)]
    """Tokens by which the prompt grows per turn: the answer as far as it is kept, and what is new."""
    think_time: Seconds
    """Between the end of an answer and the next turn, on average."""
    first_input: Tokens | LengthSide
    """Tokens of the first prompt."""
    output: Tokens | LengthSide
    """Tokens of the answer of one turn."""
    shared_input: Annotated[int, Field(ge=0, le=100_000_000, strict=True)] = 0
    """Tokens at the start of the first prompt that are the same in all sessions (system prompt, tools); each
    cache holds them once."""

    @model_validator(mode="after")
    def _possible(self) -> Sessions:
        if self.mean_per_hour is not None and self.mean_per_hour > self.per_hour:
            found = f"mean_per_hour {self.mean_per_hour} above per_hour {self.per_hour}"
            raise refused(found, "a mean of at most the peak")
        first = self.first_input if isinstance(self.first_input, int) else self.first_input.middle
        if self.shared_input > first:
            found = f"shared_input {self.shared_input} above first_input"
            raise refused(found, f"a part of the first prompt (at most {first})")
        return self
