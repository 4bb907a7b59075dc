"""Values put into a document by path."""

from decimal import Decimal

import pytest

from planner.errors import InputError
from planner.loaders.set_path import read_list, read_value, with_changes

VALUES = {
    "name": "p",
    "workloads": [
        {"name": "chat", "slo": {"ttft_p99": "1500 ms"}},
        {"name": "qwen2.5-rag", "demand": {"peak_rps": 4}},
    ],
    "fleet": {"stock": {"h100-sxm": 8}},
}


def test_items_of_a_list_go_by_their_name():
    changed = with_changes(VALUES, {"workloads.chat.slo.ttft_p99": "500 ms"})
    assert changed["workloads"][0]["slo"] == {"ttft_p99": "500 ms"}
    assert VALUES["workloads"][0]["slo"] == {"ttft_p99": "1500 ms"}


def test_a_name_may_hold_dots():
    changed = with_changes(VALUES, {"workloads.qwen2.5-rag.demand.peak_rps": 9})
    assert changed["workloads"][1]["demand"]["peak_rps"] == 9


def test_items_may_go_by_their_place():
    assert with_changes(VALUES, {"workloads.1.model": "x"})["workloads"][1]["model"] == "x"


def test_keys_on_the_way_are_made():
    assert with_changes(VALUES, {"search.tp": [1, 2]})["search"] == {"tp": [1, 2]}


def test_null_takes_a_key_away():
    assert with_changes(VALUES, {"fleet.stock.h100-sxm": None})["fleet"]["stock"] == {}
    assert with_changes(VALUES, {"fleet.budget": None})["fleet"] == VALUES["fleet"]


def test_every_path_that_leads_nowhere_is_told():
    paths = {"workloads.chatt.slo": 1, "name.x": 1, "a..b": 1, "workloads.chat": 1}
    with pytest.raises(InputError) as refused:
        with_changes(VALUES, paths)
    text = str(refused.value)
    assert len(refused.value.faults) == 4
    assert 'Maybe "chat"?' in text
    assert "one of chat, qwen2.5-rag" in text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("60 USD/h", "60 USD/h"),
        ("8", 8),
        ("0.25", Decimal("0.25")),
        ("[fp8, bf16]", ["fp8", "bf16"]),
        ("{p50: 3}", {"p50": 3}),
        ("null", None),
        ("", None),
    ],
)
def test_values_read_as_in_a_file(text, value):
    assert read_value(text) == value


def test_sweeps_are_lists_of_values():
    assert read_list("40, 60,80") == [40, 60, 80]
    assert read_list("[fp8], [bf16, fp8]") == [["fp8"], ["bf16", "fp8"]]


@pytest.mark.parametrize("text", ["", "[", "{a", ": :"])
def test_bad_lists_are_refused(text):
    with pytest.raises(InputError):
        read_list(text)


@pytest.mark.parametrize("text", ["[1", "{a: ", "a\nb: c"])
def test_bad_values_are_refused(text):
    with pytest.raises(InputError):
        read_value(text)


@pytest.mark.parametrize("text", ["\udcff", "a\ud800", "[\udc80]"])
def test_bytes_that_are_no_text_are_refused(text):
    with pytest.raises(InputError, match="bytes that are no text"):
        read_value(text)
