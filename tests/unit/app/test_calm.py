"""What the simplest plan is held against where the optimum is not known."""

from dataclasses import replace
from fractions import Fraction

import pytest
from day_toy import F, day

from planner.planning.answering import variants
from planner.planning.answering.calm import known_best
from planner.planning.answering.variants import Variants
from planner.planning.run import Run
from planner.schema.fleet import FleetChoice
from planner.solver.cp.solve import solve_cp
from planner.solver.solve import solve_fleet

TWO_PERCENT = Fraction(1, 50)


def ask(question, goal, limit_s, *, brief=True, start=None):
    return solve_fleet(question, goal=goal, time_limit_s=limit_s)


def dear():
    """Large replicas all day, as if a search had ended there."""
    only = replace(day(), options=day().options[1:])
    return replace(solve_cp(only), status="feasible", lower_bound=F(10), gap=F(1, 3))


def test_a_plan_far_from_its_bound_gives_way_to_the_best_of_promising_layouts():
    found = known_best(day(), dear(), TWO_PERCENT, ask, Run(60))
    assert (dear().value, found.value, found.lower_bound) == (15, F(21, 2), 10)
    assert found.status == "feasible"


def test_a_plan_near_its_bound_is_taken_as_it_is():
    near = replace(dear(), gap=F(1, 60))
    assert known_best(day(), near, TWO_PERCENT, ask, Run(60)) is near
    proved = solve_cp(day())
    assert known_best(day(), proved, TWO_PERCENT, ask, Run(60)) is proved


@pytest.mark.parametrize(
    ("lacks", "expected"), [({}, ("optimal", F(12))), ({("w", "serve", 0): F(3, 2)}, ("unknown", None))]
)
def test_what_the_simplest_plan_is_held_against_carries_every_hour(monkeypatch, lacks, expected):
    """Its answer is settled at the real sizes of its pools; where that does not do, it is none."""
    settled = FleetChoice("optimal", value=F(12))
    monkeypatch.setattr(Variants, "__call__", lambda *_, **__: FleetChoice("optimal", value=F(10)))
    monkeypatch.setattr(Variants, "settled", lambda self, question, choice: (self.case, settled))
    monkeypatch.setattr(variants, "too_small", lambda case, choice: lacks if choice is settled else {})
    found = Variants(None, Run(60), F(0)).carrying(day(), "value", 10, brief=False)
    assert (found.status, found.value) == expected
