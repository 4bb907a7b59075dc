import pytest

from planner.errors import InputError
from planner.loaders.selector import parse_selector

LABELS = {"model_name": "llama-70b", "namespace": "prod-eu"}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("", True),
        ('model_name="llama-70b"', True),
        ('{model_name="llama-70b", namespace=~"prod.*"}', True),
        ('model_name!="llama-70b"', False),
        ('namespace=~"prod"', False),  # the whole label must match
        ('namespace!~"dev.*"', True),
        ('pod=""', True),  # absent is empty
        ('pod="a"', False),
    ],
)
def test_matchers(text, holds):
    assert parse_selector(text).holds(LABELS) is holds


@pytest.mark.parametrize("text", ["llama", 'a="b"} or {c="d"', 'a="b" c="d"', 'a=~"("', 'a="b', "x" * 2000])
def test_anything_else_is_refused(text):
    with pytest.raises(InputError):
        parse_selector(text)
