"""``planner serve``: the API and the page, where the extra ``serve`` is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Exit, Option

from planner.extras import check_extra
from planner.interfaces import faults, interrupts
from planner.interfaces.options import Checks
from planner.interfaces.output import message

NEEDED = ("alembic", "fastapi", "nicegui", "sqlalchemy", "uvicorn")
"""Packages of the extra."""
MAX_PORT = 65_535


def serve(
    host: Annotated[
        str, Option(metavar="HOST", help="Where to listen; beyond this machine only with --token-file.")
    ] = "127.0.0.1",
    port: Annotated[str, Option(metavar="N", help="Port; 0 takes a free one.")] = "8080",
    database: Annotated[
        str | None,
        Option(
            metavar="URL",
            help="Where jobs are kept, such as sqlite:///jobs.sqlite; default: your state folder.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None, Option("--token-file", metavar="FILE", help="Ask for one of these tokens, one a line.")
    ] = None,
    prometheus: Annotated[
        str | None,
        Option(
            metavar="URL", help="Prometheus server from which notifications of Alertmanager are answered."
        ),
    ] = None,
) -> None:
    """Serve the API and a page with calculators, plans and their history."""
    checks = Checks("planner serve")
    number = checks.whole("--port", port, low=0, high=MAX_PORT)
    checks.done()
    check_extra("planner serve", "", "", "serve", NEEDED)
    if prometheus is not None:
        from planner.loaders.http import check_url

        check_url(prometheus, "the address of a Prometheus server")
    from planner.serve.server import serve as listen

    interrupts.end_at_once()  # the server takes signals over, and ends its workers
    listen(host, number, database, token_file, message, prometheus or "")
    raise Exit(faults.ANSWERED)
