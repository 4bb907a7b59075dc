# ruff: noqa: E501  (messages stand here as they are shown)
"""YAML text turned into plain values."""

from decimal import Decimal

import pytest

from planner.errors import InputError
from planner.loaders.yaml_source import parse_document


def value_of(text):
    return parse_document(f"key: {text}\n".encode(), "x.yaml").value["key"]


def refused(data):
    try:
        document = parse_document(data, "x.yaml")
    except InputError as problem:
        return str(problem).splitlines()
    return [str(fault) for fault in document.faults]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("~", None),
        ("", None),
        ("true", True),
        ("False", False),
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("2.10", Decimal("2.10")),
        (".5", Decimal("0.5")),
        ("1e3", Decimal("1000")),
        ("1.5E-3", Decimal("0.0015")),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("off", "off"),
        ("y", "y"),
        ("1:30", "1:30"),
        ("010", "010"),
        ("0x1f", "0x1f"),
        ("1_000", "1_000"),
        ("2025-11-21", "2025-11-21"),
        ("2025-11-21 10:00:00", "2025-11-21 10:00:00"),
        ('"5"', "5"),
        ("'true'", "true"),
        ('""', ""),
        ("1500 ms", "1500 ms"),
        ("=", "="),
        ("[1, {a: 2}]", [1, {"a": 2}]),
        ("{}", {}),
    ],
)
def test_scalars_mean_what_they_say(text, value):
    found = value_of(text)
    assert found == value
    assert type(found) is type(value)


def test_keys_are_text():
    assert parse_document(b"4090: a\ntrue: b\nnull: c\n", "x").value == {
        "4090": "a",
        "true": "b",
        "null": "c",
    }


def test_byte_order_mark_and_carriage_returns_are_read():
    assert parse_document(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n", "x").value == {"a": 1, "b": 2}


def test_lines_of_keys_and_items():
    document = parse_document(
        b"a: 1\nb:\n  - c: 2\n    d: |\n      text\n      more\n  - [3,\n     4]\n", "x.yaml"
    )
    lines = {path: document.lines[path] for path in document.lines}
    assert lines == {
        ("a",): 1,
        ("b",): 2,
        ("b", 0): 3,
        ("b", 0, "c"): 3,
        ("b", 0, "d"): 4,
        ("b", 1): 7,
        ("b", 1, 0): 7,
        ("b", 1, 1): 8,
    }
    assert document.where(("b", 0, "c", "deeper", 5)) == "x.yaml:3"
    assert document.where(()) == "x.yaml:1"


def test_aliases_stand_for_their_anchor():
    assert parse_document(b"a: &n [1, 2]\nb: *n\n", "x").value == {"a": [1, 2], "b": [1, 2]}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"a: &x [*x]\n",
            "x.yaml:1: a.0: found the alias *x, expected an anchor of that name before it, and not around it.",
        ),
        (
            b"a: *y\n",
            "x.yaml:1: a: found the alias *y, expected an anchor of that name before it, and not around it.",
        ),
        (b"a: 1\n*a : 2\n", "x.yaml:2: found an alias as key, expected a name."),
        (b"<<: 1\n", 'x.yaml:1: found the merge key "<<", expected keys written out.'),
        (b"a: -.INF\n", "x.yaml:1: a: found -.INF, expected a finite number."),
        (b"a: 1e31\n", "x.yaml:1: a: found 1e31, expected a number between 1e-30 and 1e30."),
        (
            b"a: 1e99999999999999999999\n",
            "x.yaml:1: a: found 1e99999999999999999999, expected a number between 1e-30 and 1e30.",
        ),
        (
            b"l:\n- name: n\n  b: {c: 1,\n   c: 2}\n",
            "x.yaml:4: l.n.b.c: found this key a second time (first in line 3), expected each key once.",
        ),
    ],
)
def test_what_is_refused(data, message):
    assert refused(data)[0] == message


def test_growing_aliases_are_stopped():
    levels = [b"k0: &k0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"]
    levels += [b"k%d: &k%d [%s]\n" % (n, n, b", ".join([b"*k%d" % (n - 1)] * 10)) for n in range(1, 20)]
    assert refused(b"".join(levels)) == [
        "x.yaml:5: k4.7: found more than 100000 values, expected at most 100000."
    ]


@pytest.mark.parametrize(
    "text",
    [
        b"a: " + b"[" * 20_000,
        b"{a: " * 20_000,
        b"- " * 20_000,
        b"".join(b" " * depth + b"a:\n" for depth in range(1000)),
    ],
    ids=["lists", "mappings", "items", "keys"],
)
def test_deep_nesting_is_stopped(text):
    assert "found more than 50 levels of nesting, expected at most 50." in refused(text)[0]


def test_faults_of_one_text_are_counted_up_to_a_limit():
    assert len(refused(b"a: 1\n" * 5000)) == 100


def test_a_file_of_many_values_is_read():
    row = b"  - {instance: p5, region: r, accelerator: h100, gpus: 8, on_demand: 98.32 USD/h, source: s}\n"
    data = b"offers:\n" + row * 2000
    assert len(parse_document(data, "x").value["offers"]) == 2000
