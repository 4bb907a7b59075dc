"""The same question in other words, or a looser one, has the answer that follows; what is offered holds."""

import math

import pytest
from granted import moved, stepped
from more import seeds
from relations import LOOSER, SAME, SCALE, dearer
from table_problems import planned, random_asked, session

from planner.planning.run import Run


def cost(plan):
    return math.inf if plan.cost_usd_per_hour is None else plan.cost_usd_per_hour


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(12))
def test_a_looser_problem_never_costs_more(seed, tmp_path):
    asked = random_asked(seed)
    before = cost(planned(asked, tmp_path))
    for name, loosen in LOOSER.items():
        looser = asked.copy()
        if loosen(looser) is not False:
            assert cost(planned(looser, tmp_path)) <= before + 1e-9, name


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(16))
def test_other_words_change_no_cost(seed, tmp_path):
    asked = random_asked(seed)
    before = cost(planned(asked, tmp_path))
    for name, change in SAME.items():
        same = asked.copy()
        if change(same) is not False:
            assert cost(planned(same, tmp_path)) == pytest.approx(before, rel=1e-12), name
    scaled = asked.copy()
    dearer(scaled)
    assert cost(planned(scaled, tmp_path)) == pytest.approx(SCALE * before, rel=1e-12)


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(16))
def test_what_relax_offers_holds(seed, tmp_path):
    asked = random_asked(seed)
    told = session(asked, tmp_path).relax(run=Run())
    if told.status == "optimal":
        _prices_hold(asked, told, tmp_path)
        return
    assert told.status == "infeasible"
    for way in told.relaxations:
        wider = asked.copy()
        values = {change.id: None if isinstance(change.to, str) else change.to for change in way.changes}
        if all(moved(wider, name, value) for name, value in values.items()):
            assert cost(planned(wider, tmp_path)) == pytest.approx(way.cost_usd_per_hour, abs=1e-6), values
    for group in told.conflicts:
        _is_a_minimal_conflict(asked, told, group, tmp_path)


def _prices_hold(asked, told, folder):
    """A step and a removal, typed in, save what is stated."""
    before = cost(told)
    for price in told.prices:
        steps = [(stepped(asked, price.id, price.step), price.saves_usd_per_hour)]
        if price.id.partition(":")[0] in ("ttft", "itl", "stock", "budget", "max-gpus"):
            steps.append((None, price.removed_saves_usd_per_hour))
        for place, (to, saved) in enumerate(steps):
            looser = asked.copy()
            if saved is None or (to is None and place == 0) or not moved(looser, price.id, to):
                continue
            assert before - cost(planned(looser, folder)) == pytest.approx(saved, abs=1e-6), price


def _is_a_minimal_conflict(asked, told, group, folder):
    """Nothing works with its members alone; without any one of them something does."""
    alone = asked.copy()
    named = {name for other in told.conflicts for name in other}
    if not all(moved(alone, name, None) for name in named - set(group)):
        return
    assert planned(alone, folder).status == "infeasible", group
    for name in group:
        without = alone.copy()
        if moved(without, name, None):
            assert planned(without, folder).status == "optimal", (group, name)
