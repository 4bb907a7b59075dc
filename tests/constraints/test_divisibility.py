"""Shapes that split evenly: feasible when, infeasible when."""

import dataclasses

from candidate_samples import bits, evaluation, holds_at_least, lot, space
from step_samples import DENSE, MOE

from planner.candidates.enumerate import enumerate_candidates
from planner.constraints.divisibility import DivisibilityConstraint
from planner.schema.search import Search

MODEL = dataclasses.replace(DENSE, query_heads=64, kv_heads=8, layers=80)


def check(model, **search):
    """The verdict over what the search really marks, and the degrees in its order."""
    found = enumerate_candidates(
        space(model=model, search=Search(**search), everything=True), [lot()], holds_at_least(99)
    )
    verdict = DivisibilityConstraint().check(
        evaluation(found.configurations, model=model, structural=found.structural)
    )
    degrees = [(item.tp, item.pp, item.ep) for item in found.configurations]
    return dict(zip(degrees, verdict.violated.tolist(), strict=True))


def test_feasible_when_heads_experts_and_layers_divide():
    assert check(MODEL, tp=(8,), pp=(1, 2)) == {(8, 1, 1): False, (8, 2, 1): False}
    assert check(MOE, tp=(2,), ep=(1, 2), pp=(1,), attention_dp=(1,)) == {(2, 1, 1): False, (2, 1, 2): False}


def test_infeasible_when_heads_do_not_divide():
    assert check(MODEL, tp=(3, 6), pp=(1,)) == {(3, 1, 1): True, (6, 1, 1): True}


def test_infeasible_when_a_stage_has_no_layer():
    assert check(MODEL, tp=(1,), pp=(100,)) == {(1, 100, 1): True}


def test_infeasible_when_experts_do_not_divide():
    odd = dataclasses.replace(MOE, experts=9)
    assert check(odd, tp=(2,), ep=(2,), pp=(1,), attention_dp=(1,)) == {(2, 1, 2): True}
    assert check(MOE, tp=(2,), ep=(4,), pp=(1,), attention_dp=(1,)) == {(2, 1, 4): True}


def test_the_verdict_says_what_was_to_be_split():
    verdict = DivisibilityConstraint().check(evaluation(structural={"divisibility": bits(3, 2)}))
    assert verdict.id == "divisibility:chat"
    assert verdict.texts[2] == "10 query heads, 2 KV heads, 4 layers over tp 4, pp 1, ep 1"
    assert verdict.slack.tolist() == [0, 0, -1]
