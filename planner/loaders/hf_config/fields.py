"""Typed access to the keys of a configuration; what is wrong is noted, and reading goes on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from planner.errors import nearest
from planner.loaders.hf_config.document import Document

LARGEST = {
    "num_hidden_layers": 2_000,
    "n_layer": 2_000,
    "depth": 2_000,
    "num_attention_heads": 10_000,
    "n_head": 10_000,
    "max_position_embeddings": 1_000_000_000,
    "vocab_size": 100_000_000,
}
"""Plausibility: a larger number is a slip of the pen."""
LARGEST_OTHER = 10_000_000
LARGEST_PRODUCT = 10**15
"""Parameters of any model that one would plan for."""


@dataclass(frozen=True)
class Fields:
    """One object of the configuration: the file itself, its ``text_config`` or its ``vision_config``.

    ``null`` counts as absent, except where `written` asks.
    """

    document: Document
    values: dict[str, Any]
    path: tuple[str, ...] = ()

    def written(self, key: str) -> bool:
        """Whether the key is there, be it null."""
        return key in self.values

    def fault(self, key: str, found: str, expected: str, maybe: str = "") -> None:
        """Note one thing wrong with a key."""
        self.document.fault((*self.path, key), found, expected, maybe)

    def count(
        self, key: str, default: int | None = None, *, least: int = 1, also: tuple[str, ...] = ()
    ) -> int:
        """A whole number; without a default the key must be there. ``also``: older names of the key."""
        value = self.optional_count(key, least=least, also=also)
        if value is not None:
            return value
        if default is not None:
            return default
        if not any(self.values.get(name) is not None for name in (key, *also)):
            maybe = nearest(key, [str(name) for name in self.values], cutoff=0.8)
            self.fault(key, "nothing", "a whole number above zero", maybe)
        return max(least, 1)

    def optional_count(self, key: str, *, least: int = 1, also: tuple[str, ...] = ()) -> int | None:
        """A whole number of at least ``least``, or None where the key is absent, null or wrong."""
        for name in (key, *also):
            value = self.values.get(name)
            if value is None:
                continue
            if self._is_count(name, value, least):
                return int(value)
            return None
        return None

    def _is_count(self, key: str, value: object, least: int) -> bool:
        limit = LARGEST.get(key, LARGEST_OTHER)
        expected = f"a whole number from {least:,} to {limit:,}"
        if isinstance(value, bool) or not isinstance(value, int):
            self.fault(key, _shown(value), expected, _as_number(value))
            return False
        if not least <= value <= limit:
            self.fault(key, _shown(value), expected)
            return False
        return True

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.fault(key, _shown(value), "true or false")
            return default
        return value

    def text(self, key: str, default: str = "") -> str:
        """A text."""
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            self.fault(key, _shown(value), "a text")
            return default
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; empty where absent."""
        value = self._list(key)
        if any(not isinstance(item, str) for item in value):
            self.fault(key, _shown(value), "a list of texts")
            return ()
        return tuple(value)

    def counts(self, key: str) -> tuple[int, ...] | None:
        """A list of whole numbers, or None where absent."""
        if self.values.get(key) is None:
            return None
        value = self._list(key)
        if any(isinstance(item, bool) or not isinstance(item, int) or item < 0 for item in value):
            self.fault(key, _shown(value), "a list of whole numbers")
            return None
        return tuple(value)

    def _list(self, key: str) -> list[Any]:
        value = self.values.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            self.fault(key, _shown(value), "a list")
            return []
        return value

    def section(self, key: str) -> Fields | None:
        """A nested object, or None where absent."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.fault(key, _shown(value), "an object of keys and values")
            return None
        return Fields(self.document, value, (*self.path, key))

    def quotient(self, key: str, whole: int, parts: int, meaning: str) -> int:
        """``whole / parts`` for a default; a remainder means that ``key`` must be written."""
        if whole % parts:
            self.fault(key, "nothing", f"a number, because {meaning} = {whole:,} / {parts:,} is not whole")
        return max(1, whole // parts)


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _as_number(value: object) -> str:
    """The whole number that a text or a float means, or nothing."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 20:
        return str(int(value))
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return ""
