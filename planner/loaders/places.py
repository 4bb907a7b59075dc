"""Places inside a document, and texts short enough for a message."""

from __future__ import annotations

from typing import Any

Key = tuple[str | int, ...]
"""A path inside a document: keys of mappings and indexes of lists."""


def dotted(root: Any, path: Key) -> str:
    """A path as people write it, list items by their ``name``: ``workloads.chat.slo.ttft_p99``."""
    words: list[str] = []
    value = root
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            value = None
        name = value.get("name") if isinstance(step, int) and isinstance(value, dict) else None
        words.append(short(name, 60) if isinstance(name, str) and name else short(str(step), 60))
    return ".".join(words)


def short(text: str, limit: int = 80) -> str:
    """A text on one line, cut to the limit."""
    line = "".join(character if character.isprintable() else "?" for character in text)
    return line if len(line) <= limit else line[: limit - 1] + "…"
