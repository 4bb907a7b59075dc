"""Formats that the problem allows: feasible when, infeasible when."""

from candidate_samples import bits, evaluation

from planner.constraints.precision import PrecisionConstraint


def check(*marked):
    found = evaluation(structural={"precision": bits(3, *marked)})
    return PrecisionConstraint().check(found)


def test_feasible_when_the_formats_are_allowed():
    verdict = check()
    assert verdict.id == "precision:chat"
    assert not verdict.violated.any()
    assert (verdict.slack >= 0).all()


def test_infeasible_when_a_format_is_not_allowed():
    verdict = check(1)
    assert verdict.violated.tolist() == [False, True, False]
    assert verdict.slack.tolist() == [0, -1, 0]
    assert verdict.texts[1] == "weights bf16, KV bf16"
