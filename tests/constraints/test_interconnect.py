"""One stage in one server: feasible when, infeasible when."""

import dataclasses

from candidate_samples import evaluation, holds_at_least, lot, space
from step_samples import DENSE

from planner.candidates.enumerate import enumerate_candidates
from planner.constraints.interconnect import InterconnectConstraint
from planner.schema.search import Search

MODEL = dataclasses.replace(DENSE, query_heads=64, kv_heads=8)


def check(degrees, where):
    found = enumerate_candidates(
        space(model=MODEL, search=Search(tp=degrees, pp=(1,)), everything=True), [where], holds_at_least(1)
    )
    return InterconnectConstraint().check(evaluation(found.configurations, structural=found.structural))


def test_feasible_when_the_group_lies_in_the_server():
    verdict = check((4, 8), lot())
    assert verdict.id == "interconnect:chat"
    assert not verdict.violated.any()
    assert verdict.slack.tolist() == [4, 0]


def test_feasible_when_a_rack_shares_the_link():
    verdict = check((16,), lot(unit=4, limit=72, link=72))
    assert not verdict.violated.any()
    assert verdict.slack.tolist() == [0]


def test_infeasible_when_the_group_is_larger():
    verdict = check((8, 16), lot())
    assert verdict.violated.tolist() == [False, True]
    assert (verdict.value[1], verdict.limit[1], verdict.unit) == (16, 8, "GPUs")
    assert check((2,), lot(unit=1)).violated.all()
