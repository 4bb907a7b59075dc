"""Answers are told apart by the objects that they are about."""

from __future__ import annotations

import planner
from planner.steptime.remembered import Remembered


def test_an_answer_is_computed_once_for_the_same_objects():
    known: Remembered[int] = Remembered(2)
    asked = []

    def answer():
        asked.append(1)
        return len(asked)

    one, other = ["a"], ["a"]
    assert known.of((one, 8), answer) == known.of((one, 8), answer) == 1
    assert known.of((other, 8), answer) == 2, "equal is not the same"
    assert known.of((one, 4), answer) == 3
    assert known.of((one, 8), answer) == 4, "the oldest has gone"


def test_a_configuration_asked_again_is_the_same_and_another_is_not():
    asked = {"model": "llama-3.1-8b", "gpu": "h100-sxm", "isl": 500, "osl": 100, "concurrency": 4}
    first = planner.estimate(**asked)
    for change in ({"memory_utilization": "60 %"}, {"engine": "sglang"}, {"tp": 2}, {"kv": "fp8"}):
        assert planner.estimate(**(asked | change)).memory_bytes != first.memory_bytes
    assert planner.estimate(**asked) == first
