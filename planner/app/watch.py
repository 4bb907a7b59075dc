"""Sample after sample of a server, told only where something changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from planner.app.follow import Asked, follow
from planner.schema.diagnosis import Diagnosis, News
from planner.schema.readings import Readout


def watch(
    samples: Iterable[tuple[str, Readout]], asked: Asked, now: Callable[[], str]
) -> Iterator[News | None]:
    """News of each sample, the first included; None where nothing changed.

    Causes that are only possible come and go with noise, so that they count while nothing is shown alone.

    Args:
        samples: name and readout, in the order of time.
        asked: what holds for every sample.
        now: the time as text.

    Raises:
        InputError: as `planner.app.diagnose.diagnose_readout`.
    """
    before: Diagnosis | None = None
    for step in follow(samples, asked):
        found = step.diagnosis
        old, new = _shown(before), _shown(found)
        if before is None or old != new or before.severity != found.severity:
            yield News(
                time=now(),
                severity=found.severity,
                was=None if before is None else before.severity,
                appeared=tuple(rule for rule in new if rule not in old),
                gone=tuple(rule for rule in old if rule not in new),
                diagnosis=found,
            )
        else:
            yield None
        before = found


def _shown(found: Diagnosis | None) -> tuple[str, ...]:
    """Rules with evidence, by name: their order moves with every number."""
    if found is None:
        return ()
    sure = [one.rule for one in found.findings if not one.ranking.possible]
    return tuple(sorted(sure or [one.rule for one in found.findings[:1]]))
