"""Hours looked at again beside those around them, on lines that sell few GPUs or may be a share at most."""

from fractions import Fraction

import numpy as np
import pytest

from planner.schema.choice import Option
from planner.schema.fleet import FleetDemand, FleetProblem, Host, Line, Site
from planner.solver.mip.hourly_bound import untied
from planner.solver.mip.hours.frontiers import frontiers_of
from planner.solver.mip.hours.hour_plans import HourPlans
from planner.solver.mip.hours.hour_replicas import at_places
from planner.solver.mip.mip import INF
from planner.solver.mip.prepared import prepare
from planner.solver.mip.state import State

F = Fraction


def fleet(seed):
    """Three workloads on owned GPUs in one place, on spot and on demand in another; starts are paid."""
    rng = np.random.default_rng(seed)
    lines = (
        Line("owned", "g", "g", "owned", F(1, 10), max_gpus=4, site=Site("dc", "eu")),
        Line("spot", "g", "g", "spot", F(1), max_gpus=8, max_share=F(1, 3), site=Site("c", "eu", "", "spot")),
        Line("dear", "g", "g", "on_demand", F(3), site=Site("c", "eu", "", "on_demand")),
    )
    names = ("a", "b", "c")
    options = tuple(
        Option(f"{name}{gpus}", name, "serve", "g", "g", gpus, (F(int(rate)),), start_h=F(1, 5))
        for name in names
        for gpus, rate in ((1, rng.integers(2, 5)), (2, rng.integers(5, 11)), (4, rng.integers(11, 21)))
    )
    demands = tuple(
        FleetDemand(name, "serve", tuple((F(int(need)),) for need in rng.integers(1, 25, 8)))
        for name in names
    )
    return FleetProblem(8, options, (Host("g", "g"),), lines, demands)


@pytest.mark.parametrize("seed", range(12))
def test_fewer_starts_cost_no_more_than_they_save(seed, monkeypatch):
    """What an hour costs is told by its lines, not by its kinds of GPUs: owned ones are few."""
    problem = fleet(seed)
    loose = prepare(untied(problem))
    fronts = frontiers_of(loose)
    plans = HourPlans(State(loose, 0), fronts, fronts.prove(INF)[1], problem)
    seen, changed = [], HourPlans._with_fewer_starts

    def usd(hours):
        replicas, count = plans._replicas, len(hours)
        paid = sum(replicas.paid_usd([*hour.values()]) for hour in hours.values())
        return paid + sum(
            replicas.started_usd(work, at_places(hours[(t - 1) % count][work]), at_places(plan))
            for t, hour in hours.items()
            for work, plan in hour.items()
        )

    def watched(self, hours, over):
        seen.append(usd(hours))
        changed(self, hours, over)
        seen.append(usd(hours))

    monkeypatch.setattr(HourPlans, "_with_fewer_starts", watched)
    assert plans.plan(lambda: False) is not None
    before, after = seen
    assert after <= before * (1 + 1e-9)
