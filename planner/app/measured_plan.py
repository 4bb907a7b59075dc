"""Plans from a table of measured worker rates."""

from __future__ import annotations

from pathlib import Path

from planner.app.run import Run
from planner.errors import input_error
from planner.schema.catalog_index import Catalog
from planner.schema.plan import Plan
from planner.schema.problem import Problem


def plan_from_table(problem: Problem, folder: Path, catalog: Catalog, run: Run, where: str) -> Plan:
    """TODO."""
    raise input_error(where, "workers", "a table", "no table yet")
