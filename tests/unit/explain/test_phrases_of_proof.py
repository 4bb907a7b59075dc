"""How far a plan may lie from the best, in words."""

import pytest

from planner.explain.phrases import distance


@pytest.mark.parametrize(
    ("gap", "words"),
    [
        (0.0, "as good as the best possible"),
        (2e-11, "within rounding of the best possible"),
        (0.012, "at most 1.2 % from the best possible"),
    ],
)
def test_a_gap_in_words(gap, words):
    assert distance(gap) == words
