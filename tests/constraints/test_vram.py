"""Device memory: feasible when, infeasible when."""

import numpy as np
from candidate_samples import evaluation

from planner.constraints.vram import MemoryConstraint


def check(**columns):
    return MemoryConstraint().check(evaluation(**{name: np.array(value) for name, value in columns.items()}))


def test_feasible_when_one_sequence_fits():
    verdict = check(needed_bytes=[10e9, 71e9, 72e9], max_sequences=[900, 2, 1])
    assert verdict.id == "vram:chat"
    assert not verdict.violated.any()
    assert verdict.slack.tolist() == [62e9, 1e9, 0]


def test_infeasible_when_no_sequence_fits():
    verdict = check(needed_bytes=[10e9, 73e9, 141e9], max_sequences=[900, 0, 0])
    assert verdict.violated.tolist() == [False, True, True]
    assert verdict.slack.tolist() == [62e9, -1e9, -69e9]


def test_infeasible_when_loading_needs_more_than_the_card():
    """60 GB of weights with a second copy of half: 90 GB on a card of 80 GB, although 60 would do later."""
    verdict = check(load_peak_bytes=[90e9, 80e9, 79e9])
    assert verdict.violated.tolist() == [True, False, False]
    assert (verdict.value[0], verdict.limit[0]) == (90e9, 72e9)
