"""Commands that hand a plan on to other programs: its routing and its schedule."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Exit, Option

from planner.interfaces import faults
from planner.interfaces.options import Checks
from planner.interfaces.output import Answer
from planner.interfaces.reason_commands import PlanFile

ROUTE_FORMATS = ["table", "json", "csv", "httproute"]
SCHEDULE_FORMATS = ["table", "json", "csv"]
_MAX_PORT = 65535

OutFile = Annotated[
    Path | None,
    Option("--out", metavar="FILE", help="Also write it to this file, in the same format (a table as JSON)."),
]


def routes(
    plan: PlanFile,
    period: Annotated[
        str | None, Option("--period", metavar="N", help="An hour, from 0; default: shares of the whole day.")
    ] = None,
    format_: Annotated[
        str, Option("--format", metavar="F", help="table, json, csv, or httproute (Kubernetes Gateway API).")
    ] = "table",
    gateway: Annotated[
        str, Option("--gateway", metavar="NAME", help="Gateway of the httproute documents.")
    ] = "gateway",
    port: Annotated[
        str, Option("--port", metavar="N", help="Port of the pools' Services in httproute documents.")
    ] = "8000",
    out: OutFile = None,
) -> None:
    """Show where requests go, bucket by bucket, ready for a gateway."""
    checks = Checks("planner routes")
    number = None if period is None else checks.whole("--period", period, low=0)
    port_number = checks.whole("--port", port, high=_MAX_PORT)
    _check_format(checks, format_, ROUTE_FORMATS)
    _check_gateway(checks, gateway)
    checks.done()
    answer = Answer(as_json=format_ != "table", out=out)
    from planner.app.routes_out import routes_out
    from planner.exports import http_routes
    from planner.report import json_document, routes_text

    found = routes_out(plan, number)

    def encode() -> bytes:
        if format_ == "httproute":
            return http_routes.http_routes_yaml(found, str(plan), gateway, port_number)
        return (
            routes_text.as_csv(found) if format_ == "csv" else json_document.encode(json_document.of(found))
        )

    answer.give(encode, lambda: routes_text.view(found))
    raise Exit(faults.ANSWERED)


def schedule(
    plan: PlanFile,
    format_: Annotated[str, Option("--format", metavar="F", help="table, json or csv.")] = "table",
    out: OutFile = None,
) -> None:
    """Show what runs, what is bought and what to order, hour by hour."""
    checks = Checks("planner schedule")
    _check_format(checks, format_, SCHEDULE_FORMATS)
    checks.done()
    answer = Answer(as_json=format_ != "table", out=out)
    from planner.app.schedule_out import schedule_out
    from planner.report import json_document, schedule_text

    found = schedule_out(plan)

    def encode() -> bytes:
        return (
            schedule_text.as_csv(found) if format_ == "csv" else json_document.encode(json_document.of(found))
        )

    answer.give(encode, lambda: schedule_text.view(found))
    raise Exit(faults.ANSWERED)


def _check_format(checks: Checks, name: str, known: list[str]) -> None:
    from planner.errors import nearest

    if name not in known:
        checks.refuse("--format", f'"{name}"', f"one of {', '.join(known)}", nearest(name, known))


def _check_gateway(checks: Checks, name: str) -> None:
    from planner.commands.dns_names import dns_names

    if "." in name or dns_names([name])[name] != name:
        expected = "a DNS label: lower-case letters, digits and hyphens, at most 63"
        checks.refuse("--gateway", f'"{name}"', expected, f'"{dns_names([name])[name]}"' if name else "")
