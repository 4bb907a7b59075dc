"""Why a GPU type cannot serve, by hand."""

import numpy as np
from candidate_samples import bits, evaluation, lot, verdict
from step_samples import accelerator, configuration

from planner.explain.why_not import refused_by, relative_miss, why_not

OTHER = accelerator(id="other")
ITEMS = (
    configuration(),
    configuration(tp=2),
    configuration(accelerator=OTHER),
    configuration(accelerator=OTHER, tp=2),
)


def lines(*verdicts, lots=(), refused=None):
    admitted = ~np.logical_or.reduce([item.violated for item in verdicts])
    return {line.gpu: line.why for line in why_not(evaluation(ITEMS), verdicts, admitted, lots, refused)}


def test_the_line_is_about_the_candidate_that_is_nearest():
    found = lines(verdict("vram:chat", [99e9, 84e9, 10e9, 10e9], 80e9, "B"))
    assert found == {"box": "vram:chat: needs 78.2 GiB on one GPU, 74.5 GiB may be filled"}


def test_fewer_broken_constraints_are_nearer_than_smaller_misses():
    found = lines(
        verdict("vram:chat", [81e9, 200e9, 0, 0], 80e9, "B"),
        verdict("ttft:chat", [2.1, 1.0, 0, 0], 2.0, "s"),
    )
    assert found["box"] == "vram:chat: needs 186 GiB on one GPU, 74.5 GiB may be filled"


def test_among_equals_the_smallest_miss_tells():
    found = lines(
        verdict("vram:chat", [0, 160e9, 0, 0], 80e9, "B"),
        verdict("itl:chat", [0.055, 0.01, 0, 0], 0.05, "s"),
    )
    assert found["box"] == "itl:chat: reaches 55.0 ms at best, the limit is 50.0 ms"


def test_a_bit_is_further_than_any_number():
    found = lines(verdict("some-rule", [1, 0, 0, 0], 0), verdict("ttft:chat", [0, 50.0, 0, 0], 1.0, "s"))
    assert found["box"].startswith("ttft:chat: reaches 50000.0 ms")
    assert lines(verdict("some-rule", [1, 1, 0, 0], 0)) == {"box": "some-rule: title of some-rule"}


def test_texts_say_what_was_found():
    texts = ("one", "two", "three", "four")
    found = lines(verdict("precision:chat", [1, 1, 0, 0], 0, texts=texts))
    assert found == {"box": "precision:chat: title of precision:chat (one)"}


def test_every_type_that_fails_has_its_line_under_the_problem_s_name():
    found = lines(
        verdict("context:chat", [9000] * 4, 8192, "tokens"),
        lots=[lot("my-box"), lot("spare", accelerator=OTHER)],
    )
    text = "context:chat: needs 9,000 tokens, the window is 8,192 tokens"
    assert found == {"my-box": text, "spare": text}


def test_types_without_any_candidate_are_not_forgotten():
    found = lines(
        verdict("vram:chat", [0, 0, 0, 0], 1, "B"),
        lots=[
            lot("my-box"),
            lot("third", accelerator=accelerator(id="third")),
            lot("fourth", accelerator=accelerator(id="fourth")),
        ],
        refused={"third": "vendor-unsupported: no backend"},
    )
    assert found == {
        "third": "vendor-unsupported: no backend",
        "fourth": "no layout of this model has a place on it",
    }


def test_refused_by_names_the_rule_that_refuses_most():
    candidates = evaluation(ITEMS).candidates
    refusals = {"first": bits(4, 0, 2), "second": bits(4, 2, 3)}
    assert refused_by(candidates, refusals, {"first": "A", "second": "B"}) == {"other": "second: B"}
    assert refused_by(candidates, {}, {}) == {}


def test_relative_miss():
    value, limit = np.array([3.0, 1.0, 1.0, np.inf]), np.array([2.0, 2.0, 0.0, 2.0])
    assert relative_miss(value, limit, "s").tolist() == [0.5, 0.0, 1.0, np.inf]
    assert relative_miss(value[2:3], limit[2:3], "").tolist() == [np.inf]
