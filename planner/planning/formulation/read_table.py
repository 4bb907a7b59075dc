"""The table of workers that a problem names."""

from __future__ import annotations

from pathlib import Path

from planner.loaders.named_files import place
from planner.loaders.worker_table import read_worker_files
from planner.schema.catalog import Accelerator
from planner.schema.catalog_index import Catalog
from planner.schema.problem import Problem
from planner.schema.workers import WorkerTable


def read_table(problem: Problem, folder: Path, catalog: Catalog) -> tuple[WorkerTable, dict[str, int]]:
    """The table of workers, and GPUs per server of the types that the catalog knows.

    Raises:
        InputError: everything wrong with the table.
    """
    table = read_worker_files([place(folder, name) for name in problem.worker_files])
    return table, {name: entry.host.node_size for name, entry in _known(catalog).items()}


def _known(catalog: Catalog) -> dict[str, Accelerator]:
    """Accelerators by every name that a table may use."""
    names = catalog.names("accelerators")
    return {name: entry for name in names if (entry := catalog.accelerator(name)) is not None}
