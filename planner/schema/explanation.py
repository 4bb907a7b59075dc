"""How a plan came about and how to see that it holds: the sizing steps, and targets for the monitoring."""

from __future__ import annotations

from typing import Literal

from planner.schema.base import Noun
from planner.schema.plan import Plan
from planner.schema.safety import SafetyStep

Verdict = Literal["at", "always", "never", "unknown"]
"""A threshold exists; whatever the value; not at any value; a limit ended the search for it."""


class Figure(Noun):
    """One number of the plan, with its name."""

    name: str
    value: float | int | str | None
    unit: str = ""
    """``s``, ``B``, ``USD/h``, ``fraction``, ``GPUs``, …; empty for words."""
    of: str = ""
    """The workload or pool, where there are several."""


class Step(Noun):
    """One of the thirteen steps of sizing, with what this plan says there."""

    number: int
    title: str
    asks: str
    """What the method asks for at this step."""
    section: str
    """Of the field guide."""
    figures: tuple[Figure, ...]
    verdict: tuple[str, ...]
    """What the figures say, a line each."""
    open: bool = False
    """Something is left to do or to know."""


class Target(Noun):
    """What one metric of one pool should read in production, and when to ring."""

    pool: str
    gpu: str
    """The hardware tier: metrics are never averaged over tiers."""
    metric: str
    """As `planner diagnose` names it, where it has a name for it."""
    expected: float | None
    """At the planned peak."""
    low: float | None = None
    """Alarm below."""
    high: float | None = None
    """Alarm above."""
    unit: str
    why: str
    """What the alarm means."""
    section: str
    """Of the field guide."""


class Worth(Noun):
    """The price and the speed at which a GPU type, one of its lines or a supplier would be worth using.

    Other things as they are.
    """

    gpu: str
    """Or the id of an outside supplier."""
    usd_per_gpu_hour: float
    """Of the line, or of the type's cheapest one that is paid, today; 0 of an outside supplier."""
    price: Verdict | None
    """None where cost is not minimized."""
    wins_at_usd_per_gpu_hour: float | None = None
    """Highest price at which an optimal plan uses it."""
    speed: Verdict
    """``never``: not however much more its replicas carry at today's price and latencies; ``always``: even at
    a thousandth of its speed; ``unknown`` too of one line or a supplier."""
    wins_at_speed: float | None = None
    """Smallest factor on what its replicas carry at which an optimal plan uses it."""
    text: str
    """The same as a sentence, rounded to the safe side."""


class Explanation(Noun):
    """Why a plan is what it is, and what to watch."""

    plan: Plan
    asked: str = ""
    """The candidate or GPU type that was asked about."""
    answer: tuple[str, ...] = ()
    """Why not that, a sentence each."""
    worth: tuple[Worth, ...] = ()
    """Of GPU types that were asked about, or of all."""
    steps: tuple[Step, ...] = ()
    """Only when asked for."""
    safety: tuple[SafetyStep, ...] = ()
    """The cheapest fleet at every layer of safety; only when asked for."""
    targets: tuple[Target, ...] = ()
