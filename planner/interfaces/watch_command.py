"""``planner watch``: a server asked again and again, told only where something changed."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Annotated

from typer import Exit, Option

from planner.interfaces import faults
from planner.interfaces.observed_sources import MAX_SAMPLES, Sources, long_duration
from planner.interfaces.options import Checks, JsonFlag, Overlays
from planner.interfaces.output import Answer, message
from planner.interfaces.severity_option import at_least, checked_severity

COMMAND = "planner watch"
INTERVAL = "60s"


def watch(
    prometheus: Annotated[
        str | None, Option("--prometheus", metavar="URL", help="Prometheus server to ask.")
    ] = None,
    interval: Annotated[str, Option(metavar="TIME", help="Between two looks.")] = INTERVAL,
    range_: Annotated[
        str | None, Option("--range", metavar="TIME", help="Window of rates (default 5m).")
    ] = None,
    selector: Annotated[
        str | None, Option("--selector", metavar="LABELS", help="""Only series such as 'model_name="m"'.""")
    ] = None,
    slo: Annotated[
        str | None, Option("--slo", metavar="LIMITS", help="Limits such as ttft_p99=1500ms,itl_p99=60ms.")
    ] = None,
    fail_on: Annotated[
        str | None,
        Option("--fail-on", metavar="SEVERITY", help="End with exit 1 at this severity or worse."),
    ] = None,
    samples: Annotated[str | None, Option("--samples", metavar="N", help="End after so many looks.")] = None,
    as_json: JsonFlag = False,
    catalog: Overlays = None,
) -> None:
    """Watch a Prometheus server and print only what changed, until Ctrl-C; with --json one line a change."""
    checks = Checks(COMMAND)
    overlays = checks.folders("--catalog", catalog)
    if prometheus is None:
        checks.refuse("--prometheus", "nothing", "the address of a Prometheus server")
    pause_s = checks.seconds("--interval", long_duration(interval))
    range_s = checks.seconds("--range", long_duration(range_))
    limits_s = {f"{name}_s": value for name, value in checks.limits("--slo", slo).items()}
    worst = checked_severity(checks, fail_on)
    most = None if samples is None else checks.whole("--samples", samples, high=MAX_SAMPLES)
    checks.done()
    from planner.app import follow as follow_case
    from planner.app import watch as watch_case
    from planner.app.evidence import Evidence
    from planner.report import json_document, watch_text

    evidence = Evidence(
        prometheus=prometheus, interval_s=pause_s, range_s=range_s, selector=selector or "", overlays=overlays
    )
    asked = follow_case.Asked(overlays, None, limits_s)
    answer = Answer(as_json=as_json, out=None)
    looks = Sources(evidence).samples(most, _Faults())
    for news in watch_case.watch(looks, asked, _now):
        if news is None:
            continue
        if not answer.give(partial(json_document.line, news), partial(watch_text.view, news)):
            break
        if worst is not None and at_least(news.severity, worst):
            raise Exit(faults.NO)
    raise Exit(faults.ANSWERED)


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


class _Faults:
    """A server that does not answer is told once, until it answers or fails in another way."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, text: str) -> None:
        """Tell a fault; an empty text says that the server answered."""
        if text != self._last:
            message(text or "planner: the server answers again")
        self._last = text
