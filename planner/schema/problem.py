"""The problem file: workloads, fleet, search and objective, as the user states them."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, model_validator

from planner.schema.base import Noun, Share, refused
from planner.schema.demand import DEMAND_FORMS
from planner.schema.hardware import Fleet
from planner.schema.search import Search
from planner.schema.stated import Name
from planner.schema.supply import ApiOffer, Tier
from planner.schema.today import TodayPool
from planner.schema.workload import Workload

MAX_WORKLOADS = 1000


class Problem(Noun):
    """A planning problem."""

    name: Name
    workloads: Annotated[tuple[Workload, ...], Field(min_length=1, max_length=MAX_WORKLOADS)]
    """What must be served."""
    fleet: Fleet = Fleet()
    """What may be bought."""
    search: Search = Search()
    """What may be chosen from."""
    objective: Literal["cost", "cost_per_token", "gpus", "power", "throughput"] = "cost"
    """What is minimized; by power, GPUs whose rated power is not known are left out. ``throughput``: the most
    requests a second that the given fleet carries, the demand being their mix."""
    confidence: Annotated[Share, Field(ge=Decimal("0.5"), lt=1)] | None = None
    """Probability with which modelled numbers keep their limits; default 80 % (measured tables 50 %)."""
    workers: str | Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Table of measured worker rates that replaces the performance model, or a list of files that make one:
    CSV, and JSON of Mélange and AIBrix (see worker-tables.md). Paths are relative to this file."""
    tiers: tuple[Tier, ...] = ()
    """Several models behind one entrance."""
    api: tuple[ApiOffer, ...] = ()
    """Outside suppliers that are paid by the token."""
    start: str | Annotated[tuple[TodayPool, ...], Field(min_length=1)] | None = None
    """The fleet of today: a plan, a file with a list of pools, or the list."""

    @property
    def worker_files(self) -> tuple[str, ...]:
        """Names of the files of measured workers; none: the performance model answers."""
        if self.workers is None:
            return ()
        return (self.workers,) if isinstance(self.workers, str) else self.workers

    @model_validator(mode="after")
    def _complete(self) -> Problem:
        names = [workload.name for workload in self.workloads]
        for place, name in enumerate(names):
            if name in names[:place]:
                at = ("workloads", place, "name")
                raise refused(f'"{name}", as of another workload', "names that differ", at)
        if self.workers is None:
            for place, workload in enumerate(self.workloads):
                if not workload.demand.forms:
                    at = ("workloads", place, "demand")
                    if "demand" not in workload.model_fields_set:
                        raise refused("no such key", "a value", at)
                    raise refused("0 forms of demand", f"one of {', '.join(DEMAND_FORMS)}", at)
                if workload.model is None:
                    raise refused(f"workload {workload.name} without model", "a model, or a table of workers")
                demand = workload.demand
                stated = (workload.lengths, workload.archetype, demand.trace, demand.sessions)
                if all(form is None for form in stated):
                    raise refused(
                        f"workload {workload.name} without lengths",
                        "lengths, an archetype, a trace or sessions",
                    )
        return self

    @model_validator(mode="after")
    def _routers_agree(self) -> Problem:
        """What a workload says of its prefix cache holds beside the router of the fleet."""
        router = self.fleet.routing
        for place, workload in enumerate(self.workloads):
            cache = workload.prefix_cache
            if router is None or workload.routing is not None or cache is None:
                continue
            unlike = (cache.routing == "cache-aware") != (router.policy == "cache-aware")
            if unlike and "routing" in cache.model_fields_set:
                raise refused(
                    f"{cache.routing} with fleet.routing.policy {router.policy}",
                    "one of them, or two that agree",
                    ("workloads", place, "prefix_cache", "routing"),
                )
        return self
