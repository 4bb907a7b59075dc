"""Child processes that die, cannot start, or lie beside a folder that is named like a module."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fleet_random import small_fleet

import planner.solver.mip.crew as crew_module
import planner.solver.mip.solve as solve_module
from planner.constraints.fleet_check import broken
from planner.solver.mip.crew import MOST_DEATHS, Crew, CrewLost
from planner.solver.mip.jobs import relax
from planner.solver.mip.prepared import prepare
from planner.solver.mip.process import Process
from planner.solver.mip.solve import solve_mip
from planner.solver.mip.state import State
from planner.solver.work import Limit

PROBLEM = small_fleet(4)
RELAX = ("relax", {"limit": Limit(20.0)})


@pytest.fixture(scope="module")
def prepared():
    return prepare(PROBLEM)


@pytest.fixture
def deaths(monkeypatch):
    """Processes that are killed after so many messages: one number for each that is started."""
    plan = []

    class Mortal(Process):
        def __init__(self):
            super().__init__()
            self.left = plan.pop(0) if plan else 1000

        def say(self, message):
            self.left -= 1
            if self.left < 0:
                self.kill()
                self._process.wait()
            super().say(message)
            if self.left == 0:
                self.kill()

    monkeypatch.setattr(crew_module, "Process", Mortal)
    return plan


def values(crew, number):
    return [result.value for _, result in crew.each(iter([RELAX] * number))]


@pytest.mark.parametrize("lives", [[0], [1], [2], [2, 2], [2, 0]], ids=str)
def test_a_process_that_dies_is_replaced_and_its_work_done_again(prepared, deaths, lives):
    deaths += lives
    expected = relax(State(prepared, 0)).value
    with Crew(prepared, 0, 1) as crew:
        found = [None if result is None else result.value for _, result in crew.each(iter([RELAX] * 3))]
        # One piece is begun twice, not three times: its second death is told.
        assert found == [None if lives == [2, 2] else expected, expected, expected]
        assert crew.trouble == ("a search process was killed by SIGKILL",)


def test_processes_that_all_die_end_the_search_in_words(deaths, monkeypatch):
    deaths += [2] * 50
    monkeypatch.setattr(solve_module, "QUICK_SIZE", 0)
    monkeypatch.setattr(solve_module, "by_hours", lambda *_: False)
    found = solve_mip(PROBLEM, time_limit_s=30)
    assert (found.status, found.value) == ("unknown", None)
    assert found.trouble == ("a search process was killed by SIGKILL",)
    assert len(deaths) >= 50 - 2 - MOST_DEATHS


def test_a_crew_of_the_dead_does_not_work_here(prepared, deaths):
    deaths += [1] * 50
    with Crew(prepared, 0, 1) as crew, pytest.raises(CrewLost):
        values(crew, 5)


def test_where_no_process_can_be_started_the_search_goes_on_in_this_one(monkeypatch):
    def refuse(*arguments, **options):
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    expected = solve_mip(PROBLEM, time_limit_s=30)
    monkeypatch.setattr(solve_module, "QUICK_SIZE", 0)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    found = solve_mip(PROBLEM, time_limit_s=30)
    assert broken(PROBLEM, found) == []
    assert found.value == expected.value


def test_a_process_that_is_left_in_the_middle_answers_nobody_else(prepared):
    with Crew(prepared, 0, 2) as crew:
        for _ in crew.each(iter([RELAX, ("whole", {"limit": Limit(20.0), "gap": 0.0})])):
            break
        assert len(values(crew, 3)) == 3


@pytest.mark.parametrize("name", ["numpy", "planner", "pickle"])
def test_processes_import_nothing_from_the_current_folder(prepared, monkeypatch, tmp_path, name):
    for module in (name, "ortools"):
        (tmp_path / module).mkdir()
        marker = f"open({str(tmp_path / 'imported')!r}, 'a').write({module!r})"
        (tmp_path / module / "__init__.py").write_text(marker)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), *sys.path])
    with Crew(prepared, 0, 1) as crew:
        assert len(values(crew, 1)) == 1
    assert not (tmp_path / "imported").exists()


def test_no_process_outlives_the_one_that_started_it():
    program = (
        "import os, signal, sys; from planner.solver.mip.process import Process; child = Process(); "
        "print(child._process.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    pid = int(done.stdout)
    for _ in range(100):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except FileNotFoundError:
            return
        if stat.rpartition(")")[2].split()[0] == "Z":
            return
        signal.sigtimedwait([], 0.1)
    pytest.fail("it still runs")
