"""The search for the largest factor that fits, on questions whose answer is known."""

from fractions import Fraction

import pytest

from planner.planning.capacity.largest import LEAST, Tried, largest

TOLERANCE = Fraction(1, 10_000)


def asked(most, stops=(), *, tells=True, patience=10**9):
    """Whatever is at most ``most`` fits; an answer carries up to the next of ``stops``, if it tells."""
    seen = []

    def ask(factor):
        seen.append(factor)
        if factor > most:
            return Tried("breaks" if len(seen) < patience else "open")
        own = min((stop for stop in stops if stop >= factor), default=factor)
        return Tried("fits", "a plan", own if tells else factor)

    return largest(ask, TOLERANCE), seen


@pytest.mark.parametrize("most", [Fraction(1, 3), Fraction(1), Fraction(10, 3), Fraction(12345), LEAST])
def test_the_end_is_found_within_the_tolerance_and_proved(most):
    found, seen = asked(most)
    assert found.proved(TOLERANCE)
    assert found.fits <= most < found.breaks <= found.fits * (1 + TOLERANCE)
    assert len(seen) == len(set(seen)) < 60


def test_what_an_answer_carries_makes_the_end_exact():
    found, seen = asked(Fraction(10, 3), (Fraction(1, 7), Fraction(10, 3)))
    assert found.fits == Fraction(10, 3)
    assert len(seen) < 8


def test_an_answer_that_promises_too_much_is_not_believed():
    found, _ = asked(Fraction(5, 2), (Fraction(100),))
    assert found.fits <= Fraction(5, 2) < found.breaks <= found.fits * (1 + TOLERANCE)


def test_nothing_fits():
    found, seen = asked(LEAST / 2)
    assert (found.fits, found.answer) == (None, None)
    assert seen == [1, LEAST]
    assert found.proved(TOLERANCE)


def test_everything_fits():
    found, _ = asked(Fraction(10**30))
    assert found.endless


def test_what_is_left_open_is_no_proof():
    found, _ = asked(Fraction(5, 2), patience=0)
    assert found.fits <= Fraction(5, 2)
    assert (found.breaks, found.proved(TOLERANCE)) == (None, False)
