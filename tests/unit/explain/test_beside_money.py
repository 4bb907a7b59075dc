"""Several limits and the budget change together: what just suffices with all the money is not proposed."""

from fractions import Fraction

from plan_table import PlanTable, Row

from planner.explain.conflicts import minimal_conflicts
from planner.explain.relaxations import relaxations
from planner.schema.reasons import NamedLimit

F = Fraction


def test_limits_that_barely_suffice_with_all_the_money_give_way_to_cheaper_ones():
    """Latency of 3 s costs 4,400 USD/h, of 6 s 60; today's limits are 2 s and 20 USD/h."""
    rows = [
        Row(4400, {"g": 1}, {"x": F(3), "y": F(3)}),
        Row(900, {"g": 1}, {"x": F(4), "y": F(4)}),
        Row(60, {"g": 1}, {"x": F(6), "y": F(6)}),
    ]
    limits = [NamedLimit(name, "latency", "", "s", F(2)) for name in ("x", "y")]
    table = PlanTable(rows, [*limits, NamedLimit("budget", "budget", "", "USD/h", F(20))])
    conflicts = minimal_conflicts(table)
    assert sorted(conflicts.sets) == [("budget",), ("x",), ("y",)]
    (way,) = relaxations(table, conflicts)
    assert {change.id: change.to for change in way.changes} == {"budget": 60, "x": 6, "y": 6}
