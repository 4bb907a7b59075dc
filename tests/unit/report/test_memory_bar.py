from hypothesis import given
from hypothesis import strategies as st

from planner.report.memory_bar import cells


def test_hand_counted():
    # 10 cells of 100 bytes: 55 -> 5.5, 30 -> 3.0, 14 -> 1.4, 1 -> 0.1. The spare cell goes to the largest
    # remainder, then the part of 0.1 gets its one cell from the largest part.
    assert cells([55, 30, 14, 1], 10) == [5, 3, 1, 1]


def test_nothing_to_draw():
    assert cells([0, 0], 10) == [0, 0]


@given(st.lists(st.floats(0, 1e12), min_size=6, max_size=6), st.integers(6, 64))
def test_every_part_is_seen_and_the_bar_is_full(sizes, width):
    drawn = cells(sizes, width)
    if sum(sizes) > 0:
        assert sum(drawn) == width
    assert all((count > 0) == (part > 0) for count, part in zip(drawn, sizes, strict=True))
