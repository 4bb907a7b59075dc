import json
import math

import pytest

from planner.report import json_document


def test_bytes_are_utf8_indented_and_end_in_a_line_break():
    assert json_document.encode({"name": "é"}) == '{\n  "name": "é"\n}\n'.encode()


def test_a_number_without_a_word_in_json_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_document.encode({"x": math.inf})


def test_plan_uses_the_names_of_the_contract(no_plan):
    document = json_document.of_plan(no_plan)
    assert document["schema"] == "planner/plan/1"
    assert document["relaxations"][0]["changes"][0]["from"] == 0.1
    assert "timing_s" not in document["provenance"]


def test_order_of_gpus_does_not_depend_on_how_the_plan_was_made(make_plan):
    one = make_plan(gpus={"b": 1, "a": 2})
    other = make_plan(gpus={"a": 2, "b": 1})
    assert json_document.encode(json_document.of_plan(one)) == json_document.encode(
        json_document.of_plan(other)
    )


def test_a_plan_survives_the_way_through_json(chat_plan):
    from planner.schema.plan import Plan

    document = json.loads(json_document.encode(json_document.of_plan(chat_plan)))
    assert Plan.model_validate(document) == chat_plan


def test_estimate_that_runs_has_no_reasons_against_it(make_estimate):
    assert "cannot_run" not in json_document.of_estimate(make_estimate())
