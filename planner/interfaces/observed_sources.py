"""Where a diagnosis gets its numbers from: the flags of ``diagnose``, checked together, and the samples."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from planner.errors import InputError
from planner.interfaces.options import Checks
from planner.interfaces.output import message

if TYPE_CHECKING:
    from planner.app.evidence import Evidence
    from planner.schema.readings import Readout

FLAGS = ("--observed", "--metrics", "--prometheus", "--logs", "--results", "--engine-args")
FOLLOW_INTERVAL_S = 15.0
"""Between samples of a loop: the usual scrape interval."""
MAX_SAMPLES = 1_000_000
_SHORT = re.compile(r"(\d+)(s|m|h|d)")
_UNITS = {"s": "s", "m": "min", "h": "h", "d": "h"}
_HOURS_PER_DAY = 24

Sample = tuple[str, "Readout"]


@dataclass(frozen=True)
class Given:
    """The flags of ``diagnose`` that name sources, as they were typed."""

    observed: list[Path]
    metrics: list[str]
    prometheus: str | None
    logs: list[Path]
    results: list[Path]
    engine_args: str | None
    more: list[str] | tuple[()]
    """Words without a flag."""
    interval: str | None
    range: str | None
    selector: str | None

    @property
    def flags(self) -> list[str]:
        """Those that are there."""
        lists = (self.observed, self.metrics, self.prometheus, self.logs, self.results)
        values = (*lists, self.engine_args)
        return [flag for flag, value in zip(FLAGS, values, strict=True) if value]


@dataclass(frozen=True)
class Sources:
    """The sources of observed values; of ``--observed`` files each is a sample of its own."""

    evidence: Evidence
    observed: tuple[Path, ...] = ()
    before: Evidence | None = None
    """A time before, to hold now against."""
    compare: tuple[str, str] | None = None
    """Two files or addresses in the place of both."""
    names: tuple[str, str] = ("", "")
    """Of the time before, and of now."""

    @property
    def endless(self) -> bool:
        """Servers can be asked again and again; files are samples themselves."""
        return not self.observed

    def one(self) -> Readout:
        """The values now.

        Raises:
            InputError: what cannot be read.
        """
        from planner.app.evidence import gather

        return gather(self.evidence)

    def samples(self, most: int | None, told: Callable[[str], None] = message) -> Iterator[Sample]:
        """The files in their order; servers again and again, at most so often.

        A server that fails after its first sample is reported to ``told``, and asked again; an empty text
        says that it answers again.

        Raises:
            InputError: a file that cannot be read, a first sample that cannot be had.
        """
        if self.observed:
            from planner.app import observe

            for path in self.observed[:most]:
                yield str(path), observe.something(observe.observed(path), str(path))
            return
        name = self.evidence.prometheus or ", ".join(self.evidence.metrics)
        number, failed = 0, False
        while most is None or number < most:
            number += 1
            begun_s = time.monotonic()
            try:
                sample = self.one()
            except InputError as problem:
                if number == 1:
                    raise
                told(str(problem))
                failed = True
            else:
                if failed:
                    told("")
                failed = False
                yield name, sample
            if self.evidence.prometheus is not None and number != most:
                pause_s = self.evidence.interval_s or FOLLOW_INTERVAL_S
                time.sleep(max(0.0, begun_s + pause_s - time.monotonic()))


def checked(
    checks: Checks,
    given: Given,
    *,
    follow: bool,
    is_url: Callable[[str], bool],
    overlays: tuple[Path, ...] = (),
    compared: bool = False,
) -> Sources:
    """The sources that the flags name; every fault is noted in ``checks``."""
    from planner.app.evidence import Evidence

    given = _with_more(checks, given, compared=compared)
    _pair(checks, given, follow)
    if follow and any(not is_url(source) for source in given.metrics):
        checks.refuse("--follow", "files of metrics, which stay the same", "addresses, or --observed files")
    interval_s = checks.seconds("--interval", given.interval)
    evidence = Evidence(
        observed=given.observed[0] if given.observed else None,
        metrics=tuple(given.metrics),
        prometheus=given.prometheus,
        logs=tuple(given.logs),
        results=tuple(given.results),
        engine_args=given.engine_args,
        interval_s=FOLLOW_INTERVAL_S if follow and interval_s is None else interval_s,
        range_s=checks.seconds("--range", long_duration(given.range)),
        selector=given.selector or "",
        overlays=overlays,
    )
    return Sources(evidence, tuple(given.observed))


def _with_more(checks: Checks, given: Given, *, compared: bool) -> Given:
    """Words that stand alone are more values of the one flag that takes several."""
    if not given.flags and not compared:
        checks.refuse("", "no source", f"one of {', '.join(FLAGS)}", '"--observed FILE"')
    if not given.more:
        return given
    several = ("--observed", "--metrics", "--logs", "--results")
    lists = [flag for flag in several if flag in given.flags]
    if len(lists) != 1:
        flags = ", ".join(given.flags) or "no flag"
        checks.refuse("", f'"{given.more[0]}" beside {flags}', "each file behind its own flag")
        return given
    paths = [Path(word) for word in given.more]
    if lists == ["--metrics"]:
        return replace(given, more=(), metrics=[*given.metrics, *given.more])
    if lists == ["--logs"]:
        return replace(given, more=(), logs=[*given.logs, *paths])
    if lists == ["--results"]:
        return replace(given, more=(), results=[*given.results, *paths])
    return replace(given, more=(), observed=[*given.observed, *paths])


def _pair(checks: Checks, given: Given, follow: bool) -> None:
    """Note flags that need another one beside them."""
    asked = given.metrics or given.prometheus
    if len(given.observed) > 1 and not follow:
        checks.refuse("--observed", f"{len(given.observed)} files", "one file, or --follow with all in order")
    alone = next((flag for flag in given.flags if flag in FLAGS[3:]), None)
    if follow and alone:
        checks.refuse("--follow", f"{alone} beside it", "--observed files, --metrics or --prometheus")
    if follow and given.observed and asked:
        checks.refuse("--follow", " and ".join(given.flags), "one kind of source")
    if given.selector is not None and not asked:
        checks.refuse("--selector", f'"{given.selector}"', "it with --metrics or --prometheus")
    if given.range is not None and not given.prometheus and not given.logs:
        checks.refuse("--range", f'"{given.range}"', "it with --prometheus or --logs")
    if given.interval is not None and not given.metrics and not (follow and given.prometheus):
        expected = "it with --metrics, or with --prometheus and --follow"
        checks.refuse("--interval", f'"{given.interval}"', expected)


def long_duration(text: str | None) -> str | None:
    """A duration as Prometheus writes it, ``15m``, with the unit spelt out."""
    match = _SHORT.fullmatch(text.strip()) if text is not None else None
    if match is None:
        return text
    number, unit = int(match[1]), match[2]
    return f"{number * _HOURS_PER_DAY if unit == 'd' else number} {_UNITS[unit]}"
