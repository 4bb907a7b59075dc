"""Where a diagnosis gets its numbers from: the flags of ``diagnose``, checked together, and the samples."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from planner.errors import InputError
from planner.interfaces.options import Checks
from planner.interfaces.output import message

if TYPE_CHECKING:
    from planner.schema.readings import Readout

FLAGS = ("--observed", "--metrics", "--prometheus")
FOLLOW_INTERVAL_S = 15.0
"""Between samples of a loop: the usual scrape interval."""
MAX_SAMPLES = 1_000_000
_SHORT = re.compile(r"(\d+)(s|m|h|d)")
_UNITS = {"s": "s", "m": "min", "h": "h", "d": "h"}
_HOURS_PER_DAY = 24

Sample = tuple[str, "Readout"]


@dataclass(frozen=True)
class Sources:
    """One source of observed values, with what belongs to it."""

    observed: tuple[Path, ...] = ()
    metrics: tuple[str, ...] = ()
    prometheus: str | None = None
    interval_s: float | None = None
    range_s: float | None = None
    selector: str = ""
    overlays: tuple[Path, ...] = ()

    @property
    def endless(self) -> bool:
        """Servers can be asked again and again; files are samples themselves."""
        return not self.observed

    def one(self) -> Readout:
        """The values now.

        Raises:
            InputError: what cannot be read.
        """
        from planner.app import observe

        return observe.something(self._read(), self._name())

    def _name(self) -> str:
        from planner.loaders.http import without_password

        if self.observed:
            return str(self.observed[0])
        return ", ".join(without_password(source) for source in (self.prometheus, *self.metrics) if source)

    def _read(self) -> Readout:
        from planner.app import observe

        if self.observed:
            return observe.observed(self.observed[0])
        if self.metrics:
            return observe.from_metrics(self.metrics, self.interval_s, self.selector, self.overlays)
        assert self.prometheus is not None
        range_s = observe.RANGE_S if self.range_s is None else self.range_s
        return observe.from_prometheus(self.prometheus, range_s, self.selector, self.overlays)

    def samples(self, most: int | None) -> Iterator[Sample]:
        """The files in their order; servers again and again, at most so often.

        A server that fails after its first sample is reported, and asked again.

        Raises:
            InputError: a file that cannot be read, a first sample that cannot be had.
        """
        if self.observed:
            from planner.app import observe

            for path in self.observed[:most]:
                yield str(path), observe.something(observe.observed(path), str(path))
            return
        name = self.prometheus or ", ".join(self.metrics)
        number = 0
        while most is None or number < most:
            number += 1
            begun_s = time.monotonic()
            try:
                sample = self.one()
            except InputError as problem:
                if number == 1:
                    raise
                message(str(problem))
            else:
                yield name, sample
            if self.prometheus is not None and number != most:
                pause_s = self.interval_s or FOLLOW_INTERVAL_S
                time.sleep(max(0.0, begun_s + pause_s - time.monotonic()))


def checked(
    checks: Checks,
    observed: list[Path],
    metrics: list[str],
    prometheus: str | None,
    more: list[str],
    *,
    interval: str | None,
    range_: str | None,
    selector: str | None,
    follow: bool,
    is_url: Callable[[str], bool],
) -> Sources:
    """The source that the flags name; every fault is noted in ``checks``.

    Words that follow ``--metrics`` or ``--observed`` are more of their values.
    """
    given = [flag for flag, value in zip(FLAGS, (observed, metrics, prometheus), strict=True) if value]
    if len(given) != 1:
        found = " and ".join(given) if given else "no source"
        checks.refuse("", found, f"one of {', '.join(FLAGS)}", "" if given else '"--observed FILE"')
    elif more and prometheus:
        checks.refuse("--prometheus", f'"{more[0]}" beside it', "one address")
    if observed:
        observed = [*observed, *(Path(word) for word in more)]
    elif metrics:
        metrics = [*metrics, *more]
    _pair(checks, observed, metrics, prometheus, interval, range_, selector, follow)
    if follow and any(not is_url(source) for source in metrics):
        checks.refuse("--follow", "files of metrics, which stay the same", "addresses, or --observed files")
    interval_s = checks.seconds("--interval", interval)
    return Sources(
        observed=tuple(observed),
        metrics=tuple(metrics),
        prometheus=prometheus,
        interval_s=FOLLOW_INTERVAL_S if follow and interval_s is None else interval_s,
        range_s=checks.seconds("--range", long_duration(range_)),
        selector=selector or "",
    )


def _pair(
    checks: Checks,
    observed: list[Path],
    metrics: list[str],
    prometheus: str | None,
    interval: str | None,
    range_: str | None,
    selector: str | None,
    follow: bool,
) -> None:
    """Note flags that need another one beside them."""
    if len(observed) > 1 and not follow:
        checks.refuse("--observed", f"{len(observed)} files", "one file, or --follow with all in order")
    if selector is not None and observed:
        checks.refuse("--selector", f'"{selector}"', "it with --metrics or --prometheus")
    if range_ is not None and not prometheus:
        checks.refuse("--range", f'"{range_}"', "it with --prometheus")
    if interval is not None and not metrics and not (follow and prometheus):
        checks.refuse("--interval", f'"{interval}"', "it with --metrics, or with --prometheus and --follow")


def long_duration(text: str | None) -> str | None:
    """A duration as Prometheus writes it, ``15m``, with the unit spelt out."""
    match = _SHORT.fullmatch(text.strip()) if text is not None else None
    if match is None:
        return text
    number, unit = int(match[1]), match[2]
    return f"{number * _HOURS_PER_DAY if unit == 'd' else number} {_UNITS[unit]}"
