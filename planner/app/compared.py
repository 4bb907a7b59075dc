"""Now against a time before: what changed, and what the values before say about those of now."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from planner.app.evidence import NEAR
from planner.schema.baseline import Baseline, Changed
from planner.schema.observation import Observation
from planner.schema.readings import Reading, Readout

SAME_LOAD = 0.2
"""Two loads that differ by less are the same: between them times can be compared."""
_LOADS = ("request_rate_rps", "batch_mean")


def compared(before: Readout, now: Readout, names: tuple[str, str]) -> tuple[Readout, Baseline]:
    """The values of now with what those before add to them, and the changes.

    At the same load the gaps between tokens before are a baseline, and tokens a second can be compared; a
    version that differs is a change.

    Args:
        before: what was observed then.
        now: what is observed now.
        names: of both, for the reader.
    """
    rows: list[Changed] = []
    same = 0
    for name in Observation.model_fields:
        then, current = getattr(before.observation, name), getattr(now.observation, name)
        if name == "slo" or (then is None and current is None):
            continue
        if _alike(then, current):
            same += 1
        else:
            rows.append(Changed(metric=name, before=then, now=current, change_ratio=_ratio(then, current)))
    rows.sort(key=_size, reverse=True)
    baseline = Baseline(before=names[0], now=names[1], changed=tuple(rows), same=same)
    return _with(now, _added(before.observation, now.observation)), baseline


def _alike(then: Any, now: Any) -> bool:
    if _is_number(then) and _is_number(now):
        return math.isclose(then, now, rel_tol=NEAR, abs_tol=1e-9)
    return bool(then == now)


def _ratio(then: Any, now: Any) -> float | None:
    return now / then if _is_number(then) and _is_number(now) and then else None


def _size(row: Changed) -> float:
    """How much a change says: what is another setting most, then by the factor, then what came or went."""
    if row.before is None or row.now is None:
        return -1.0
    if not _is_number(row.before):
        return math.inf
    if row.change_ratio is None or row.change_ratio <= 0:
        return 1e6
    return abs(math.log(row.change_ratio))


def _added(before: Observation, now: Observation) -> dict[str, Any]:
    """What the values before add to those of now."""
    found: dict[str, Any] = {}
    if _same_load(before, now):
        if before.itl_p50_s is not None:
            found["itl_baseline_s"] = before.itl_p50_s
        if before.output_tokens_per_s and now.output_tokens_per_s is not None:
            found["throughput_change_ratio"] = now.output_tokens_per_s / before.output_tokens_per_s
    versions = ("engine_version", "driver_version", "cuda_version")
    known = [
        (then, current)
        for then, current in ((getattr(before, name), getattr(now, name)) for name in versions)
        if then is not None and current is not None
    ]
    if known:
        found["version_changed"] = any(then != current for then, current in known)
    return found


def _same_load(before: Observation, now: Observation) -> bool:
    pairs = [(getattr(before, name), getattr(now, name)) for name in _LOADS]
    known = [(then, current) for then, current in pairs if then is not None and current is not None]
    return bool(known) and all(
        math.isclose(then, current, rel_tol=SAME_LOAD, abs_tol=0.5) for then, current in known
    )


def _with(now: Readout, added: dict[str, Any]) -> Readout:
    """The readout with these values where it has none."""
    new = {name: value for name, value in added.items() if getattr(now.observation, name) is None}
    readings = {name: Reading.exactly(float(value)) for name, value in new.items() if _is_number(value)}
    observation = now.observation.model_copy(update=new)
    return replace(now, observation=observation, readings={**now.readings, **readings})


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
