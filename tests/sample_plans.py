"""The sample problems and their plans, each solved once in a process; see `together`."""

import functools
from pathlib import Path

import pytest

import planner

PROBLEMS = sorted((Path(__file__).parents[1] / "problems").glob("*.yaml"))
EACH = [pytest.param(path, id=path.stem) for path in PROBLEMS]
"""Parameters: `make test` runs all tests of one problem in one process."""


@functools.cache
def sample(path):
    """The session of a problem and its plan."""
    loaded = planner.load(path)
    return loaded, loaded.solve()
