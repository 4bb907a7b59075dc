"""Walks over small rulebooks: branches, ranks, explanations, and the measurement that decides most."""

import pytest

from planner.diagnosis.findings import diagnose
from planner.diagnosis.graph import build
from planner.schema.debugger import DebuggerRule, KnobEntry, Rulebook, Symptom
from planner.schema.readings import Reading

SOURCE = {"document": "here", "section": "1"}
LATE = {"metric": "ttft_p99_s", "op": ">", "value": 1}


def flag(name, value=True):
    return {"metric": name, "op": "==", "value": value}


def rule(name, when, strength="strong", knob="max_batch", **more):
    action = {
        "action": "act", "text": "Do.", "knob": knob, "direction": "lower", "expect": "Less.",
        "cost": "restart", "safe": True,
    }  # fmt: skip
    return {
        "id": name, "title": name, "layer": "L3", "symptom": "late", "when": when, "strength": strength,
        "cause": "A cause.", "because": "For the test.", "then": [action], "source": SOURCE,
        "stop": {"when": flag("host_oom", False), "text": "Done."},
    } | more  # fmt: skip


def book(*rules):
    symptom = Symptom.model_validate(
        {"id": "late", "title": "Late", "severity": "degraded", "when": LATE, "source": SOURCE}
    )
    knob = {"id": "max_batch", "title": "Batch", "metric": "max_batch", "note": "here", "source": SOURCE}
    other = {"id": "kv_precision", "title": "KV", "metric": "kv_precision", "note": "h", "source": SOURCE}
    knobs = {one["id"]: KnobEntry.model_validate(one) for one in (knob, other)}
    read = {one["id"]: DebuggerRule.model_validate(one) for one in rules}
    return Rulebook({"late": symptom}, read, knobs, {})


def ask(rulebook, **values):
    known = {
        name: v if isinstance(v, bool | str | Reading) else Reading.exactly(v) for name, v in values.items()
    }
    return diagnose(build(rulebook), rulebook, known)


def rules_of(found):
    return [finding.rule for finding in found.findings]


def test_nothing_without_its_symptom():
    rulebook = book(rule("one", flag("host_oom")))
    assert rules_of(ask(rulebook, ttft_p99_s=2, host_oom=True)) == ["one"]
    healthy = ask(rulebook, ttft_p99_s=0.5, host_oom=True)
    assert (healthy.findings, healthy.symptoms, healthy.open, healthy.need) == ((), (), (), ())
    blind = ask(rulebook, host_oom=True)
    assert (blind.findings, blind.unjudged, blind.need) == ((), ("late",), ("ttft_p99_s",))


def test_a_branch_stays_open_until_it_is_decided():
    rulebook = book(rule("one", flag("host_oom")), rule("two", flag("prefix_caching", False)))
    half = ask(rulebook, ttft_p99_s=2, prefix_caching=True)
    assert half.findings == ()
    assert [(one.rule, one.unknown) for one in half.open] == [("one", ("host_oom",))]
    assert half.need == ("host_oom",)
    assert rules_of(ask(rulebook, ttft_p99_s=2, prefix_caching=True, host_oom=True)) == ["one"]


@pytest.mark.parametrize(
    ("values", "order"),
    [
        ({}, ["strong-one", "weak-one"]),
        ({"prefix_caching": True, "chunked_prefill": True}, ["weak-one", "strong-one"]),
        ({"chunked_prefill": True}, ["strong-one", "weak-one"]),
        (
            {"prefix_caching": True, "chunked_prefill": True, "version_mismatch": True},
            ["strong-one", "weak-one"],
        ),
    ],
)
def test_evidence_moves_findings_step_by_step(values, order):
    rulebook = book(
        rule("strong-one", flag("host_oom")),
        rule(
            "weak-one",
            flag("host_oom"),
            "suggestive",
            supports=[flag("prefix_caching"), flag("chunked_prefill")],
            against=[flag("version_mismatch")],
        ),
    )
    assert rules_of(ask(rulebook, ttft_p99_s=2, host_oom=True, **values)) == order


def test_a_cause_comes_before_its_consequences():
    rulebook = book(
        rule("consequence", flag("host_oom"), "conclusive"),
        rule("root", flag("prefix_caching"), "suggestive", explains=["consequence"]),
    )
    found = ask(rulebook, ttft_p99_s=2, host_oom=True, prefix_caching=True)
    assert rules_of(found) == ["root", "consequence"]
    assert found.findings[1].ranking.explained_by == ("root",)


def test_the_metric_that_decides_most_is_asked_for_first():
    shared = {"all": [flag("prefix_caching"), flag("chunked_prefill")]}
    rulebook = book(
        rule("one", shared),
        rule("two", {"all": [flag("prefix_caching"), flag("host_oom")]}),
        rule("three", {"all": [flag("prefix_caching"), flag("version_mismatch")]}),
    )
    # False settles three causes at once, true none; each of the others settles one at best.
    assert ask(rulebook, ttft_p99_s=2).need == ("prefix_caching",)
    assert ask(rulebook, ttft_p99_s=2, prefix_caching=True).need == (
        "chunked_prefill",
        "host_oom",
        "version_mismatch",
    )


def test_a_coarse_number_is_asked_for_again():
    rulebook = book(rule("one", {"metric": "kv_usage_ratio", "op": "==", "value": 1}))
    found = ask(rulebook, ttft_p99_s=2, kv_usage_ratio=Reading(0.95, 0.9, 1.0))
    assert found.need == ("kv_usage_ratio",)
    assert found.open[0].unknown == ("kv_usage_ratio",)
    assert ask(rulebook, ttft_p99_s=2, kv_usage_ratio=Reading(0.85, 0.8, 0.9)).need == ()


def test_what_is_done_already_is_not_advised():
    action = {
        "action": "halve", "text": "Do.", "knob": "kv_precision", "direction": "set", "to": "fp8",
        "expect": "Less.", "cost": "restart", "safe": True,
    }  # fmt: skip
    one = rule("one", flag("host_oom"))
    one["then"] = [action, one["then"][0]]
    before = ask(book(one), ttft_p99_s=2, host_oom=True, kv_precision="bf16", max_batch=64)
    assert [(a.id, a.from_value, a.to) for a in before.findings[0].actions] == [
        ("halve", "bf16", "fp8"),
        ("act", 64.0, None),
    ]
    after = ask(book(one), ttft_p99_s=2, host_oom=True, kv_precision="fp8")
    assert [a.id for a in after.findings[0].actions] == ["act"]
    assert after.findings[0].path == ("symptom:late", "evidence:one", "cause:one", "action:one/act")


def test_what_would_rule_a_cause_out_only_counts_when_it_is_known():
    rulebook = book(
        rule("doubted", flag("host_oom"), unless=flag("prefix_caching")),
        rule("plain", flag("host_oom"), "suggestive", supports=[flag("chunked_prefill")]),
    )
    unknown = ask(rulebook, ttft_p99_s=2, host_oom=True, chunked_prefill=True)
    assert rules_of(unknown) == ["plain", "doubted"]
    assert [one.ranking.in_doubt for one in unknown.findings] == [False, True]
    assert rules_of(ask(rulebook, ttft_p99_s=2, host_oom=True, prefix_caching=False)) == ["doubted", "plain"]
    assert rules_of(ask(rulebook, ttft_p99_s=2, host_oom=True, prefix_caching=True)) == ["plain"]
