"""Options of commands that are many questions: processes, a cluster, a file of results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from planner.interfaces.options import Checks

if TYPE_CHECKING:
    from planner.app.spread import Spread

Processes = Annotated[
    str | None,
    Option("--processes", metavar="N", help="Questions at once on this machine; default: one a core."),
]
Scheduler = Annotated[
    str | None,
    Option(
        "--scheduler",
        metavar="tcp://HOST:PORT",
        help='A Dask cluster that does the work; needs the extra "cluster".',
    ),
]
Results = Annotated[
    Path | None,
    Option(
        "--results",
        metavar="FILE",
        help="Keep every answer in this file (JSON lines), and ask nothing again that it holds.",
    ),
]
_MOST = 4_096


def spread_of_sweep(
    checks: Checks,
    sweep: Sequence[str] | None,
    processes: str | None,
    scheduler: str | None,
    results: Path | None,
) -> Spread | None:
    """Who answers the questions of a sweep; None: this process, as nothing else is asked for."""
    spread = spread_if_asked(checks, processes, scheduler, results)
    if spread is not None and not sweep:
        checks.refuse("--processes", "it without --sweep", "several questions: --sweep PATH=v1,v2")
    return spread


def spread_if_asked(
    checks: Checks, processes: str | None, scheduler: str | None, results: Path | None
) -> Spread | None:
    """Who answers; None: this process, as nothing else is asked for."""
    if all(value is None for value in (processes, scheduler, results)):
        return None
    return spread_of(checks, processes, scheduler, results)


def spread_of(checks: Checks, processes: str | None, scheduler: str | None, results: Path | None) -> Spread:
    """Who answers; bad values are refused."""
    from planner.app.spread import Spread
    from planner.tasks.executor import Where, check_cluster, cores

    checks.at_most_one(processes=processes, scheduler=scheduler)
    if scheduler is not None:
        check_cluster(scheduler)
    number = cores() if processes is None else checks.whole("--processes", processes, high=_MOST)
    if results is not None and not results.parent.is_dir():
        checks.refuse("--results", f'"{results}"', "a file in a folder that exists")
    return Spread(Where(number, scheduler), results)
