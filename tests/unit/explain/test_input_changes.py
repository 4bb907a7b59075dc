"""Keys of problems that differ, by path."""

import pytest

from planner.explain.input_changes import input_changes


def changes(before, after):
    return [(entry.what, entry.before, entry.after, entry.text) for entry in input_changes(before, after)]


def test_list_items_are_named_as_in_set():
    before = {"workloads": [{"name": "chat", "slo": {"itl_p99": "0.06 s"}}, {"name": "docs", "n": 1}]}
    after = {"workloads": [{"name": "docs", "n": 1}, {"name": "chat", "slo": {"itl_p99": "0.03 s"}}]}
    assert changes(before, after) == [
        (
            "input:workloads.chat.slo.itl_p99",
            "0.06 s",
            "0.03 s",
            "workloads.chat.slo.itl_p99 is 0.03 s; before, 0.06 s.",
        )
    ]


def test_keys_that_come_and_go():
    assert changes({"x": 1}, {"y": 2}) == [
        ("input:y", None, 2, "y is 2; before, it was not set."),
        ("input:x", 1, None, "x is not set; before, it was 1."),
    ]
    assert changes({"fleet": {"budget": "20 USD/h"}}, {"fleet": {"max_gpus": 8}}) == [
        (
            "input:fleet.max_gpus",
            "the default: no limit",
            8,
            "fleet.max_gpus is 8; before, the default: no limit.",
        ),
        (
            "input:fleet.budget",
            "20 USD/h",
            "the default: no limit",
            "fleet.budget is the default: no limit; before, it was 20 USD/h.",
        ),
    ]


def test_lists_and_maps_are_one_value_where_one_side_lacks_them():
    after = {"fleet": {"accelerators": ["h100-sxm", "l40s"], "prices": {"l40s": "1 USD/h"}}, "mix": True}
    assert [item[2:] for item in changes({"mix": False}, after)] == [
        (
            "{accelerators: [h100-sxm, l40s], prices: {l40s: 1 USD/h}}",
            "fleet is {accelerators: [h100-sxm, l40s], prices: {l40s: 1 USD/h}}; before, it was not set.",
        ),
        (True, "mix is true; before, false."),
    ]


def test_a_long_value_is_kept_but_not_told():
    long = {"lengths": list(range(40))}
    (entry,) = input_changes({}, long)
    assert entry.text == "lengths is something longer; before, it was not set."
    assert str(entry.after).startswith("[0, 1, 2,")


@pytest.mark.parametrize(
    ("before", "after"), [("40", "40.0"), (1, "1"), (None, None), ("4e1", "40"), ([1, 2], [1, 2])]
)
def test_the_same_value_written_otherwise_is_no_change(before, after):
    assert input_changes({"x": before}, {"x": after}) == ()


@pytest.mark.parametrize(("before", "after"), [(True, 1), ("a", "b"), ([1], [2]), (0, None), ("nan", "inf")])
def test_other_values_are_changes(before, after):
    assert len(input_changes({"x": before}, {"x": after})) == 1
