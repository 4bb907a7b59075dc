"""Nouns are built when they are first used, or all at once for programs with threads."""

import subprocess
import sys

ASKED = """
from planner.schema.base import Noun, build_all
from planner.schema.plan import Plan
from planner.schema.problem import Problem

def nouns(noun=Noun):
    return [noun, *(below for one in noun.__subclasses__() for below in nouns(one))]

before = sum(one.__pydantic_complete__ for one in nouns())
build_all()
print(len(nouns()), before, sum(one.__pydantic_complete__ for one in nouns()))
"""


def test_all_nouns_can_be_built_before_threads_use_them():
    shown = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, check=True).stdout
    known, before, built = map(int, shown.split())
    assert known > 50
    assert before < known // 2
    assert built == known
