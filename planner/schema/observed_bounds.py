"""The kinds of numbers that an observation holds."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Ratio = Annotated[float, Field(ge=0, le=1)]
"""A fraction of one."""
NotNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
