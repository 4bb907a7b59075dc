"""What the simplest plan is held against where the optimum is not known."""

from dataclasses import replace
from fractions import Fraction

from day_toy import F, day

from planner.planning.answering.calm import known_best
from planner.planning.run import Run
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
