"""Time limits over everything a command does: what is there is told, what is not finished is said."""

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

import planner
from planner.app import alternatives as alternatives_case
from planner.app import pareto as pareto_case
from planner.app import relax as relax_case
from planner.app import robust as robust_case
from planner.app import what_if
from planner.app.session import Session
from planner.app.versus_plan import why_not
from planner.errors import SearchInterrupted, StoppedError
from planner.interfaces.time_limit import within
from planner.planning import run as run_module
from planner.planning.answering import fleet_plan as plan_case
from planner.planning.answering import search
from planner.planning.answering.answer import Answered, FleetAnswer
from planner.planning.answering.fleet_plan import answer_fleet
from planner.planning.asking import kept as kept_case
from planner.planning.asking.kept import kept
from planner.planning.asking.oracle import asker_of_fleet
from planner.planning.run import Run
from planner.schema.fleet import FleetChoice

TABLE = """option,workload,bucket,role,gpu,gpus,usd_per_hour,max_rps,ttft_ms,itl_ms
a,,,,h100,1,3,2.5,90,30
b,,,,h200,1,4,2.5,80,25
c,,,,b200,1,6,2.5,70,20
"""
PROBLEM = "name: t\nworkers: t.csv\nworkloads:\n  - {name: w, demand: {peak_rps: 10}, slo: {ttft_p99: 1 s}}\n"


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(s=0.0)
    monkeypatch.setattr(run_module, "time", SimpleNamespace(monotonic=lambda: now.s))
    return now


@pytest.fixture
def session(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "p.yaml").write_text(PROBLEM)
    return planner.load(tmp_path / "p.yaml")


@pytest.fixture
def slow_plans(clock, monkeypatch):
    """Every plan takes three seconds of the clock."""
    real = Session.plan

    def plan(self, run):
        found = real(self, run)
        clock.s += 3
        return found

    monkeypatch.setattr(Session, "plan", plan)


def test_a_part_of_a_run_has_its_part_of_what_is_left(clock):
    run = Run(10.0)
    clock.s = 4.0
    part = run.part(3)
    assert (run.left_s, part.left_s, part.over) == (6.0, 2.0, False)
    clock.s = 6.5
    assert (part.over, run.over, Run().over, Run().left_s) == (True, False, False, None)
    clock.s = 11
    with pytest.raises(StoppedError, match="the time limit of 10 s"):
        run.part(1)
    part.interrupt()
    with pytest.raises(SearchInterrupted):
        run.part(1)


def test_a_sweep_tells_the_rows_that_it_reached(session, slow_plans):
    axes = {"workloads.w.demand.peak_rps": [1, 2, 3, 4]}
    found = session.sweep(axes, run=Run(5.0))
    assert (len(found.rows), found.complete) == (2, False)
    assert session.sweep(axes).complete
    with pytest.raises(StoppedError):
        what_if.sweep(session, axes, Run(0.0))


def test_a_front_tells_the_plans_that_it_reached(session, slow_plans):
    found = session.pareto(["cost", "itl"], run=Run(5.0))
    assert (len(found.plans), found.complete) == (2, False)
    assert len(session.pareto(["cost", "itl"]).plans) == 3


