"""Ctrl-C and SIGTERM, from the first import to the search."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from day_files import written

from planner.app import plan as plan_case
from planner.errors import SearchInterrupted
from planner.interfaces import cli, interrupts
from planner.planning.answering import fleet_plan as fleet_plan_case
from planner.planning.run import Run
from planner.solver import cp_sat
from planner.solver import solve as solve_case

SCRIPT = Path(sys.executable).parent / "planner"
PROBLEMS = Path(__file__).parents[2] / "problems"


@pytest.mark.parametrize(
    ("sent", "delay_s", "code"),
    [
        (signal.SIGINT, 0.4, 130),
        (signal.SIGINT, 0.8, 130),
        (signal.SIGINT, 1.5, 130),
        (signal.SIGTERM, 1.5, 143),
    ],
)
def test_a_signal_at_any_moment_ends_the_program_in_a_word(sent, delay_s, code):
    line = [SCRIPT, "plan", "-"]  # it waits for a problem that never comes
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(line, start_new_session=True, **pipes) as run:
        time.sleep(delay_s)
        run.send_signal(sent)
        run.wait(timeout=60)
        words = run.stderr.read()
        assert (run.returncode, words) == (code, b"planner: interrupted\n")
        with pytest.raises(ProcessLookupError):
            os.killpg(run.pid, 0)


def hard():
    draw = random.Random(1)
    model = cp_sat.cp_model.CpModel()
    taken = [model.new_bool_var(str(number)) for number in range(300)]
    for _ in range(200):
        row = draw.sample(taken, 40)
        model.add(sum(draw.randint(1, 50) * one for one in row) >= draw.randint(300, 500))
    model.minimize(sum(draw.randint(10, 99) * one for one in taken))
    return model


def test_an_interrupt_ends_the_exact_search_with_its_best_answer():
    handler = signal.getsignal(signal.SIGINT)
    solver = cp_sat.cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = 60
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    status, interrupted = cp_sat.run(solver, hard())
    assert (status, interrupted) == (cp_sat.cp_model.FEASIBLE, True)
    assert solver.wall_time < 30
    assert signal.getsignal(signal.SIGINT) is handler


@pytest.mark.parametrize("name", ["03-code-32b", "12-router"])
def test_the_best_plan_of_an_interrupted_search_is_told(monkeypatch, name):
    real = cp_sat.run

    def interrupted(solver, model):
        return real(solver, model)[0], True

    monkeypatch.setattr("planner.solver.cp.search.run", interrupted)
    found = plan_case.plan(PROBLEMS / f"{name}.yaml")
    assert found.provenance.interrupted
    assert found.pools


def test_an_interrupt_while_the_plan_is_told_ends_what_explains_it(monkeypatch):
    real, calls = fleet_plan_case.fleet_document, []

    def documented(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(fleet_plan_case, "fleet_document", documented)
    found = plan_case.plan(PROBLEMS / "03-code-32b.yaml")
    assert (found.provenance.interrupted, found.status) == (True, "optimal")


def test_without_an_answer_an_interrupt_stays_one():
    with pytest.raises(SearchInterrupted):
        Run().best_of(SearchInterrupted())


def test_an_interrupt_that_a_callback_swallows_comes_again():
    program = (
        "import signal, time, weakref\n"
        "from planner.interfaces import interrupts\n"
        "interrupts.end_at_once(); interrupts.raise_once()\n"
        "class Thing: pass\n"
        "thing = Thing()\n"
        "gone = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))\n"
        "try:\n    del thing\n    time.sleep(20)\nexcept KeyboardInterrupt:\n    print('again')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("again\n", "", 0)
    assert interrupts.came() is False


def test_an_interrupt_is_heard_after_every_search():
    """CP-SAT's own handler would leave the process without any: it would die without a word."""
    program = (
        "import signal\n"
        "from planner.solver.pool_sets import PoolSets\n"
        "from types import SimpleNamespace\n"
        "option = SimpleNamespace(id='a', workload='w')\n"
        "sets = PoolSets(SimpleNamespace(options=[option]), ['a'], [[[frozenset('a')]]])\n"
        "print(*sets.smallest(1))\n"
        "try:\n    signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt:\n    print('heard')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("a\nheard\n", "", 0)


def test_what_was_found_to_help_is_told_when_its_search_is_interrupted(monkeypatch, capsys, tmp_path):
    """The first change that suffices is known; then the user ends the search for others."""
    path = written(tmp_path, budget="2 USD/h")
    real, asked = solve_case.solve_fleet, []

    def solved(problem, **how):
        asked.append(how["goal"])
        if asked.count("value") == 1:
            raise KeyboardInterrupt
        return real(problem, **how)

    monkeypatch.setattr(solve_case, "solve_fleet", solved)
    assert cli.run(["relax", str(path), "--json"]) == 130
    plan = json.loads(capsys.readouterr().out)
    found = [[(change["id"], change["to"]) for change in way["changes"]] for way in plan["relaxations"]]
    assert [("budget", 2.5)] in found
    assert "some questions stayed open" in plan["warnings"][-1]
