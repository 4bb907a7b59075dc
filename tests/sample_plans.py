"""The sample problems and their plans, each solved once in a process; see `together`."""

import functools
from pathlib import Path

import pytest

import planner
from planner.planning.answering import fleet_plan

PROBLEMS = sorted((Path(__file__).parents[1] / "problems").glob("*.yaml"))
EACH = [pytest.param(path, id=path.stem) for path in PROBLEMS]
"""Parameters: `make test` runs all tests of one problem in one process."""


ANSWERED = {}
"""What the plans of `sample` tell, by path of the problem."""


@functools.cache
def sample(path):
    """The session of a problem and its plan."""
    loaded, told_plan = planner.load(path), fleet_plan.told_plan

    def told(study, found, run):
        ANSWERED[path] = found.best
        return told_plan(study, found, run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fleet_plan, "told_plan", told)
        return loaded, loaded.solve()