def test_alternatives_are_told_as_far_as_the_time_suffices(session, monkeypatch):
    real, calls = kept_case.fleet_document, []

    def documented(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise StoppedError
        return real(*arguments)

    monkeypatch.setattr(kept_case, "fleet_document", documented)
    found = session.alternatives(3, run=Run(60.0))
    assert (len(found.plans), found.complete) == (1, False)
    found = session.alternatives(3, run=Run(60.0))
    assert (len(found.plans), found.complete) == (3, True)


def test_reasons_that_are_not_finished_are_said(session, clock, monkeypatch):
    changed = session.changed({"fleet.budget": "5 USD/h"})
    real = relax_case.told_plan

    def slow(*arguments):
        clock.s += 3
        return real(*arguments)

    monkeypatch.setattr(relax_case, "told_plan", slow)
    found = changed.relax(run=Run(2.0))
    assert (found.status, found.conflicts, found.conflicts_complete) == ("infeasible", (), False)
    assert "the time limit ended the search for reasons" in found.warnings[-1]
    assert changed.relax().conflicts_complete


def test_nothing_is_posed_after_the_time(session, monkeypatch):
    found = answer_fleet(session.study, session.problem, Run())
    asker = asker_of_fleet(
        session.study, replace(found, best=replace(found.best, choice=FleetChoice("unknown"))), Run(0.0)
    )
    monkeypatch.setattr(asker, "question", None)
    assert asker.ask({}).status == "unknown"


def test_a_plan_that_is_chosen_is_told_whatever_the_clock_says(session, monkeypatch):
    real, calls = plan_case.fleet_document, []

    def documented(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise StoppedError
        return real(*arguments)

    monkeypatch.setattr(plan_case, "fleet_document", documented)
    assert session.plan(Run(60.0)).status == "optimal"
    assert len(calls) == 2


def test_why_not_keeps_the_time_limit_and_claims_nothing_beyond_it(session, monkeypatch):
    plan, limits = session.solve(), []
    real = search.solve_fleet

    def solve(question, **named):
        limits.append(named["time_limit_s"])
        return real(question, **named)

    monkeypatch.setattr(search, "solve_fleet", solve)
    lines, worth = why_not(session, plan, "h200", Run(60.0))
    assert "The best plan that uses it costs" in lines[0]
    assert limits
    assert all(0 < limit_s <= 60 for limit_s in limits)
    lines, worth = why_not(session, plan, "h200", Run(0.0))
    assert lines == (
        "The time limit ended the search before it knew what the best plan with and without it costs.",
    )
    assert (worth[0].price, worth[0].speed) == ("unknown", "unknown")


def test_the_clock_ends_what_does_not_look_at_it():
    with pytest.raises(StoppedError, match=r"the time limit of 0\.01 s"), within(0.01):
        time.sleep(60)
    with within(None), within(60):
        pass


DAY = """name: d
workloads:
  - {name: w, demand: {hourly_rps: [10, 20]}, slo: {ttft_p99: 1 s}}
workers: t.csv
"""


def test_fleets_tell_what_is_there_too(session, tmp_path, monkeypatch):
    (tmp_path / "p.yaml").write_text(DAY)
    day = planner.load(tmp_path / "p.yaml")

    def late(*arguments, **named):
        raise StoppedError

    whole = day.alternatives(2, run=Run(60.0))
    monkeypatch.setattr(alternatives_case, "fleet_alternatives", late)
    monkeypatch.setattr(pareto_case, "fleet_front", late)
    for found in (day.alternatives(2, run=Run(60.0)), day.pareto(["cost", "gpus"], run=Run(60.0))):
        assert (len(found.plans), found.complete) == (1, False)
        assert found.plans[0].cost_usd_per_hour == whole.plans[0].cost_usd_per_hour
    monkeypatch.setattr(robust_case, "scenarios", late)
    assert "the time limit ended" in robust_case.robust(day, Run(60.0)).warnings[-1]
    monkeypatch.setattr(relax_case, "fleet_reasons", late)
    assert "the time limit ended" in day.relax(run=Run(60.0)).warnings[-1]
    with pytest.raises(StoppedError):
        kept(day.study, day.problem, Run(0.0))


@pytest.mark.parametrize(
    ("status", "limit_s", "ended", "expected"),
    [
        ("feasible", None, False, (False, False)),
        ("feasible", None, True, (False, True)),
        ("feasible", 60.0, False, (True, False)),
        # What was proved before is the same in every run.
        ("optimal", 60.0, True, (False, False)),
    ],
)
def test_a_plan_says_who_ended_any_of_its_searches(status, limit_s, ended, expected):
    """Also one of many that settle or simplify it, whose own answers are not the plan."""
    run = Run(limit_s)
    if ended:
        run.interrupt()
    answer = FleetAnswer(None, None, FleetChoice(status))
    choice = plan_case._as_ended(Answered(None, None, [answer], answer), run).best.choice
    assert (choice.timed, choice.interrupted) == expected
