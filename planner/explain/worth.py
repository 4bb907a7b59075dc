"""Break-even prices and speeds as sentences: ``would win at 2.91 USD per GPU-hour or less, today 3.59``."""

from __future__ import annotations

import math
from fractions import Fraction

from planner import numbers
from planner.explain.break_even import BreakEven, Threshold
from planner.schema.explanation import Worth

_WOULD_WIN = "would win"


def worth(found: BreakEven) -> Worth:
    """The document of a break-even, with its sentence."""
    price, speed = found.price, found.speed
    return Worth(
        gpu=found.gpu,
        usd_per_gpu_hour=float(found.usd_per_gpu_h),
        price=price.verdict if price is not None else None,
        wins_at_usd_per_gpu_hour=_number(price),
        speed=speed.verdict,
        wins_at_speed=_number(speed),
        text=f"{found.gpu}: {_sentence(found)}.",
    )


def _number(threshold: Threshold | None) -> float | None:
    return None if threshold is None or threshold.value is None else float(threshold.value)


def _sentence(found: BreakEven) -> str:
    price = _price(found)
    parts = [part for part in (price, _speed(found, price)) if part]
    return "; ".join(parts) or "a limit ended the search for its break-even"


def _price(found: BreakEven) -> str:
    """Prices are rounded down: at the price that is shown it wins."""
    if found.price is None or found.price.verdict == "unknown":
        return ""
    today = f"today {numbers.usd(float(found.usd_per_gpu_h))}"
    if found.price.verdict == "always":
        return f"is used at any price, {today}"
    if found.price.verdict == "never" or found.price.value is None:
        return f"would not win even for nothing, {today}"
    bound = f"{_rounded_down(found.price.value)} per GPU-hour"
    if found.price.value >= found.usd_per_gpu_h:
        return f"is worth using up to {bound}, {today}"
    return f"{_WOULD_WIN} at {bound} or less, {today}"


def _speed(found: BreakEven, price: str) -> str:
    """Factors are rounded up: at the speed that is shown it wins."""
    if found.speed.verdict == "unknown":
        return ""
    if found.speed.verdict == "always":
        return "is used even at a thousandth of its speed"
    if found.speed.verdict == "never" or found.speed.value is None:
        return "at today's price and latencies it would not win however much a replica carried"
    factor = f"{math.ceil(found.speed.value * 100) / 100:.4g}"
    if found.speed.value <= 1:
        return f"is worth using down to {factor} of its speed"
    if price.startswith(_WOULD_WIN):
        return f"or at today's price with {factor} times the speed"
    return f"{_WOULD_WIN} with {factor} times the speed"


def _rounded_down(usd: Fraction) -> str:
    """Cents, or three significant digits below one dollar, never more than the value."""
    exponent = 0 if usd >= 1 or usd == 0 else math.floor(math.log10(usd))
    step = Fraction(10) ** (exponent - 2)
    return numbers.usd(float(math.floor(usd / step) * step))
