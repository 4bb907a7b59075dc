"""Three-valued comparisons: exact numbers, intervals, flags, names, limits, and what is unknown."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.diagnosis.truth import every, grounds, judge, negated, some
from planner.schema.conditions import Condition, Threshold
from planner.schema.readings import Reading

LIMITS = {
    "long": Threshold.model_validate(
        {"value": 10, "meaning": "Too many.", "source": {"document": "here", "section": "1"}}
    ),
    "half": Threshold.model_validate(
        {"value": "0.5", "meaning": "Half.", "source": {"document": "here", "section": "1"}}
    ),
}
DEPTH = "queue_depth"


def condition(**fields):
    return Condition.model_validate(fields)


def between(low, high):
    return Reading((low + high) / 2, low, high)


def truth(known, **fields):
    return judge(condition(**fields), LIMITS, known)


@pytest.mark.parametrize(
    ("op", "low", "high", "expected"),
    [
        (">", 11, 12, True), (">", 10, 12, None), (">", 9, 10, False), (">", 8, 9, False),
        (">=", 10, 12, True), (">=", 9, 12, None), (">=", 9, 10, None), (">=", 8, 9, False),
        ("<", 8, 9, True), ("<", 8, 10, None), ("<", 10, 12, False),
        ("<=", 8, 10, True), ("<=", 8, 11, None), ("<=", 11, 12, False),
        ("==", 10, 10, True), ("==", 9, 11, None), ("==", 11, 12, False),
        ("!=", 10, 10, False), ("!=", 9, 11, None), ("!=", 11, 12, True),
    ],
)  # fmt: skip
def test_intervals_decide_only_when_all_their_values_agree(op, low, high, expected):
    assert truth({DEPTH: between(low, high)}, metric=DEPTH, op=op, threshold="long") is expected


NUMBERS = st.integers(0, 6).map(float)
OPS = {
    "<": float.__lt__,
    "<=": float.__le__,
    ">": float.__gt__,
    ">=": float.__ge__,
    "==": float.__eq__,
    "!=": float.__ne__,
}


@given(st.sampled_from(sorted(OPS)), st.tuples(NUMBERS, NUMBERS), st.tuples(NUMBERS, NUMBERS))
def test_intervals_agree_with_every_pair_of_values_inside(op, left, right):
    known = {"batch_mean": between(*sorted(left)), "max_batch": between(*sorted(right))}
    found = truth(known, metric="batch_mean", op=op, of="max_batch")
    values = [
        [bounds[0] + (bounds[1] - bounds[0]) * step / 60 for step in range(61)]
        for bounds in (sorted(left), sorted(right))
    ]
    outcomes = {OPS[op](one, other) for one, other in itertools.product(*values)}
    assert found is (outcomes.pop() if len(outcomes) == 1 else None)


def test_unknown_stays_unknown():
    assert truth({}, metric=DEPTH, op=">", threshold="long") is None
    assert truth({"batch_mean": Reading.exactly(1)}, metric="batch_mean", op=">", of="max_batch") is None
    for pair in itertools.product((True, False, None), repeat=2):
        numbers = [{True: 2, None: 1, False: 0}[one] for one in pair]
        back = {2: True, 1: None, 0: False}
        assert every(list(pair)) is back[min(numbers)]
        assert some(list(pair)) is back[max(numbers)]
    assert [negated(one) for one in (True, False, None)] == [False, True, None]


def test_a_factor_and_a_substitute():
    half = {"metric": "batch_mean", "op": ">=", "of": "max_batch", "times": "half"}
    assert truth({"batch_mean": Reading.exactly(32), "max_batch": Reading.exactly(64)}, **half) is True
    assert truth({"batch_mean": Reading.exactly(31), "max_batch": Reading.exactly(64)}, **half) is False
    late = {"metric": "ttft_p99_s", "op": ">", "of": "slo.ttft_p99_s", "otherwise": "long"}
    assert truth({"ttft_p99_s": Reading.exactly(11)}, **late) is True
    known = {"ttft_p99_s": Reading.exactly(11), "slo.ttft_p99_s": Reading.exactly(12)}
    assert truth(known, **late) is False  # the user's own limit wins


def test_limits_names_and_flags():
    unlimited = {"max_input_tokens": Reading.exactly(math.inf)}
    assert truth(unlimited, metric="max_input_tokens", op="==", value="unlimited") is True
    limited = {"max_input_tokens": Reading.exactly(8192)}
    assert truth(limited, metric="max_input_tokens", op="==", value="unlimited") is False
    names = {"metric": "routing", "op": "in", "value": ["round-robin", "load-aware"]}
    assert truth({"routing": "load-aware"}, **names) is True
    assert truth({"routing": "cache-aware"}, **names) is False
    assert truth({"host_oom": True}, metric="host_oom", op="!=", value=True) is False


def test_grounds_are_the_comparisons_that_hold():
    known = {DEPTH: Reading.exactly(12), "host_oom": False}
    whole = condition(
        all=[
            {
                "any": [
                    {"metric": DEPTH, "op": ">", "threshold": "long"},
                    {"metric": DEPTH, "op": "<", "value": 1},
                ]
            },
            {"not": {"metric": "host_oom", "op": "==", "value": True}},
        ]
    )
    found = [(one.metric, one.op, one.basis) for one in grounds(whole, LIMITS, known)]
    assert found == [(DEPTH, ">", "long"), ("host_oom", "!=", "value")]
    assert list(grounds(whole, LIMITS, {})) == []
