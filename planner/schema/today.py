"""The fleet that runs today, as a problem or a file states it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from planner.schema.base import Noun


class TodayPool(Noun):
    """Equal replicas that run today."""

    gpu: Annotated[str, Field(min_length=1, max_length=100)]
    replicas: Annotated[int, Field(ge=0, le=1_000_000_000, strict=True)] = 1
    gpus_per_replica: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] = 1
    workload: str | None = None
    option: str | None = None
    """The option of a plan or table that they are, where known."""

    @property
    def gpus(self) -> int:
        """GPUs of all replicas."""
        return self.replicas * self.gpus_per_replica
