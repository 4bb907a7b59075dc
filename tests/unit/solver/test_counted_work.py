"""Without a time limit nothing depends on the clock, on the number of processes, or on what else runs."""

import multiprocessing
from dataclasses import replace

import pytest
from fleet_random import small_fleet
from fleet_samples import fleet

import planner.solver.mip.solve as solve_module
from planner.solver.mip.crew import LANES, Crew
from planner.solver.mip.cuts import Cut
from planner.solver.mip.mip import Model, solve
from planner.solver.mip.prepared import prepare
from planner.solver.mip.solve import solve_mip
from planner.solver.mip.worker import Worker
from planner.solver.solve import solve_fleet
from planner.solver.work import Limit, Timer, count, done_s, nodes_in

PROBLEM = small_fleet(4)
RELAX = ("relax", {"limit": Limit(20.0)})
LONG = ("whole", {"limit": Limit(20.0), "gap": 0.0})


def told(choice):
    """Everything but when it was known."""
    return repr(replace(choice, trace=()))


def test_a_counted_limit_knows_no_clock_and_the_users_no_work():
    counted, timed = Timer(Limit(5.0)), Timer(Limit(5.0, counted=False))
    count(3.0)
    assert counted.left_s == pytest.approx(2.0)
    assert counted.left(0.5) == Limit(pytest.approx(1.0))
    assert timed.left_s > 4.0
    assert not timed.left().counted


def test_more_work_is_more_nodes():
    assert nodes_in(0.0, 100) == 1
    assert nodes_in(1.0, 100) < nodes_in(2.0, 100)
    assert nodes_in(60.0, 10**6) < nodes_in(60.0, 100)


def knapsack():
    """Many plans of nearly equal value: no proof within a few nodes."""
    model = Model()
    columns = [model.column(0, 1, whole=True, cost=-(1000 + 7 * n % 11)) for n in range(40)]
    for row in range(8):
        model.row([(c, 100 + (37 * c * (row + 3)) % 97) for c in columns], upper=2003 + row)
    return model


def test_counted_work_ends_branch_and_bound_at_the_same_node():
    before_s = done_s()
    few, again, more = (solve(knapsack(), limit=Limit(work_s)) for work_s in (0.05, 0.05, 5.0))
    assert few.status == "feasible"
    assert (few.value, few.bound, list(few.columns)) == (again.value, again.bound, list(again.columns))
    assert more.bound >= few.bound
    assert done_s() > before_s


def test_results_come_in_order_and_pieces_know_what_came_before_them():
    asked = []

    def pieces():
        for number in range(6):
            asked.append(number)
            yield LONG if number % 2 == 0 else RELAX

    with Crew(prepare(PROBLEM), 0, 3) as crew:
        for number, (piece, _) in enumerate(crew.each(pieces())):
            assert piece[0] == ("whole" if number % 2 == 0 else "relax")
            assert len(asked) <= number + LANES
    assert asked == [*range(6)]


def test_a_decisive_answer_ends_what_goes_on_beside_it():
    def moves():
        while True:
            yield RELAX

    with Crew(prepare(PROBLEM), 0, 2) as crew:
        *_, (piece, last) = crew.each(moves(), beside=LONG)
    assert piece is LONG
    assert last.decisive


def test_a_piece_of_work_knows_nothing_of_the_pieces_before_it():
    prepared = prepare(PROBLEM)
    worker = Worker(prepared, 0)
    pool = prepared.works[0].pools[0]
    cut = Cut("count", pool.demand.pool, tuple(1 for _ in pool.options), 0, 10**6)
    free = worker.do("relax", [], 0, {})[0]
    held = worker.do("relax", [cut], 1, {})[0]
    again = worker.do("relax", [], 0, {})[0]
    assert held.status == "infeasible" or held.value > free.value
    assert (again.status, again.value) == (free.status, free.value)


@pytest.mark.parametrize("seed", [4, 8])
def test_the_number_of_processes_changes_nothing(seed, monkeypatch):
    monkeypatch.setattr(solve_module, "QUICK_SIZE", 0)
    problem = small_fleet(seed)
    assert told(solve_mip(problem, workers=1)) == told(solve_mip(problem, workers=3))
    assert told(solve_fleet(problem, workers=1)) == told(solve_fleet(problem, workers=3))


def busy():
    while True:
        pass


@pytest.mark.judge
@pytest.mark.parametrize("size", [(5, 2, 4, 4), (5, 2, 4, 1)], ids=str)
def test_what_ends_by_its_own_work_is_the_same_on_a_busy_machine(size):
    problem = fleet(*size, mean_gpus=20.0)
    quiet = solve_mip(problem, work_s=2.0)
    others = [multiprocessing.Process(target=busy, daemon=True) for _ in range(3)]
    for other in others:
        other.start()
    try:
        loaded = solve_mip(problem, work_s=2.0, workers=3)
    finally:
        for other in others:
            other.kill()
    assert quiet.status == "feasible"
    assert told(quiet) == told(loaded)


def test_only_an_answer_that_the_time_limit_ended_says_so():
    problem = fleet(5, 2, 4, 4, mean_gpus=20.0)
    ended = solve_fleet(problem, time_limit_s=0.05)
    assert ended.status in ("feasible", "unknown")
    assert ended.timed
    proved = solve_fleet(PROBLEM, time_limit_s=60)
    assert (proved.status, proved.timed) == ("optimal", False)
    assert not solve_fleet(PROBLEM, work_s=60.0).timed
