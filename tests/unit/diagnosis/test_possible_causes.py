"""Causes that partial evidence makes possible, and strengths that are never more than the evidence."""

import pytest

from planner.diagnosis.findings import diagnose
from planner.diagnosis.graph import build
from planner.schema.debugger import DebuggerRule, KnobEntry, Rulebook, Symptom
from planner.schema.readings import Reading

SOURCE = {"document": "here", "section": "1"}
LATE = {"metric": "ttft_p99_s", "op": ">", "threshold": "slow"}
SLOW = {"value": 2, "meaning": "late", "source": SOURCE, "of": "ttft_predicted_s", "times": 4}


def flag(name, value=True):
    return {"metric": name, "op": "==", "value": value}


def rule(name, when, **more):
    action = {
        "action": "act", "text": "Do.", "knob": "max_batch", "direction": "lower", "expect": "Less.",
        "cost": "restart", "safe": True,
    }  # fmt: skip
    return DebuggerRule.model_validate(
        {
            "id": name, "title": name, "layer": "L3", "symptom": "late", "when": when, "strength": "strong",
            "cause": "A cause.", "because": "For the test.", "then": [action], "source": SOURCE,
            "stop": {"when": flag("host_oom", False), "text": "Done."},
        }
        | more
    )  # fmt: skip


def ask(*rules, single_sample=False, unless=None, **values):
    symptom = {"id": "late", "title": "Late", "severity": "degraded", "when": LATE, "source": SOURCE}
    more = {"unless": unless} if unless else {}
    seen = Symptom.model_validate(symptom | {"thresholds": {"slow": SLOW}} | more)
    knob = KnobEntry.model_validate({"id": "max_batch", "title": "Batch", "note": "here", "source": SOURCE})
    book = Rulebook({"late": seen}, {one.id: one for one in rules}, {"max_batch": knob}, {})
    known = {name: v if isinstance(v, bool | str) else Reading.exactly(v) for name, v in values.items()}
    return diagnose(build(book), book, known, single_sample)


HINTED = {"possible": [{"when": flag("chunked_prefill"), "unless": flag("prefix_caching")}]}


def test_a_hint_makes_a_cause_possible_until_its_evidence_decides():
    hinted = rule("hinted", flag("host_oom"), **HINTED)
    assert ask(hinted, ttft_p99_s=3.0).findings == ()
    (found,) = ask(hinted, ttft_p99_s=3.0, chunked_prefill=True).findings
    assert (found.ranking.possible, found.ranking.strength, found.look_at) == (
        True,
        "suggestive",
        ("host_oom",),
    )
    assert ask(hinted, ttft_p99_s=3.0, chunked_prefill=True, prefix_caching=True).findings == ()
    excluded = ask(hinted, ttft_p99_s=3.0, chunked_prefill=True, host_oom=False)
    assert (excluded.findings, [one.rule for one in excluded.excluded]) == ((), ["hinted"])
    (shown,) = ask(hinted, ttft_p99_s=3.0, chunked_prefill=True, host_oom=True).findings
    assert (shown.ranking.possible, shown.ranking.strength) == (False, "strong")


@pytest.mark.parametrize(
    ("strength", "order"),
    [("suggestive", ["hinted", "shown"]), ("strong", ["shown", "hinted"])],
)
def test_a_possible_cause_explains_only_what_is_suggestive(strength, order):
    hinted = rule("hinted", flag("host_oom"), explains=["shown"], **HINTED)
    shown = rule("shown", flag("version_mismatch"), strength=strength)
    found = ask(hinted, shown, ttft_p99_s=3.0, chunked_prefill=True, version_mismatch=True)
    assert [one.rule for one in found.findings] == order


def test_conclusive_is_what_leaves_no_other_cause():
    one = rule("one", flag("host_oom"), strength="conclusive")
    other = rule("other", flag("version_mismatch"))
    alone = ask(one, other, ttft_p99_s=3.0, host_oom=True, version_mismatch=False)
    assert alone.findings[0].ranking.strength == "conclusive"
    undecided = ask(one, other, ttft_p99_s=3.0, host_oom=True)
    assert undecided.findings[0].ranking.strength == "strong"
    sampled = ask(one, other, single_sample=True, ttft_p99_s=3.0, host_oom=True, version_mismatch=False)
    assert sampled.findings[0].ranking.strength == "strong"


def test_a_symptom_that_is_excused_is_none():
    one = rule("one", flag("host_oom"))
    excuse = {"metric": "queue_depth", "op": "<=", "value": 1}
    assert ask(one, unless=excuse, ttft_p99_s=3.0, host_oom=True).findings
    assert not ask(one, unless=excuse, ttft_p99_s=3.0, host_oom=True, queue_depth=0.0).symptoms


def test_a_threshold_follows_the_prediction_where_there_is_one():
    one = rule("one", flag("host_oom"))
    assert not ask(one, ttft_p99_s=3.0, ttft_predicted_s=1.0, host_oom=True).symptoms
    assert ask(one, ttft_p99_s=1.0, ttft_predicted_s=0.2, host_oom=True).symptoms == ("late",)
