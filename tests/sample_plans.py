"""The sample problems and their plans, each solved once in a process; their tests stay in one process."""

import functools
from pathlib import Path

import pytest

import planner

PROBLEMS = sorted((Path(__file__).parents[1] / "problems").glob("*.yaml"))
EACH = [pytest.param(path, id=path.stem, marks=pytest.mark.xdist_group(path.stem)) for path in PROBLEMS]
"""Parameters: with `--dist loadgroup` the tests of one problem share its plan."""


@functools.cache
def sample(path):
    """The session of a problem and its plan."""
    loaded = planner.load(path)
    return loaded, loaded.solve()
