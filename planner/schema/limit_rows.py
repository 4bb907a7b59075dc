"""A limit of the plan as one linear row over what is bought, what runs and what is paid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from planner.schema.choice import Option
from planner.schema.supply_lines import Line, Site

LineWeight = Callable[[Line], Fraction | int]
"""What one GPU of a line counts, never negative. Weights are frozen dataclasses: equal ones are known to be
equal, and they travel to other processes."""
ReplicaWeight = Callable[[Option, Site], Fraction | int]
"""What one replica of an option at a site counts; never negative."""


@dataclass(frozen=True)
class LimitRow:
    """One linear limit, in every period or on average over the periods.

    Equation: sum gpus(line) G + sum replicas(option, site) N + money <= most x (1, or sum part_of(line) G)
    with G the GPUs bought of a line, N the replicas of an option at a site, and money all USD of the period.
    """

    id: str
    """As plans and problems name it: ``KIND`` or ``KIND:OWNER``."""
    kind: str
    title: str
    unit: str
    most: Fraction
    gpus: LineWeight | None = None
    replicas: ReplicaWeight | None = None
    money: bool = False
    """GPUs, start charges and outside suppliers count, in USD."""
    part_of: LineWeight | None = None
    """``most`` is a share of these GPUs; None: an amount."""
    every_period: bool = True
    """False: on average over the periods."""
    grantable: bool = True
    """Somebody could grant more of it; what the market has is given."""
    whole: bool = False
    """Only whole values make sense."""
    step: Fraction | None = None
    """What somebody would ask for; None: the next unit that is sold, or as `planner.explain.steps` says."""
    path: str | None = None
    """Where the problem states it, in the form of ``--set``."""

    @property
    def owner(self) -> str:
        """What it is a limit of; empty for the whole fleet."""
        return self.id.partition(":")[2]

    @property
    def of_gpus(self) -> bool:
        """Only GPUs bought count, against an amount."""
        return self.replicas is None and not self.money and self.part_of is None

    @property
    def of_money(self) -> bool:
        """Only money counts."""
        return self.money and self.gpus is None and self.replicas is None and self.part_of is None


DayCount = Literal["layouts", "changes", "hours", "places", "pools"]
"""What a `DayRow` counts. A layout is a configuration of replicas (`Option.anywhere`) of one workload and
role, in use in every hour in which it has a replica; a pool is a layout at one site.

    layouts  in use over the day: those of ``serve`` and the larger number of ``prefill`` and ``decode``
    changes  hours (cyclic) in which other layouts of the workload are in use than in the hour before
    hours    in which the shortest-lived layout is in use without a break; a layout of all hours lives on
    places   providers and regions at which replicas stand
    pools    options in use at sites
"""


@dataclass(frozen=True)
class DayRow:
    """A limit on the layouts of a whole day: what is counted is at most ``most`` (``hours``: at least)."""

    id: str
    kind: str
    title: str
    unit: str
    most: int
    counts: DayCount
    workload: str = ""
    """Of this workload; empty: of every one."""
    each: bool = True
    """Every workload on its own; False: the sum over all."""
    sites: tuple[tuple[Site, str], ...] = ()
    """The place that each site is part of, for ``places``; sites that are not named count nowhere."""
    grantable: bool = True
    switch: bool = False
    """A yes or no: it has no other value."""
    path: str | None = None
    """Where the problem states it, in the form of ``--set``."""

    @property
    def falls(self) -> bool:
        """Loosening makes the value smaller."""
        return self.counts == "hours"

    @property
    def in_order(self) -> bool:
        """The order of the hours matters to it."""
        return self.counts in ("changes", "hours")

    def of(self, workload: str) -> bool:
        """It is about this workload."""
        return self.workload in ("", workload)


@dataclass(frozen=True)
class EveryGpu:
    """GPUs of all lines."""

    def __call__(self, line: Line) -> int:  # noqa: ARG002 - the form of all weights
        """1."""
        return 1


@dataclass(frozen=True)
class GpusOfType:
    """GPUs of one type."""

    gpu: str

    def __call__(self, line: Line) -> int:
        """1 where the line sells this type."""
        return int(line.gpu == self.gpu)


@dataclass(frozen=True)
class GpusOfLines:
    """GPUs of some lines, by their ids."""

    lines: frozenset[str]

    def __call__(self, line: Line) -> int:
        """1 for each of these lines."""
        return int(line.id in self.lines)


@dataclass(frozen=True)
class Watts:
    """Rated power of a replica."""

    def __call__(self, option: Option, site: Site) -> Fraction:  # noqa: ARG002
        """In watts, wherever it stands."""
        return option.power_w
