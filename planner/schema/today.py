"""The fleet that runs today, as a problem or a file states it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from planner.schema.base import Noun

Degree = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]


class TodayPool(Noun):
    """Equal replicas that run today."""

    gpu: Annotated[str, Field(min_length=1, max_length=100)]
    replicas: Annotated[int, Field(ge=0, le=1_000_000_000, strict=True)] = 1
    gpus_per_replica: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] = 1
    workload: str | None = None
    option: str | None = None
    """The option of a plan or table that they are, where known."""
    name: str | None = None
    """What it is called where it runs."""
    model: str | None = None
    engine: str | None = None
    tp: Degree | None = None
    pp: Degree | None = None
    ep: Degree | None = None
    attention_dp: Degree | None = None
    weights: str | None = None
    kv: str | None = None
    source: str | None = None
    """Where it was read: these keys tell people what runs; the way to the plan counts GPUs and replicas."""

    @property
    def gpus(self) -> int:
        """GPUs of all replicas."""
        return self.replicas * self.gpus_per_replica
