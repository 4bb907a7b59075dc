"""What is sold: machines, the sites where they stand, and the lines of the supply."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from planner.schema.choice import Option

RENTED = ("on_demand", "spot")
"""Terms that are taken and given back by the hour: what starts there is paid from its start on."""

Term = Literal["owned", "reserved", "on_demand", "spot"]
"""``reserved``: one number of GPUs for all periods, paid in each; the others are chosen per period."""


@dataclass(frozen=True, order=True)
class Site:
    """Where GPUs stand. A replica never spans two sites; an empty text is a part that nobody stated."""

    provider: str = ""
    region: str = ""
    zone: str = ""
    lot: str = ""
    """The line that its GPUs are rented under, where a replica that starts there is paid: it is on one
    line. Empty: any line of the place."""

    @property
    def place(self) -> Site:
        """The same under any line."""
        return replace(self, lot="") if self.lot else self

    def part(self, kind: str) -> tuple[str, ...]:
        """What may fail as one: the provider (kind ``providers``), or the zone of its region."""
        return (self.provider,) if kind == "providers" else (self.provider, self.region, self.zone)

    def __str__(self) -> str:
        return "/".join(part for part in (self.provider, self.region, self.zone) if part)


@dataclass(frozen=True)
class Host:
    """One kind of machine: the options whose ``supply`` is its id run on it."""

    id: str
    gpu: str
    server_gpus: int | None = None
    """GPUs of one server, bought whole: a replica that fits stands in one server, a larger one takes whole
    servers (``Option.units_per_replica``). None: single GPUs, any replica takes just its GPUs."""

    def room_gpus(self, option: Option) -> int | Fraction:
        """GPUs that one replica takes: its own; whole servers where it is larger than one or asks for them.

        Slices of a GPU take as many parts of it as it holds of them; parts that add up to whole GPUs can be
        packed (2, 3 and 7 slices a GPU). Whether replicas fit into servers is told by
        `planner.constraints.packing`.
        """
        if option.slices > 1:
            return Fraction(1, option.slices)
        if self.server_gpus is None:
            return option.gpus
        if option.units_per_replica is not None:
            return option.units_per_replica * self.server_gpus
        if option.gpus > self.server_gpus:
            return -(-option.gpus // self.server_gpus) * self.server_gpus
        return option.gpus


@dataclass(frozen=True)
class Line:
    """One line of the supply: GPUs of one host at one site under one term and price."""

    id: str
    """Unique: ``GPU/TERM``, with ``#2`` … where a problem has several such lines."""
    gpu: str
    host: str
    term: Term
    usd_per_gpu_h: Fraction
    unit_gpus: int = 1
    """GPUs are bought in multiples of this number (the host's server where it has one)."""
    max_gpus: int | None = None
    """GPUs in a period at most: the market's own cap (``supply:GPU/TERM``)."""
    site: Site = Site()
    max_share: Fraction | None = None
    """GPUs of this line over all GPUs of this type bought in the period, at most."""
    reserve: Fraction = Fraction(0)
    """Share of this line's GPUs that carries nothing, against interruptions."""
    lead_h: Fraction = Fraction(0)
    """From order to service; it moves the schedule, not the cost."""
