"""Texts in YAML documents are texts for every reader."""

import pytest
import yaml

from planner.loaders.write import documents_yaml


@pytest.mark.parametrize(
    "text",
    ["y", "N", "yes", "on", "off", "true", "null", "~", "", "1", "1e3", "0x1F", "0o17", "12:30", "1.0", ".5",
     "-1", "+2", "1_000", "2026-11-23", "=", "<<", "8000:8000", "0.0.0.0"],
)  # fmt: skip
def test_what_another_reader_takes_for_something_else_is_quoted(text):
    page = documents_yaml([{"value": text, "list": [text]}])
    assert yaml.safe_load(page) == {"value": text, "list": [text]}
    value = page.splitlines()[1].removeprefix("value: ")
    assert value[0] == value[-1] == "'", page


def test_numbers_and_truth_stay_what_they_are():
    page = documents_yaml([{"a": 1, "b": 2.5, "c": True, "d": None, "e": "plain words"}])
    assert page == "---\na: 1\nb: 2.5\nc: true\nd: null\ne: plain words\n"
