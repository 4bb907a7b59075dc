"""What every file of the catalog carries: id, names, and the sources of its numbers."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from planner.schema.base import Noun

Count = Annotated[int, Field(ge=0, strict=True)]
Positive = Annotated[int, Field(ge=1, strict=True)]
Source = str | tuple[str, ...]

DAY = "a day, month or year such as 2026-11-23, 2026-11 or 2026"


def last_day(text: str) -> date:
    """The last day that a day, a month or a year may mean: ``2026-11`` is the 30th.

    Raises:
        ValueError: something else.
    """
    if not re.fullmatch(r"\d{4}(-\d\d){0,2}", text):
        raise ValueError(text)
    year, month, day = (*(int(part) for part in text.split("-")), 0, 0)[:3]
    if text.count("-") == 2:
        return date(year, month, day)
    first = date(year, month, 1) if text.count("-") else date(year, 12, 1)
    return first.replace(day=monthrange(first.year, first.month)[1])


class SourceText(Noun):
    """Where numbers come from."""

    title: str
    """Document, repository with commit, or vendor page."""
    date: date
    """When it was published, or read where the source carries no date."""
    as_of: str | None = None
    """When its numbers held, as far as it says so: a day, month or year; of prices, which age."""
    grade: Literal["A", "B", "C", "B/C"] = "B"
    """A: two stored sources agree. B: one stored source. C: recalled from a datasheet."""

    @field_validator("date", mode="before")
    @classmethod
    def _iso_date(cls, value: object) -> object:
        # Numbers would be read as seconds since 1970.
        if isinstance(value, date) or (isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value)):
            return value
        raise PydanticCustomError(
            "date", "expected {expected}", {"expected": 'a date such as "2025-11-21"', "maybe": ""}
        )

    @field_validator("as_of")
    @classmethod
    def _known_day(cls, value: str | None) -> str | None:
        try:
            return value if value is None or last_day(value) else None
        except ValueError:
            raise PydanticCustomError("date", "expected {expected}", {"expected": DAY, "maybe": ""}) from None


class CatalogEntry(Noun):
    """What every file of the catalog carries."""

    id: str
    """Equal to the file's name, lower-case kebab."""
    name: str
    """The name people write."""
    aliases: tuple[str, ...] = ()
    """Other names that mean this entry."""
    sources: dict[str, SourceText]
    """The sources that the blocks of this file refer to by key."""
    note: str = ""

    @property
    def other_names(self) -> tuple[str, ...]:
        """Every name beside id and name."""
        return self.aliases

    @model_validator(mode="after")
    def _sources_are_known(self) -> CatalogEntry:
        for name in sorted(_named_sources(self)):
            if name not in self.sources:
                raise PydanticCustomError(
                    "source",
                    "unknown source {found}",
                    {
                        "found": repr(name),
                        "expected": f"a key of sources ({', '.join(sorted(self.sources))})",
                        "maybe": "",
                    },
                )
        return self


def _named_sources(noun: object) -> set[str]:
    names: set[str] = set()
    if isinstance(noun, Noun):
        for field in type(noun).model_fields:
            value = getattr(noun, field)
            if field == "source":
                names |= {value} if isinstance(value, str) else set(value)
            else:
                names |= _named_sources(value)
    elif isinstance(noun, tuple | list):
        for item in noun:
            names |= _named_sources(item)
    elif isinstance(noun, dict):
        for item in noun.values():
            names |= _named_sources(item)
    return names
