"""Defaults that moved between versions are named as what moved a plan."""

from __future__ import annotations

import pytest

from planner.explain.difference import difference, is_cause

OLD = {"planner": "0.1.0"}
WORKLOADS = [{"name": "chat", "model": "llama-3.1-8b"}]


@pytest.fixture
def pair(make_plan, chat_plan):
    """A plan of the version before and one of today, of problems with some keys."""

    def make(**problem):
        made = chat_plan.provenance.model_dump()
        inputs = chat_plan.inputs.model_dump()
        before = make_plan(inputs=inputs | {"problem": problem}, provenance=made | OLD)
        return before, make_plan(inputs=inputs | {"problem": problem})

    return make


def named(before, after):
    return [item for item in difference(before, after) if item.what == "input:fleet.routing.policy"]


def test_what_was_random_is_least_loaded(pair):
    before, after = pair(workloads=WORKLOADS, fleet={})
    (entry,) = named(before, after)
    assert is_cause(entry)
    assert "least-loaded" in entry.after
    assert "random" in entry.before
    assert "policy: random gives the former" in entry.text
    (back,) = named(after, before)
    assert "random" in back.after


def test_a_stated_router_did_not_move(pair):
    router = {"routing": {"policy": "random"}}
    assert named(*pair(workloads=WORKLOADS, fleet=router)) == []
    assert named(*pair(workloads=[WORKLOADS[0] | router], fleet={})) == []
    assert named(*pair(workloads=[WORKLOADS[0] | router, {"name": "other"}], fleet={}))


def test_tables_of_workers_keep_their_meaning(pair):
    assert named(*pair(workloads=WORKLOADS, fleet={}, workers="table.csv")) == []


def test_the_same_version_moved_nothing(chat_plan):
    assert named(chat_plan, chat_plan) == []
