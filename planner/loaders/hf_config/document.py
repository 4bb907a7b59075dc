"""A JSON file with its places: strict reading, and faults that name file, line and key."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planner.errors import Fault, InputError, input_error
from planner.loaders.files import decoded, read_bytes
from planner.loaders.json_source import kind_of, read_json

LARGEST_FILE_BYTES = 16 * 1024 * 1024
"""No configuration comes near this; a larger file is some other file."""

_MEANT = ("model_type", "architectures", "text_config", "metadata")
"""Keys of which the file has at least one if it is what it was named for; of others nothing is repeated."""


@dataclass
class Document:
    """One JSON object, its text, and the faults found in it so far."""

    path: Path
    text: str
    values: dict[str, Any]
    faults: list[Fault] = field(default_factory=list)

    def where(self, keys: tuple[str, ...] = ()) -> str:
        """``file:line`` of the last of nested keys; only the file where a key is not written."""
        position = 0
        for key in keys:
            match = re.compile(re.escape(json.dumps(key)) + r"\s*:").search(self.text, position)
            if match is None:
                return str(self.path)
            position = match.start()
        return f"{self.path}:{self.text.count(chr(10), 0, position) + 1}" if keys else str(self.path)

    def fault(self, keys: tuple[str, ...], found: str, expected: str, maybe: str = "") -> None:
        """Note one thing wrong and go on."""
        entry = Fault(self.where(keys), ".".join(keys), found, expected, maybe)
        if entry not in self.faults:
            self.faults.append(entry)

    def raise_faults(self) -> None:
        """Refuse the file when anything was wrong.

        Raises:
            InputError: with all faults, in the order in which they were found.
        """
        if self.faults:
            raise InputError(self.faults)


def read_document(path: Path) -> Document:
    """Read a file that holds one JSON object.

    Raises:
        InputError: not readable, not UTF-8, not JSON, not an object, a repeated key, NaN or infinity.
    """
    text = decoded(str(path), read_bytes(path, LARGEST_FILE_BYTES, "a config.json of a few kB"))
    found = read_json(text, str(path), "one JSON object")
    if not isinstance(found.value, dict):
        raise input_error(str(path), "", kind_of(found.value), "a JSON object of architecture fields")
    meant = any(key in found.value for key in _MEANT)
    return Document(path, text, found.value, list(found.faults) if meant else [])
