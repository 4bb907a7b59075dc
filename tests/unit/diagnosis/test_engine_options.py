"""Options that actions and knobs name are those of the engines, letter by letter."""

import re
from pathlib import Path

import pytest

from planner.app.diagnose import checked_rulebook
from planner.loaders.yaml_source import read_document

ROOT = Path(__file__).parents[3]
BOOK = checked_rulebook()
ENGINES = ("vllm", "sglang", "tensorrt-llm")
OTHER_PROGRAMS = re.compile(
    r"(nvidia-smi|kubectl|numactl|vllm bench|sglang\.bench|python benchmarks?/|the container)"
)


def options(engine):
    listed = read_document(ROOT / "catalog" / "options" / f"{engine}.yaml").value["options"]
    return {name for one in listed for name in one["names"]}


def written():
    for knob in BOOK.knobs.values():
        for engine, text in knob.flags.items():
            yield f"knob {knob.id}", engine, text
    for rule in BOOK.rules.values():
        for action in rule.then:
            for engine, text in action.flags.items():
                yield f"{rule.id}/{action.action}", engine, text


@pytest.mark.parametrize("engine", ENGINES)
def test_options_are_spelled_as_the_engine_spells_them(engine):
    known = options(engine)
    wrong = [
        (where, option)
        for where, of, text in written()
        if of == engine and not OTHER_PROGRAMS.search(text)
        for option in re.findall(r"(?<![\w-])--[A-Za-z][\w-]*", text)
        if option not in known
    ]
    assert not wrong


def test_engines_are_known():
    assert {engine for _, engine, _ in written()} <= {*ENGINES, "tgi", "llama-cpp"}
