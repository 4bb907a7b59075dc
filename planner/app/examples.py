"""The sample problems that come with the program."""

from __future__ import annotations

import re
from dataclasses import dataclass

from planner.resources import own_folder
from planner.schema.catalog_index import folded

COLUMNS = ("number", "name", "about")
_FIRST_SENTENCE = re.compile(r"(.*?[.?!])(?:\s|$)", re.DOTALL)


@dataclass(frozen=True)
class Sample:
    """One sample problem."""

    number: int
    name: str
    about: str
    """The first sentence of its comment."""
    text: str

    def listed(self) -> dict[str, object]:
        """As a row of the list."""
        return {key: getattr(self, key) for key in COLUMNS}

    def is_named(self, word: str) -> bool:
        """Whether a number or a name means this one."""
        return (word.isdecimal() and int(word) == self.number) or folded(word) == self.name


def samples() -> list[Sample]:
    """All samples by number, from the files ``NN-name.yaml``."""
    found = []
    for path in sorted(own_folder("problems").glob("*.yaml")):
        number, _, name = path.stem.partition("-")
        text = path.read_text(encoding="utf-8")
        found.append(Sample(int(number), name, _about(text), text))
    return found


def _about(text: str) -> str:
    comment = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        comment.append(line.removeprefix("#").strip())
    words = " ".join(comment)
    match = _FIRST_SENTENCE.match(words)
    return match[1] if match else words
