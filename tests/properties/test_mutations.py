# ruff: noqa: E501  (messages stand here as they are shown)
"""Whatever a file holds, loading it succeeds or raises InputError with a place, and does so soon."""

import copy
import random
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from more import seeds

from planner.errors import InputError
from planner.loaders.catalog import load_catalog
from planner.loaders.problem import load_problem
from planner.loaders.rules import load_planning_rules
from planner.loaders.validation import validated
from planner.loaders.yaml_source import parse_document
from planner.schema.catalog_index import FOLDERS
from planner.schema.rules import PlanningRule

ROOT = Path(__file__).parents[2]
PROBLEMS = sorted((ROOT / "problems").glob("*.yaml"))
ENTRIES = sorted(path for kind in FOLDERS for path in (ROOT / "catalog" / kind).glob("*.yaml"))
RULES = sorted((ROOT / "rules" / "planning").glob("*.yaml"))
SCALARS = [
    "", "~", "yes", "0", "-1", "1e400", ".inf", ".nan", "nan", "-0.0", "9" * 50, "1" * 5000, "1:30", "2025-11-21",
    "010", "0x10", "1_000", "true", "[]", "{}", "[[]]", "{a: 1}", "1500", "1500 ms", "1e999999999 GB", "-3 GB", "10 %",
    "1e-400 s", "'1e-500'", "\u00e9\u4e2d", "\U0001f600", '"\\0"', "'a/b'", "../../etc", "*x", "&x 1", "!!int 3", "? x",
    "|\n  text", "a: b: c", "%", "@", "`", "\u2028", "x" * 5000, "[1, 2, 3]", "1e5000000", "0.1e-5000000",
    "'\\\\x00'", "\u0665", "~/none", "https://example.org", "a\\b", ".", "..", "/", "con:",
]  # fmt: skip
SEEDS = seeds(1000)


@pytest.fixture(scope="module")
def catalog():
    return load_catalog()


def containers(value):
    found = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict | list) and item:
            found.append(item)
            stack += item.values() if isinstance(item, dict) else item
    return found


def steps(container):
    return list(container) if isinstance(container, dict) else list(range(len(container)))


def change_tree(random_source, tree):
    """Delete, copy, rename, replace or nest one value."""
    container = random_source.choice(containers(tree))
    step = random_source.choice(steps(container))
    kind = random_source.randrange(6)
    if kind == 0:
        del container[step]
    elif kind == 1 and isinstance(container, dict):
        name = "".join(random_source.sample(str(step), len(str(step)))) or "x"
        container[name] = container.pop(step)
    elif kind == 1:
        container.append(copy.deepcopy(container[step]))
    elif kind == 2:
        other = random_source.choice(containers(tree))
        container[step] = copy.deepcopy(other)
    elif kind == 3:
        nested = container[step]
        for _ in range(random_source.choice([1, 5, 60])):
            nested = [nested] if random_source.random() < 0.5 else {"a": nested}
        container[step] = nested
    elif kind == 4:
        container[step] = random_source.choice(
            [None, True, -1, 0, 10**30, 1.5, "", "x", [], {}, [[]], 1e300, -0.0]
        )
    else:
        container[step] = f"@{random_source.randrange(len(SCALARS))}@"


def change_text(random_source, text):
    """Swap a scalar of a line, double a line, indent it, or cut the text."""
    lines = text.splitlines()
    number = random_source.randrange(len(lines))
    line = lines[number]
    kind = random_source.randrange(5)
    if kind == 0:
        lines.insert(number, line)
    elif kind == 1:
        lines[number] = random_source.choice([" ", "\t", "- ", "  - ", "? "]) + line
    elif kind == 2 and ":" in line:
        lines[number] = f"{line.split(':')[0]}: {random_source.choice(SCALARS)}"
    elif kind == 3:
        lines[number] = line.replace(
            random_source.choice(":{}[],- "), random_source.choice([":", "{", "}", "&", "*", ""])
        )
    else:
        lines = lines[:number]
    return "\n".join(lines) + "\n"


def change_bytes(random_source, data):
    changed = bytearray(data)
    for _ in range(random_source.choice([1, 3, 30])):
        changed[random_source.randrange(len(changed))] = random_source.randrange(256)
    return bytes(changed)


def mutated(seed, path):
    random_source = random.Random(seed)
    text = path.read_text()
    kind = random_source.randrange(3)
    if kind == 0:
        tree = yaml.safe_load(text)
        for _ in range(random_source.choice([1, 1, 2, 5])):
            if containers(tree):
                change_tree(random_source, tree)
        text = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
        for number, scalar in enumerate(SCALARS):
            text = text.replace(f"'@{number}@'", scalar)
        return text.encode("utf-8", "surrogatepass")
    if kind == 1:
        for _ in range(random_source.choice([1, 1, 2, 5])):
            text = change_text(random_source, text) if text.strip() else text
        return text.encode("utf-8", "surrogatepass")
    return change_bytes(random_source, text.encode())


def check(problem):
    assert problem.faults
    for fault in problem.faults:
        text = str(fault)
        assert "\n" not in text
        assert len(text) < 4000
        assert fault.where
        assert fault.found
        assert fault.expected


@pytest.mark.more
def test_problem_files(tmp_path, catalog):
    path = tmp_path / "x.yaml"
    refused = 0
    for seed in SEEDS:
        path.write_bytes(mutated(seed, PROBLEMS[seed % len(PROBLEMS)]))
        try:
            load_problem(path, catalog)
        except InputError as problem:
            check(problem)
            refused += 1
    assert len(SEEDS) / 2 < refused < len(SEEDS)  # most mutations hurt, some do not


@pytest.mark.more
def test_catalog_files():
    refused = 0
    for seed in SEEDS:
        path = ENTRIES[(seed * 7) % len(ENTRIES)]
        try:
            validated(FOLDERS[path.parent.name], parse_document(mutated(seed, path), path.name))
        except InputError as problem:
            check(problem)
            refused += 1
    assert len(SEEDS) / 2 < refused < len(SEEDS)


@pytest.mark.more
def test_rule_files():
    assert load_planning_rules()
    for seed in SEEDS[: len(SEEDS) // 3]:
        path = RULES[seed % len(RULES)]
        try:
            validated(PlanningRule, parse_document(mutated(seed, path), path.name))
        except InputError as problem:
            check(problem)


def test_random_bytes():
    random_source = random.Random(1)
    for _ in range(300):
        data = random_source.randbytes(random_source.randrange(200))
        try:
            parse_document(data, "x")
        except InputError as problem:
            check(problem)


def test_numbers_stay_exact():
    for seed in range(200):
        random_source = random.Random(seed)
        number = Decimal(random_source.randrange(10**12)).scaleb(-random_source.randrange(12))
        assert parse_document(f"a: {number:f}\n".encode(), "x").value["a"] == number
