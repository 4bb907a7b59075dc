"""What a trace would be planned as."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from planner.loaders.trace_hours import summary
from planner.loaders.traces import read_trace
from planner.loaders.write import documents_yaml
from planner.schema.traces import TraceColumns, TraceTaken


def trace(path: Path, columns: TraceColumns | None) -> tuple[TraceTaken, str]:
    """The trace in numbers, and the lines of a problem file that name it.

    Raises:
        InputError: everything wrong with the file.
    """
    taken = summary(read_trace(path, columns), str(path))
    stated = None if columns is None else columns.model_dump(exclude_none=True)
    named: Any = str(path) if stated is None else {"file": str(path), "columns": stated}
    part: dict[str, Any] = {} if taken.span_s is None else {"demand": {"trace": named}}
    part["lengths"] = {"trace": named}
    if taken.prefix_share:
        # An unbounded cache and one replica find that; a fleet finds less (prefix_cache asks how much).
        part["prefix_cache_hit"] = f"{100 * taken.prefix_share:.3g} %"
    return taken, documents_yaml([part]).removeprefix("---\n").rstrip()
