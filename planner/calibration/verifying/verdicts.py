"""Verdicts: each limit in each run, then each limit over all runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planner import numbers
from planner.calibration.verifying.intervals import SHARES, Measured, measured
from planner.calibration.verifying.loads import Limits, PlannedLoad, compared, weights
from planner.calibration.verifying.ranks import fewest_requests
from planner.queueing.lengths import normal_score
from planner.schema.benchmark import BenchmarkPoint
from planner.schema.pool import Pool
from planner.schema.verification import LimitChecked, LoadCompared, RunChecked, Verdict

_TAIL_SHARE = 0.9
"""Of a run: what the answers on their way at its end may take off its time at most."""


@dataclass(frozen=True)
class Tested:
    """A workload with its limits in seconds and its runs."""

    planned: PlannedLoad
    limits_s: dict[str, float]
    runs: tuple[BenchmarkPoint, ...]


def checked_runs(tested: Tested, limits: Limits) -> tuple[RunChecked, ...]:
    """The runs with their loads."""
    found = []
    for point in tested.runs:
        sides = compared(point, tested.planned, limits)
        found.append(
            RunChecked(
                where=point.where,
                source=point.source,
                workload=tested.planned.workload,
                requests=point.completed + point.failed,
                failed=point.failed,
                load=sides,
                matches=not weights(sides),
            )
        )
    return tuple(found)


def checked_limits(tested: Tested, limits: Limits) -> tuple[LimitChecked, ...]:
    """Every limit of a workload, and that its demand is carried."""
    confidence = limits["verify_confidence"].value
    loads = [compared(point, tested.planned, limits) for point in tested.runs]
    rows = []
    for name, limit_s in tested.limits_s.items():
        metric, statistic = name.split("_")
        found = [
            _latency(tested, point, sides, (metric, statistic, limit_s), confidence)
            for point, sides in zip(tested.runs, loads, strict=True)
        ]
        rows.append(over_runs(found, _unmeasured(tested, metric, statistic, limit_s, confidence)))
    if tested.planned.peak_rps is not None:
        most = tested.planned.peak_rps
        tolerance = limits["verify_rate_tolerance"].value
        carried = [
            _carried(tested, point, sides, tolerance, confidence)
            for point, sides in zip(tested.runs, loads, strict=True)
        ]
        rows.append(over_runs(carried, _unmeasured(tested, "demand", "rate", most, confidence)))
    return tuple(rows)


def over_runs(found: Sequence[LimitChecked], without: LimitChecked) -> LimitChecked:
    """One limit over its runs: a run that breaks it decides, then the longest that holds it.

    Open: the run with the most requests tells why.
    """
    for verdict in ("breaks", "holds", "open"):
        decided = [row for row in found if row.verdict == verdict]
        if decided:
            return max(decided, key=lambda row: row.requests)
    return without


def verdict_of(rows: Sequence[LimitChecked]) -> Verdict:
    """Of everything together; open where there is nothing to judge."""
    found = {row.verdict for row in rows}
    if "breaks" in found:
        return "breaks"
    return "holds" if found == {"holds"} else "open"


def _unmeasured(
    tested: Tested, metric: str, statistic: str, promised: float, confidence: float
) -> LimitChecked:
    return LimitChecked(
        id=f"{metric}:{tested.planned.workload}",
        statistic=statistic,
        promised=promised,
        predicted=_predicted(tested.planned.pools, metric, statistic),
        measured=None,
        low=None,
        high=None,
        unit="1/s" if metric == "demand" else "s",
        confidence=confidence,
        verdict="open",
        requests=0,
        reason="no run tests this workload",
    )


def _predicted(pools: Sequence[Pool], metric: str, statistic: str) -> float | None:
    if metric == "demand":
        return None
    stated = [getattr(pool, f"{metric}_s").get(statistic) for pool in pools]
    return max((value for value in stated if value is not None), default=None)


def _latency(
    tested: Tested,
    point: BenchmarkPoint,
    sides: tuple[LoadCompared, ...],
    limit: tuple[str, str, float],
    confidence: float,
) -> LimitChecked:
    metric, statistic, promised = limit
    seen = measured(point, metric, statistic, confidence)
    verdict, reason = _judged(seen, promised, statistic, confidence)
    verdict, reason = _at_this_load(verdict, reason, sides)
    row = _unmeasured(tested, metric, statistic, promised, confidence)
    return row.model_copy(update=_shown(seen) | {"verdict": verdict, "where": point.where, "reason": reason})


def _judged(seen: Measured, promised: float, statistic: str, confidence: float) -> tuple[Verdict, str]:
    """Whether the interval lies on one side of the limit."""
    if seen.high <= promised:
        return "holds", ""
    if seen.low > promised:
        why = seen.note or f"even the lower bound, {numbers.seconds(seen.low)}, is above the limit"
        return "breaks", why
    if seen.note:
        return "open", seen.note
    if math.isinf(seen.high) and statistic in SHARES:
        least = fewest_requests(SHARES[statistic], confidence)
        few = f"{seen.requests:,} requests bound no {statistic.upper()} from above"
        return "open", f"{few} at {numbers.share(confidence)}: at least {least:,} independent ones do"
    return "open", "the limit lies inside the interval; a longer run makes it narrower"


def _at_this_load(verdict: Verdict, reason: str, sides: tuple[LoadCompared, ...]) -> tuple[Verdict, str]:
    """A heavier load than planned can prove a promise, a lighter one can only break it."""
    off = weights(sides)
    fits = off <= ({"heavier"} if verdict == "holds" else {"lighter"})
    if verdict == "open" or fits:
        more = "; ".join(side.text for side in sides if side.text and side.weight in off)
        beside = {
            "holds": f"also under a heavier load ({more})",
            "breaks": f"also under a lighter load ({more})",
        }
        return verdict, "; ".join(filter(None, [reason, beside.get(verdict, "") if off else ""]))
    against = "lighter" if verdict == "holds" else "heavier"
    texts = [side.text for side in sides if side.weight in ("other", against)]
    return "open", f"not the load of the plan: {'; '.join(texts)}"


def _carried(
    tested: Tested,
    point: BenchmarkPoint,
    sides: tuple[LoadCompared, ...],
    tolerance: float,
    confidence: float,
) -> LimitChecked:
    """The rate that was answered, against the peak.

    Answers that are on their way when the last request is sent make a run look slower than it was: the upper
    bound leaves their time out. Arrivals at random differ by 1 / sqrt(n) from their rate.
    """
    promised = tested.planned.peak_rps or 0.0
    row = _unmeasured(tested, "demand", "rate", promised, confidence)
    rate, count = point.requests_per_s, point.completed
    if not rate or not count:
        return row.model_copy(update={"where": point.where, "reason": "the file states no rate of answers"})
    scatter = normal_score((1.0 + confidence) / 2.0) / math.sqrt(count)
    time_s = count / rate
    tail_s = min(max(point.e2e_s.get(name, 0.0) for name in ("mean", "p99", "max")), _TAIL_SHARE * time_s)
    low, high = rate * max(1.0 - scatter, 0.0), count / (time_s - tail_s) * (1.0 + scatter)
    verdict: Verdict = "open"
    reason = "the run is too short to tell its rate"
    if low >= promised * (1.0 - tolerance):
        verdict, reason = "holds", ""
    elif high < promised * (1.0 - tolerance):
        verdict, reason = "breaks", "fewer requests were answered than the plan carries"
    elif point.offered_rps is not None and point.offered_rps < promised * (1.0 - tolerance):
        reason = f"only {point.offered_rps:g} requests/s were sent"
    if verdict == "breaks":
        verdict, reason = _short_of(point, sides, promised * (1.0 - tolerance), reason)
    shown = {"measured": rate, "low": low, "high": high, "requests": count + point.failed}
    update = shown | {
        "verdict": verdict,
        "where": point.where,
        "reason": reason,
        "basis": "requests answered",
    }
    return row.model_copy(update=update)


def _short_of(
    point: BenchmarkPoint, sides: tuple[LoadCompared, ...], least: float, reason: str
) -> tuple[Verdict, str]:
    """Only a run that sent so much, and is not heavier in anything else, shows that it is not carried."""
    closed = [side for side in sides if side.what == "rate" and side.unit == "requests in flight"]
    if closed and closed[0].weight in ("as planned", "heavier"):
        return _at_this_load("breaks", reason, tuple(side for side in sides if side not in closed))
    if point.offered_rps is None or point.offered_rps < least:
        sent = (
            "by clients that wait for answers" if point.offered_rps is None else f"at {point.offered_rps:g}/s"
        )
        return "open", f"the requests were sent {sent}: no more could be answered"
    other = tuple(side for side in sides if not (side.what == "rate" and side.weight == "heavier"))
    return _at_this_load("breaks", reason, other)


def _shown(seen: Measured) -> dict[str, object]:
    return {
        "measured": seen.value if math.isfinite(seen.value) else None,
        "low": seen.low if math.isfinite(seen.low) else None,
        "high": seen.high if math.isfinite(seen.high) else None,
        "requests": seen.requests,
        "basis": seen.basis,
    }
