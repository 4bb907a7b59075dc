"""Differences of plans that were really solved: they add up, name what was changed, and fit the page."""

import copy

import pytest
from solved_problems import new_study, random_problem, solved, tightened

from planner.explain.difference import difference, is_cause
from planner.report import terminal, whatif_text
from planner.schema.answers import WhatIf

CHANGES = {
    3: ("slo 10 % shorter", "input:workloads."),
    8: ("demand up", "input:workloads."),
    5: ("redundancy 3", "input:fleet.redundancy"),
    14: ("one GPU fewer", "input:fleet.max_gpus"),
    21: ("bf16 only", "input:workloads."),
}


@pytest.fixture(scope="module", params=CHANGES, ids=str)
def pair(request):
    """A plan, the plan of the tightened problem, and where the change stands."""
    values = random_problem(request.param)
    name, path = CHANGES[request.param]
    study = new_study()
    before = solved(values, study)
    return before, solved(tightened(values, before, name), study), path


def test_what_was_changed_is_the_only_cause(pair):
    before, after, path = pair
    causes = [entry for entry in difference(before, after) if is_cause(entry)]
    assert causes
    assert all(entry.what.startswith(path) for entry in causes)


def test_entries_hold_the_numbers_of_the_plans(pair):
    before, after, _ = pair
    entries = {entry.what: entry for entry in difference(before, after)}
    if before.pools and after.pools:
        moved = before.cost_usd_per_hour != pytest.approx(after.cost_usd_per_hour, rel=1e-9)
        assert ("cost" in entries) == moved
        bought = {gpu: before.gpus.get(gpu, 0) for gpu in {*before.gpus, *after.gpus}}
        for what, entry in entries.items():
            if what.startswith("gpus:"):
                bought[what.removeprefix("gpus:")] += entry.after - entry.before
        assert {gpu: count for gpu, count in bought.items() if count} == after.gpus
    assert ("status" in entries) == (before.status != after.status)


def test_the_other_way_round_names_the_same_things(pair):
    before, after, _ = pair
    there = {entry.what.split("/")[0] for entry in difference(before, after)}
    back = {entry.what.split("/")[0] for entry in difference(after, before)}
    if before.pools and after.pools:
        assert {what for what in there if not what.startswith("pool:")} == {
            what for what in back if not what.startswith("pool:")
        }


def test_sentences_end_and_the_page_is_80_columns_wide(pair):
    before, after, _ = pair
    entries = difference(before, after)
    assert all(entry.text.endswith(".") for entry in entries)
    page = terminal.render(whatif_text.view(WhatIf(before=before, after=after, difference=entries)), width=80)
    assert all(len(line) <= 80 for line in page.splitlines())


def test_a_plan_does_not_differ_from_itself(pair):
    for plan in pair[:2]:
        assert difference(plan, copy.deepcopy(plan)) == ()
