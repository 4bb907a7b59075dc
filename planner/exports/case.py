"""What every target is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.commands.dns_names import dns_names
from planner.loaders.metric_names import MetricNames
from planner.schema.engine_options import Platform
from planner.schema.exported import Exported
from planner.schema.fleet_out import Routes, Schedule
from planner.schema.launch import Deployment
from planner.schema.plan import Plan
from planner.schema.policy import Alarms
from planner.schema.problem import Problem


@dataclass(frozen=True)
class ExportCase:
    """A plan that serves requests, ready to be written in other words."""

    plan: Plan
    problem: Problem
    """That the plan answers."""
    where: str
    """The plan's file, for faults."""
    deployments: tuple[Deployment, ...]
    """One a pool, in the order of the plan."""
    routes: Routes
    schedule: Schedule
    platform: Platform
    """What Kubernetes calls accelerators, and how it watches servers."""
    skypilot: Platform
    """What SkyPilot calls accelerators and providers."""
    metrics: MetricNames
    """What engines call their metrics."""
    alarms: Alarms
    """How far a running fleet may depart from its plan."""

    @property
    def hours(self) -> int:
        """Hours of the plan; 1 for one rate."""
        return self.schedule.periods

    @property
    def name(self) -> str:
        """The problem as a DNS label."""
        return dns_names([self.plan.problem])[self.plan.problem]

    @property
    def workloads(self) -> dict[str, str]:
        """Every workload that has pools, with its DNS label."""
        return dns_names(item.pool.workload for item in self.deployments)

    def of_workload(self, workload: str, role: str | None = None) -> tuple[Deployment, ...]:
        """Deployments of a workload, in one role or in all."""
        return tuple(
            item
            for item in self.deployments
            if item.pool.workload == workload and role in (None, item.pool.role)
        )

    @property
    def disaggregated(self) -> tuple[str, ...]:
        """Workloads of which some pool serves prefill and decode disaggregated."""
        found = (item.pool.workload for item in self.deployments if item.pool.role != "serve")
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class Target:
    """One program that takes a plan."""

    id: str
    title: str
    build: Callable[[ExportCase], Exported]
    """May raise `CannotExpressError`."""
