"""Planted faults: every one is found, in words, with the file it stands in."""

from pathlib import Path

import pytest

from planner.app.diagnose import checked_rulebook
from planner.errors import InputError

GOOD = """\
id: mine
title: A rule
layer: L3
symptom: slow-first-token
when: {metric: queue_depth, op: ">", threshold: long}
strength: strong
cause: A cause.
because: For the test.
then:
  - {action: act, text: Do it., knob: max_batch, direction: lower, expect: Less., cost: restart, safe: false}
stop: {when: {metric: queue_depth, op: "==", value: 0}, text: Nothing waits.}
thresholds:
  long: {value: 10, meaning: Too many., source: {document: here, section: "1"}}
source: {document: here, section: "1"}
"""


def plant(folder, name="mine", text=GOOD):
    path = folder / "debugger" / "L3-backend" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def faults(folder, examples=None):
    with pytest.raises(InputError) as problem:
        checked_rulebook((folder,), examples)
    return str(problem.value)


def test_an_overlay_adds_and_replaces(tmp_path):
    own = checked_rulebook()
    plant(tmp_path)
    plant(tmp_path, "fleet-too-small", GOOD.replace("id: mine", "id: fleet-too-small"))
    rules = checked_rulebook((tmp_path,)).rules
    assert set(rules) == {*own.rules, "mine"}
    assert rules["fleet-too-small"].title == "A rule"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("knob: max_batch", "knob: max_bach", 'found "max_bach", expected one of max_batch, '),
        ('source: {document: here, section: "1"}\n', "", "source: found no such key, expected a value"),
        (
            ', source: {document: here, section: "1"}}',
            "}",
            "thresholds.long.source: found no such key, expected a value",
        ),
        ("threshold: long", "value: 10", "found value 10 for queue_depth, expected 0, 1, or a threshold"),
        ("threshold: long", "threshold: lang", 'found the threshold "lang", expected a threshold of this'),
        ('metric: queue_depth, op: ">"', 'metric: queue, op: ">"', 'found the metric "queue"'),
        ("layer: L3", "layer: L4b", 'layer: found "L4b", expected the layer of its folder, "L3".'),
        ("id: mine", "id: other", 'id: found "other", expected the name of the file, "mine".'),
        ("symptom: slow-first-token", "symptom: slow-first-tokens", 'Maybe "slow-first-token"?'),
        ("stop: {when", "explains: [nobody]\nstop: {when", 'explains: found "nobody", expected the id of a'),
    ],
)
def test_a_bad_rule_says_why(tmp_path, before, after, message):
    assert before in GOOD
    # The last one of equal texts is the one of the rule itself.
    head, tail = GOOD.rsplit(before, 1)
    path = plant(tmp_path, text=head + after + tail)
    said = faults(tmp_path)
    assert str(path) in said
    assert message in said


def test_faults_of_all_files_come_at_once(tmp_path):
    first = plant(tmp_path, "one", GOOD.replace("id: mine", "id: one").replace("max_batch", "batch"))
    second = plant(tmp_path, "two", GOOD.replace("id: mine", "id: two").replace("L3", "L9"))
    said = faults(tmp_path)
    assert str(first) in said
    assert str(second) in said


def test_an_orphan_symptom_is_found(tmp_path):
    folder = tmp_path / "debugger" / "symptoms"
    folder.mkdir(parents=True)
    (folder / "alone.yaml").write_text(
        "id: alone\ntitle: Alone\nseverity: waste\nwhen: {metric: queue_depth, op: '>', value: 0}\n"
        'source: {document: here, section: "1"}\n'
    )
    assert 'found the symptom "alone", which no rule names' in faults(tmp_path)


def without_stop(name, onward):
    lines = [
        line for line in GOOD.replace("id: mine", f"id: {name}").splitlines() if not line.startswith("stop:")
    ]
    return "\n".join([*lines, f"next: [{onward}]"]) + "\n"


def test_a_circle_without_a_stop_is_found(tmp_path):
    plant(tmp_path, "aa", without_stop("aa", "bb"))
    plant(tmp_path, "bb", without_stop("bb", "cc"))
    plant(tmp_path, "cc", without_stop("cc", "aa"))
    assert "next: found the circle aa -> bb -> cc -> aa, expected a stop" in faults(tmp_path)


def test_a_circle_with_a_stop_is_fine(tmp_path):
    plant(tmp_path, "aa", without_stop("aa", "bb"))
    plant(tmp_path, "bb", GOOD.replace("id: mine", "id: bb") + "next: [aa]\n")
    assert {"aa", "bb"} <= set(checked_rulebook((tmp_path,)).rules)


def test_causes_that_explain_each_other_are_found(tmp_path):
    plant(tmp_path, "aa", GOOD.replace("id: mine", "id: aa") + "explains: [bb]\n")
    plant(tmp_path, "bb", GOOD.replace("id: mine", "id: bb") + "explains: [aa]\n")
    assert "explains: found the circle aa -> bb -> aa" in faults(tmp_path)


def test_a_dead_end_is_found(tmp_path):
    plant(tmp_path, text=without_stop("mine", ""))
    assert "next: found a dead end, expected rules to look at next, or a stop" in faults(tmp_path)


def test_a_cheaper_action_after_a_dearer_one_is_found(tmp_path):
    action = (
        "  - {action: again, text: Do it., knob: admission, direction: lower, expect: Less., "
        "cost: config, safe: true}\n"
    )
    plant(tmp_path, text=GOOD.replace("stop: ", action + "stop: "))
    assert 'found "again", which is cheaper or safer than "act" before it' in faults(tmp_path)


def test_a_rule_without_examples_is_found(tmp_path):
    plant(tmp_path)
    said = faults(tmp_path, Path(__file__).parents[2] / "rules")
    assert "found no example in which it fires" in said
    assert "found no example in which it stays silent" in said


def test_files_in_no_layer_are_found(tmp_path):
    plant(tmp_path)
    (tmp_path / "debugger" / "L3-backned").mkdir()
    (tmp_path / "debugger" / "loose.yaml").write_text(GOOD)
    said = faults(tmp_path)
    assert "a folder of no layer" in said
    assert 'Maybe "L3-backend"?' in said
    assert "a file outside the folders" in said
