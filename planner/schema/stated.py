"""Numbers and names of problem files, and what workloads and fleets both state."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import Field, model_validator

from planner.schema.base import Noun, Percentage, Share, refused
from planner.schema.routing import RoutingPolicy

Positive = Annotated[int, Field(ge=1, le=1_000_000_000, strict=True)]
Count = Annotated[int, Field(ge=0, le=1_000_000_000, strict=True)]
SpareCount = Annotated[int, Field(ge=0, le=100, strict=True)]
"""What may be lost at once. Room in proportion to the demand is ``headroom.capacity``."""
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^/\s:][^/:]*$")]


class Redundancy(Noun):
    """Spares: what may be lost while the rest still carries the demand."""

    replicas: SpareCount | None = None
    """Any n replicas of a pool."""
    per_option: SpareCount | None = None
    """Each option in use keeps n spares of its own."""
    servers: SpareCount | None = None
    """Any n servers, under whole-server purchase."""
    zones: SpareCount | None = None
    """Any n zones of the supply, with every replica that stands there."""
    providers: SpareCount | None = None
    """Any n providers of the supply, with every replica that stands there."""

    @model_validator(mode="after")
    def _one_form(self) -> Redundancy:
        forms = (self.replicas, self.per_option, self.servers, self.zones, self.providers)
        if sum(value is not None for value in forms) != 1:
            raise refused("none or several forms", "one of replicas, per_option, servers, zones, providers")
        return self


class RouterChoice(Noun):
    """The router in front of every pool."""

    policy: RoutingPolicy


class Headroom(Noun):
    """Room kept free."""

    memory: Share | None = None
    """Share of device memory that plans leave empty, where ``memory_share`` is not tighter. Default: none;
    with a table of workers 10 %."""
    capacity: Percentage = Decimal("0.2")
    """A pool carries demand x (1 + this)."""

    @property
    def memory_of_tables(self) -> Decimal:
        """Of measured workers, whose table says what they fill."""
        return Decimal("0.1") if self.memory is None else self.memory


class WorkloadHeadroom(Noun):
    """Room kept free for one workload; a key that is not given is the fleet's."""

    memory: Share | None = None
    """Overrides the fleet's."""
    capacity: Percentage | None = None
    """Overrides the fleet's."""
