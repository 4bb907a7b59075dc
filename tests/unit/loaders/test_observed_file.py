"""Files of observed values."""

import math

import pytest

from planner.app.observe import observed
from planner.errors import InputError
from planner.schema.readings import Reading


def load(tmp_path, text, name="seen.yaml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return observed(path)


def test_yaml_and_json_say_the_same(tmp_path):
    yaml = load(tmp_path, "kv_usage_ratio: 0.97\noom: none\ntp: 4\nslo: {ttft_p99_s: 1.5}\n")
    json = load(
        tmp_path, '{"kv_usage_ratio": 0.97,\t"oom": "none",\n"tp": 4, "slo": {"ttft_p99_s": 1.5}}', "s.json"
    )
    assert yaml == json
    assert yaml.readings == {
        "kv_usage_ratio": Reading.exactly(0.97),
        "tp": Reading.exactly(4),
        "slo.ttft_p99_s": Reading.exactly(1.5),
    }


def test_null_is_unlimited_and_absent_is_unknown(tmp_path):
    assert load(tmp_path, "max_input_tokens: null\n").observation.model_fields_set == {"max_input_tokens"}
    assert "max_output_tokens" not in load(tmp_path, "max_input_tokens: 4096\n").observation.model_fields_set


def refusal(tmp_path, text, name="seen.yaml"):
    with pytest.raises(InputError) as refused:
        load(tmp_path, text, name)
    return refused.value.faults


def test_all_faults_at_once_with_their_lines(tmp_path):
    faults = refusal(
        tmp_path, "kv_usage: 0.9\nttft_p99_s: 1500 ms\n\nkv_usage_ratio: 97 %\nchunked_prefill: 1\ntp: 2.5\n"
    )
    assert [(fault.where.rpartition(":")[2], fault.key) for fault in faults] == [
        ("1", "kv_usage"),
        ("2", "ttft_p99_s"),
        ("4", "kv_usage_ratio"),
        ("5", "chunked_prefill"),
        ("6", "tp"),
    ]
    assert [fault.maybe for fault in faults[:3]] == ['"kv_usage_ratio"', "1.5", "0.97"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('kv_usage_ratio: "0.97"', "kv_usage_ratio"),
        ("kv_usage_ratio: 97", "kv_usage_ratio"),
        ("kv_usage_ratio: .nan", "kv_usage_ratio"),
        ("ttft_p99_s: -1", "ttft_p99_s"),
        ("oom: sometimes", "oom"),
        ("slo: {ttft_p99: 1}", "slo.ttft_p99"),
        ("tp: true", "tp"),
        ("kv_usage_ratio: 0.1\nkv_usage_ratio: 0.2", "kv_usage_ratio"),
        ("host_oom: yes", "host_oom"),
    ],
)
def test_impossible_values(tmp_path, text, key):
    assert key in [fault.key for fault in refusal(tmp_path, text)]


@pytest.mark.parametrize(
    "text", ['{"tp": 1, "tp": 2}', "[1]", "{", "", '{"tp": NaN}', "{" * 5000, '{"tp": 1e999999}']
)
def test_documents_that_are_none(tmp_path, text):
    refusal(tmp_path, text, "seen.json")


def test_numbers_stay_finite(tmp_path):
    readout = load(tmp_path, "queue_depth: 1e20\n")
    assert math.isfinite(readout.readings["queue_depth"].value)
