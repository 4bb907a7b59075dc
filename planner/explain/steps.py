"""One step of a limit: the smallest loosening that somebody would ask for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from planner import numbers
from planner.explain.axis import Axis, Value

_TENTH = Fraction(1, 10)
_POINT = Fraction(1, 100)
_OFF_WORDS = {"precision": ("as stated", "any format"), "service": ("served", "not served"),
              "layouts": ("fixed", "by-hour"), "places": ("one place", "several places")}  # fmt: skip


@dataclass(frozen=True)
class Step:
    """A limit one step looser."""

    text: str
    value: Value


def step(axis: Axis) -> Step:
    """One GPU or replica, one point of headroom or utilization, 1 % of demand, else 10 %; off for yes or no.

    A limit may state its own step (``NamedLimit.step``), such as a server where GPUs are sold by servers. No
    further than the loosest value that makes sense; today's value where the limit stands there.
    """
    limit = axis.limit
    if axis.form == "switch":
        return Step(switch_words(limit.kind)[1], None)
    wanted = _TENTH * abs(axis.today)
    if limit.whole:
        wanted = Fraction(1)
    elif limit.kind in ("headroom", "utilization", "share"):
        wanted = _POINT
    elif limit.kind == "demand":
        wanted = _POINT * axis.today
    if limit.step is not None:
        wanted = limit.step
    distance = wanted if axis.end is None else min(wanted, axis.distance(axis.end))
    return Step(_text(axis, distance), axis.at(distance))


def switch_words(kind: str) -> tuple[str, str]:
    """A yes or no as it stands, and taken away."""
    return _OFF_WORDS.get(kind, ("on", "off"))


def _text(axis: Axis, distance: Fraction) -> str:
    sign = "-" if axis.limit.falls else "+"
    if axis.limit.whole:
        return f"{sign}{numbers.exact(float(distance), axis.limit.unit)}"
    if axis.limit.kind == "headroom":
        return f"{sign}{_percent(distance)} of demand"
    if axis.limit.kind == "utilization":
        return f"{sign}{_percent(distance)} of capacity"
    if axis.limit.kind == "share":
        return f"{sign}{_percent(distance)} of the GPUs"
    if axis.limit.step is not None:
        return f"{sign}{float(distance):.4g} {axis.limit.unit}"
    return f"{sign}{_percent(distance / (abs(axis.today) or 1))}"


def _percent(share: Fraction) -> str:
    return f"{float(share * 100):.3g} %"
