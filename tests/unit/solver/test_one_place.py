"""Workloads at one place each in one hour agree with a program written a second time."""

import random
from dataclasses import replace

import pytest
from fleet_direct import Direct
from fleet_random import small_fleet
from more import seeds

from planner.constraints.fleet_check import broken
from planner.constraints.plan.places import Places, counted
from planner.errors import StoppedError
from planner.solver.day_places import DayPlaces
from planner.solver.solve import solve_fleet

NEAR = 1e-5


def in_one_place(seed):
    """A fleet of one hour, some of whose workloads must stand at one place."""
    r = random.Random(seed)
    problem = small_fleet(seed)
    demands = tuple(replace(d, demand_rps=d.demand_rps[:1], deferrable=None) for d in problem.demands)
    apis = tuple(replace(api, usd_per_h=api.usd_per_h[:1]) for api in problem.apis)
    names = sorted({d.workload for d in demands})
    sites = counted(problem.lines)
    rows = tuple(Places().row(1, name, sites=sites) for name in names if r.random() < 0.8)
    limits = replace(problem.limits, day=rows)
    return replace(problem, periods=1, demands=demands, apis=apis, limits=limits)


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(30))
def test_one_place_equals_a_program_written_a_second_time(seed):
    problem = in_one_place(60_000 + seed)
    best = Direct(problem).value()
    choice = solve_fleet(problem, time_limit_s=60)
    assert broken(problem, choice) == []
    if best is None:
        assert choice.status == "infeasible"
        return
    assert choice.status == "optimal"
    assert float(choice.value) == pytest.approx(best, rel=NEAR, abs=NEAR)
    mixed = solve_fleet(replace(problem, limits=replace(problem.limits, day=())), time_limit_s=60)
    expected = mixed.value if mixed.value < choice.value else None
    assert choice.mixed_value == expected


def day_in_one_place(seed, *, alone):
    """A day whose workloads, or the first of them, must stand at one place."""
    problem = small_fleet(seed)
    names = sorted({demand.workload for demand in problem.demands})[: 1 if alone else None]
    rows = tuple(row for row in problem.limits.rows if not row.id.startswith("quota"))
    sites = counted(problem.lines)
    day = tuple(Places().row(1, name, sites=sites) for name in names)
    return replace(
        problem,
        demands=tuple(demand for demand in problem.demands if demand.workload in names),
        options=tuple(option for option in problem.options if option.workload in names),
        limits=replace(problem.limits, rows=rows, day=day),
    )


@pytest.mark.more
@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("seed", seeds(16))
def test_a_day_at_one_place_equals_a_program_written_a_second_time(seed, alone):
    problem = day_in_one_place(61_000 + seed, alone=alone)
    best = Direct(problem).value()
    choice = solve_fleet(problem, time_limit_s=60)
    assert broken(problem, choice) == []
    if best is None:
        assert choice.status == "infeasible"
        return
    assert choice.status == "optimal"
    assert float(choice.value) == pytest.approx(best, rel=NEAR, abs=NEAR)
    mixed = Direct(replace(problem, limits=replace(problem.limits, day=()))).value()
    assert choice.mixed_value is None or float(choice.mixed_value) <= mixed + NEAR
    for (workload, place), bound in choice.least_by_place.items():
        away = {site for site, name in problem.limits.day[0].sites if name != place}
        every = tuple(line.site for line in problem.lines)
        demands = tuple(
            replace(d, sites=tuple({*(d.sites or every)} - away)) if d.workload == workload else d
            for d in problem.demands
        )
        least = Direct(replace(problem, demands=demands)).value()
        assert least is None or float(bound) <= least * (1 + NEAR) + NEAR


def test_a_time_limit_amid_the_places_gives_the_plan_so_far(monkeypatch):
    """The alarm strikes while places are compared: not a plan less, and no bound above the best one."""

    def struck(self):
        raise StoppedError("the time is over")

    ended = 0
    for seed in range(61_000, 61_120):
        problem = day_in_one_place(seed, alone=False)
        best = solve_fleet(problem, time_limit_s=60)
        with monkeypatch.context() as patch:
            patch.setattr(DayPlaces, "_ended", struck)
            try:
                choice = solve_fleet(problem, time_limit_s=60)
            except StoppedError:
                continue
        assert broken(problem, choice) == []
        if choice.status == "feasible":
            ended += 1
            assert choice.lower_bound <= best.value <= choice.value
    assert ended


def test_a_time_limit_before_any_plan_is_said(monkeypatch):
    def struck(self):
        raise StoppedError("the time is over")

    monkeypatch.setattr(DayPlaces, "_alone", struck)
    ended = 0
    for seed in range(61_000, 61_060):
        try:
            solve_fleet(day_in_one_place(seed, alone=False), time_limit_s=60)
        except StoppedError:
            ended += 1
    assert ended
