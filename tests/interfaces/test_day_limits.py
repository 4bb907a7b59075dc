"""Limits on the layouts of a day, through the command line: plans, prices, conflicts, ways out, errors."""

import pytest
from day_files import answer, written

from planner.interfaces import cli


@pytest.mark.parametrize(
    ("fleet", "usd_per_h", "name", "value", "limit"),
    [
        ({}, 1.75, None, None, None),
        ({"max_layouts_per_workload": 1}, 2, "max-layouts", 1, 1),
        ({"max_layouts_per_workload": 2}, 1.75, "max-layouts", 2, 2),
        ({"max_changes_per_day": 2}, 11 / 6, "max-changes-per-day", 2, 2),
        ({"layouts": "fixed"}, 2, "layouts", 0, 0),
        ({"layouts": "by-hour"}, 1.75, None, None, None),
        ({"min_layout_hours": 2}, 11 / 6, "min-layout-hours", 2, 2),
        ({"mix_places": False}, 2, "places:chat", 1, 1),
        ({"mix_places": True}, 1.75, None, None, None),
    ],
)
def test_a_plan_keeps_the_limit_and_says_where_it_stands(
    tmp_path, capsys, fleet, usd_per_h, name, value, limit
):
    code, plan = answer(capsys, "plan", written(tmp_path, **fleet))
    assert (code, plan["status"]) == (0, "optimal")
    assert plan["cost_usd_per_hour"] == pytest.approx(usd_per_h)
    states = [state for state in plan["constraints"] if state["id"] == name]
    if name is None:
        assert not states
        assert len(plan["pools"]) == 2
    else:
        (state,) = states
        assert (state["value"], state["limit"], state["slack"], state["binding"]) == (value, limit, 0, True)


def test_every_limit_has_a_price(tmp_path, capsys):
    path = written(tmp_path, max_layouts_per_workload=1)
    (price,) = [p for p in answer(capsys, "relax", path)[1]["prices"] if p["id"] == "max-layouts"]
    assert (price["step"], price["path"]) == ("+1 layout", "fleet.max_layouts_per_workload")
    assert price["saves_usd_per_hour"] == price["removed_saves_usd_per_hour"] == pytest.approx(0.25)
    path = written(tmp_path, layouts="fixed")
    (price,) = [p for p in answer(capsys, "relax", path)[1]["prices"] if p["id"] == "layouts"]
    assert (price["step"], price["saves_usd_per_hour"]) == ("by-hour", pytest.approx(0.25))


def test_limits_that_cannot_hold_together_are_named_and_relaxed(tmp_path, capsys):
    fleet = {"layouts": "fixed", "mix_places": False, "max_layouts_per_workload": 1, "max_changes_per_day": 4}
    path = written(tmp_path, budget={"per_day": 44}, **fleet)
    code, plan = answer(capsys, "relax", path)
    assert (code, plan["status"]) == (0, "infeasible")
    assert sorted(map(sorted, plan["conflicts"])) == [
        ["budget", "layouts"], ["budget", "max-layouts"], ["budget", "places:chat"],
    ]  # fmt: skip
    moved = [{change["id"] for change in way["changes"]} for way in plan["relaxations"]]
    assert {"layouts", "max-layouts", "places:chat"} in moved
    assert {"budget"} in moved
    cli.run(["relax", str(path)])
    assert "places:chat (providers and regions" not in capsys.readouterr().err


def test_lives_are_given(tmp_path, capsys):
    _, plan = answer(capsys, "relax", written(tmp_path, budget={"per_day": 42}, min_layout_hours=2))
    assert plan["conflicts"] == [["budget"]]
    ways = [(change["id"], change["to"]) for way in plan["relaxations"] for change in way["changes"]]
    assert ("min-layout-hours", 1) in ways


def test_what_is_not_understood_is_said_with_what_was_expected(tmp_path, capsys):
    path = written(
        tmp_path, layouts="fix", max_layouts_per_workload=0, min_layout_hours="3 h", mix_place=False,
        max_changes_per_day=-1,
    )  # fmt: skip
    assert cli.run(["plan", str(path)]) == 2
    shown = capsys.readouterr().err
    for key in (
        "layouts",
        "max_layouts_per_workload",
        "min_layout_hours",
        "mix_place",
        "max_changes_per_day",
    ):
        assert f"fleet.{key}" in shown
    assert "mix_places" in shown
