"""Break-even prices and speeds as sentences: ``would win at 2.91 USD per GPU-hour or less, today 3.59``."""

from __future__ import annotations

import math
from fractions import Fraction

from planner import numbers
from planner.explain.break_even import BreakEven
from planner.explain.threshold import Threshold
from planner.schema.explanation import Worth

_WOULD_WIN = "would win"


def worth(found: BreakEven) -> Worth:
    """The document of a break-even, with its sentence."""
    price, speed = found.price, found.speed
    # An outside supplier has no price per GPU: its factor stands in the sentence only.
    per_gpu = found.told != "supplier"
    return Worth(
        gpu=found.gpu,
        usd_per_gpu_hour=float(found.usd_per_gpu_h) if per_gpu else 0.0,
        price=price.verdict if price is not None else None,
        wins_at_usd_per_gpu_hour=_number(price) if per_gpu else None,
        speed=speed.verdict,
        wins_at_speed=_number(speed),
        text=f"{found.line or found.gpu}: {_sentence(found)}.",
    )


def _number(threshold: Threshold | None) -> float | None:
    return None if threshold is None or threshold.value is None else float(threshold.value)


def _sentence(found: BreakEven) -> str:
    price = _price(found)
    parts = [part for part in (price, _speed(found, price)) if part]
    return "; ".join(parts) or "a limit ended the search for its break-even"


def _price(found: BreakEven) -> str:
    """Prices are rounded down: at the price that is shown it wins."""
    price, today = found.price, _today(found)
    if price is None:
        return ""
    if price.verdict == "unknown":
        sure = price.at_least
        return "" if sure is None else f"is surely worth using up to {_bound(found, sure)}{today}"
    if price.verdict == "always":
        return f"is used at any price{today}"
    if price.verdict == "never" or price.value is None:
        return f"would not win even for nothing{today}"
    bound = _bound(found, price.value)
    if price.value >= found.usd_per_gpu_h:
        return f"is worth using up to {bound}{today}"
    return f"{_WOULD_WIN} at {bound} or less{today}"


def _today(found: BreakEven) -> str:
    """The price today, with the comma before it; of a supplier that is one times its prices."""
    if found.told == "supplier":
        return ""
    usd = numbers.usd(float(found.usd_per_gpu_h))
    return f", today from {usd} per GPU-hour" if found.told == "lines" else f", today {usd}"


def _bound(found: BreakEven, value: Fraction) -> str:
    """A price, or a factor on several prices."""
    if found.told == "price":
        return f"{_usd_rounded_down(value)} per GPU-hour"
    factor = value if found.told == "supplier" else value / found.usd_per_gpu_h
    return f"{float(_rounded_down(factor)):.3g} times today's prices"


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


def _usd_rounded_down(usd: Fraction) -> str:
    """Cents, or three significant digits below one dollar, never more than the value."""
    step = Fraction(1, 100) if usd >= 1 or usd == 0 else _third_digit(usd)
    return numbers.usd(float(math.floor(usd / step) * step))


def _rounded_down(factor: Fraction) -> Fraction:
    """Three significant digits, never more than the value."""
    if factor == 0:
        return factor
    step = _third_digit(factor)
    return math.floor(factor / step) * step


def _third_digit(value: Fraction) -> Fraction:
    """What one of the third significant digit of a number above 0 is worth."""
    return Fraction(10) ** (math.floor(math.log10(value)) - 2)
