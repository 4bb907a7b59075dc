"""A day with fewer pools keeps the limits on its day also with what its pools lack."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest
from day_toy import EAST, WEST, day

from planner.constraints.plan.day_usage import DayUsage
from planner.constraints.plan.min_layout_hours import MinLayoutHours
from planner.errors import time_is_up
from planner.planning.answering import calm_hours as module
from planner.planning.run import Run
from planner.planning.told import unless_ended
from planner.solver.promising import options_of
from planner.solver.rebuy import with_replicas
from planner.solver.work import Limit, Timer

SMALL = [{("small", EAST): 3}] * 6
BRIEF = [*SMALL[:5], {("small", EAST): 3, ("large", WEST): 1}]
ROW = MinLayoutHours().row(3)


def calm_days(rows):
    return module.CalmDays(day(), rows, Timer(Limit(9.0)))


@pytest.mark.parametrize(("rows", "kept"), [((), True), ((ROW,), False)])
def test_a_replica_added_may_break_a_row(monkeypatch, rows, kept):
    """The sixth hour lacks something, and gets a replica of another layout for that hour alone."""
    monkeypatch.setattr(module, "too_small", lambda *_: {("chat", "serve", 5): Fraction(2)})
    monkeypatch.setattr(module, "with_idle_gpus", lambda *_: None)
    monkeypatch.setattr(module, "with_more_replicas", lambda *_: with_replicas(day(), BRIEF))
    found = module._bought(SimpleNamespace(question=day()), SMALL, calm_days(rows))
    assert (found is not None) == kept


def test_what_is_added_for_one_hour_stays_for_others(monkeypatch):
    """The large replica of the sixth hour lives for three hours then, or is not needed any more."""
    monkeypatch.setattr(module, "too_small", lambda *_: {("chat", "serve", 5): Fraction(2)})
    monkeypatch.setattr(module, "with_idle_gpus", lambda *_: None)
    added = iter([with_replicas(day(), BRIEF)])
    monkeypatch.setattr(module, "with_more_replicas", lambda _, choice: next(added, choice))
    found = module._bought(SimpleNamespace(question=day()), SMALL, calm_days((ROW,)))
    assert not DayUsage(day(), found.periods).breaks(ROW)


def test_what_carries_is_told_as_it_is(monkeypatch):
    monkeypatch.setattr(module, "too_small", lambda *_: {})
    assert module._bought(SimpleNamespace(question=day()), SMALL, calm_days((ROW,))).value == 18


def test_a_plan_of_fewer_pools_may_cost_less_than_the_one_that_was_found(monkeypatch):
    """What replicas of many layouts lack beside each other is known only at their real sizes."""
    best = replace(with_replicas(day(), BRIEF), value=Fraction(100))
    steps = [(98, True), (None, False), (103, True), (107, False), (90, False)]
    found = iter([None if usd is None else replace(best, value=Fraction(usd)) for usd, _ in steps])
    monkeypatch.setattr(module, "sized_hours", lambda _: None)
    monkeypatch.setattr(module, "_bought", lambda *_: next(found))
    monkeypatch.setattr(module.CalmDays, "ever_fewer", lambda *_: iter([SMALL] * len(steps)))
    calm = module.CalmHours(SimpleNamespace(question=day()), best, 0)
    assert [one.value for one in calm.ever_fewer(Fraction(-1), (), Timer(Limit(9.0)))] == [
        100,
        *(usd for usd, kept in steps if kept),
    ]


def test_the_search_begins_at_any_plan_on_the_way(monkeypatch):
    """Also at one with a layout that the cheapest plan does without."""
    monkeypatch.setattr(module, "sized_hours", lambda _: None)
    monkeypatch.setattr(module, "too_small", lambda *_: {})
    both = with_replicas(day(), [{("small", EAST): 3, ("large", WEST): 1}] * 6)
    calm = module.CalmHours(SimpleNamespace(question=day()), both, 0)
    steps = calm.ever_fewer(Fraction(-1), (), Timer(Limit(9.0)))
    assert len(steps) > 1
    for start in steps:
        found = calm.simplest([start], 2 * both.value, (ROW,), Timer(Limit(9.0)))
        assert len(options_of(found)) == 1


@pytest.mark.parametrize(("rows", "usd"), [((), Fraction(21, 2)), ((ROW,), 12)])
def test_a_plan_is_made_anew_of_few_layouts(monkeypatch, rows, usd):
    """The plan at hand costs 15 USD, and lacks the layout that is cheaper in quiet hours."""
    monkeypatch.setattr(module, "sized_hours", lambda _: None)
    monkeypatch.setattr(module, "too_small", lambda *_: {})
    poor = with_replicas(day(), [{("large", WEST): 1}] * 6)
    calm = module.CalmHours(SimpleNamespace(question=day()), poor, 0)
    found = calm.ever_fewer(Fraction(0), rows, Timer(Limit(9.0)))
    assert min(one.value for one in found) == usd
    assert not any(DayUsage(day(), one.periods).breaks(row) for one in found[1:2] for row in rows)


def test_what_its_hours_lack_is_asked_for_again(monkeypatch):
    """Two hours lack a third at their real sizes, as long as three small replicas serve them."""
    monkeypatch.setattr(module, "sized_hours", lambda _: None)
    short = {("chat", "serve", t): Fraction(3, 2) for t in (1, 2)}

    def lacking(_, choice):
        return {hour: more for hour, more in short.items() if choice.periods[hour[2]].counts == SMALL[0]}

    monkeypatch.setattr(module, "too_small", lacking)
    monkeypatch.setattr(module, "with_idle_gpus", lambda *_: None)
    monkeypatch.setattr(module, "with_more_replicas", lambda *_: None)
    small = replace(day(), options=day().options[:1])
    known = with_replicas(small, [{("small", EAST): count} for count in (1, 3, 3, 1, 3, 1)])
    calm = module.CalmHours(SimpleNamespace(question=small), known, 0)
    (found, *_) = calm._of_few_layouts(2 * known.value, (), Timer(Limit(9.0)))
    assert [hour.counts["small", EAST] for hour in found.periods] == [1, 5, 5, 1, 3, 1]


def test_an_interrupt_ends_what_is_looked_for_beside_an_answer():
    def look():
        raise KeyboardInterrupt

    run = Run(None)
    assert unless_ended(run, look) is None
    assert run.interrupted


def test_so_does_the_end_of_the_time():
    """The clock of a command may strike amid it: the answer that is known was lost then."""

    def look():
        raise time_is_up(30.0)

    run = Run(30.0)
    assert unless_ended(run, look) is None
    assert run.over
    assert not run.interrupted
