"""Sentences about break-even prices and speeds; each is rounded so that what it says is true."""

from fractions import Fraction

import pytest

from planner.explain.break_even import BreakEven
from planner.explain.threshold import Threshold
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


def test_several_lines_are_told_by_a_factor_on_their_prices():
    """2.9199 of 3.59 is 0.8133: rounded down."""
    found = BreakEven("h200-sxm", Fraction("3.59"), at("2.9199"), UNKNOWN, told="lines")
    assert worth(found).text == (
        "h200-sxm: would win at 0.813 times today's prices or less, today from 3.59 USD per GPU-hour."
    )
    assert worth(found).wins_at_usd_per_gpu_hour == 2.9199
    nothing = BreakEven("h200-sxm", Fraction("3.59"), at("0"), UNKNOWN, told="lines")
    assert "would win at 0 times today's prices or less" in worth(nothing).text


def test_one_line_is_told_by_its_name():
    found = worth(BreakEven("h200-sxm", Fraction("3.59"), at("4"), UNKNOWN, "h200-sxm/spot"))
    assert found.gpu == "h200-sxm"
    assert found.text == f"h200-sxm/spot: is worth using up to 4.00 USD per GPU-hour, {TODAY}."


@pytest.mark.parametrize(
    ("price", "text"),
    [
        (at("0.34567"), "would win at 0.345 times today's prices or less"),
        (at("1.5"), "is worth using up to 1.5 times today's prices"),
        (ALWAYS, "is used at any price"),
        (NEVER, "would not win even for nothing"),
    ],
)
def test_an_outside_supplier_has_no_price_per_gpu(price, text):
    found = worth(BreakEven("chat/api", Fraction(1), price, UNKNOWN, told="supplier"))
    assert found.text == f"chat/api: {text}."
    assert (found.usd_per_gpu_hour, found.wins_at_usd_per_gpu_hour) == (0.0, None)


def test_what_is_sure_of_a_search_that_was_cut_is_told():
    cut = Threshold("unknown", at_least=Fraction("2.119"))
    assert told(cut, UNKNOWN) == f"h200-sxm: is surely worth using up to 2.11 USD per GPU-hour, {TODAY}."
