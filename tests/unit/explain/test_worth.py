"""Sentences about break-even prices and speeds; each is rounded so that what it says is true."""

from fractions import Fraction

import pytest

from planner.explain.break_even import BreakEven, Threshold
from planner.explain.worth import worth


def told(price, speed, today=Fraction("3.59")):
    return worth(BreakEven("h200-sxm", today, price, speed)).text


def at(text):
    return Threshold("at", Fraction(text))


NEVER, ALWAYS, UNKNOWN = Threshold("never"), Threshold("always"), Threshold("unknown")


TODAY = "today 3.59 USD"


@pytest.mark.parametrize(
    ("price", "speed", "text"),
    [
        (
            at("2.9199"),
            at("1.2301"),
            f"would win at 2.91 USD per GPU-hour or less, {TODAY}; "
            "or at today's price with 1.24 times the speed",
        ),
        (
            at("4.10"),
            at("0.871"),
            f"is worth using up to 4.10 USD per GPU-hour, {TODAY}; is worth using down to 0.88 of its speed",
        ),
        (
            at("0.051299"),
            NEVER,
            f"would win at 0.0512 USD per GPU-hour or less, {TODAY}; "
            "at today's price and latencies it would not win however much a replica carried",
        ),
        (
            NEVER,
            at("2"),
            f"would not win even for nothing, {TODAY}; would win with 2 times the speed",
        ),
        (ALWAYS, ALWAYS, f"is used at any price, {TODAY}; is used even at a thousandth of its speed"),
        (None, at("2"), "would win with 2 times the speed"),
        (at("0"), UNKNOWN, f"would win at 0.00 USD per GPU-hour or less, {TODAY}"),
        (UNKNOWN, UNKNOWN, "a limit ended the search for its break-even"),
    ],
)
def test_sentences(price, speed, text):
    assert told(price, speed) == f"h200-sxm: {text}."


def test_the_document_holds_the_exact_numbers():
    found = worth(BreakEven("h200-sxm", Fraction("3.59"), at("2.9199"), UNKNOWN))
    assert (found.usd_per_gpu_hour, found.price, found.wins_at_usd_per_gpu_hour) == (3.59, "at", 2.9199)
    assert (found.speed, found.wins_at_speed) == ("unknown", None)
