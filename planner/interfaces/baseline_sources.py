"""A time before to hold now against: ``--since T`` and ``--compare A B`` of ``diagnose``."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from planner.interfaces.moments import EXPECTED, moment_s, window_s
from planner.interfaces.observed_sources import Given, Sources
from planner.interfaces.options import Checks

if TYPE_CHECKING:
    from planner.app.evidence import Evidence
    from planner.schema.baseline import Baseline
    from planner.schema.readings import Readout

WEEK_S = 7 * 86_400.0
"""Traffic of one hour is most like that of the same hour a week before."""
_SHORTEST_S = 60.0


def against(
    checks: Checks, sources: Sources, given: Given, since: str | None, compare: tuple[str, str] | None
) -> Sources:
    """The sources with a time before; every fault is noted in ``checks``.

    With ``--prometheus`` the two of ``--compare`` are ranges of time; ``--since`` takes the same stretch a
    week before. Without it they are two files or addresses, the earlier first.
    """
    if since is not None and compare is not None:
        checks.refuse("--since", "--compare beside it", "one of them")
        return sources
    if since is not None:
        return _since(checks, sources, since)
    if compare is None:
        return sources
    if given.prometheus is not None:
        return _ranges(checks, sources, compare)
    if given.observed or given.metrics:
        checks.refuse("--compare", " and ".join(given.flags), "--logs, --results or --engine-args beside it")
        return sources
    return replace(sources, names=compare, compare=compare)


def _since(checks: Checks, sources: Sources, since: str) -> Sources:
    now = datetime.now().astimezone()
    start_s = moment_s(since, now)
    if sources.evidence.prometheus is None:
        checks.refuse("--since", f'"{since}"', "it with --prometheus")
    elif sources.evidence.range_s is not None:
        checks.refuse("--since", "--range beside it", "one of them: --since says how long")
    elif start_s is None or now.timestamp() - start_s < _SHORTEST_S:
        checks.refuse("--since", f'"{since}"', f"a moment at least a minute ago: {EXPECTED}")
    else:
        range_s = now.timestamp() - start_s
        here = replace(sources.evidence, range_s=range_s)
        before = replace(here, at_s=now.timestamp() - WEEK_S)
        names = (f"the same {_minutes(range_s)} a week before", f"since {since}")
        return replace(sources, evidence=here, before=before, names=names)
    return sources


def _minutes(range_s: float) -> str:
    return f"{range_s / 60:.0f} min"


def _ranges(checks: Checks, sources: Sources, compare: tuple[str, str]) -> Sources:
    now = datetime.now().astimezone()
    windows = [window_s(checks, "--compare", text, now) for text in compare]
    if windows[0] is None or windows[1] is None:
        return sources
    before, here = (
        replace(sources.evidence, at_s=window[0], range_s=window[1])
        for window in windows
        if window is not None
    )
    return replace(sources, evidence=here, before=before, names=compare)


def held_against(sources: Sources) -> tuple[Readout, Baseline | None]:
    """What is observed now, and what changed where a time before was named.

    Raises:
        InputError: what cannot be read.
    """
    from planner.app.compared import compared
    from planner.app.evidence import gather

    if sources.compare is not None:
        before, now = _two(sources, sources.compare)
    elif sources.before is not None:
        before, now = sources.before, sources.evidence
    else:
        return sources.one(), None
    readout, baseline = compared(gather(before), gather(now), sources.names)
    return readout, baseline


def _two(sources: Sources, compare: tuple[str, str]) -> tuple[Evidence, Evidence]:
    """Before and now, of two files or addresses; what else was given stands beside the second."""
    from planner.app.evidence import evidence_in

    beside = sources.evidence
    before, now = (evidence_in(name, beside.overlays) for name in compare)
    logs = (*now.logs, *beside.logs)
    return (
        replace(before, range_s=beside.range_s),
        replace(beside, observed=now.observed, metrics=now.metrics, logs=logs),
    )
