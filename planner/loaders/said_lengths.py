"""Lengths that a problem states in words or characters, as tokens: ``800 words``, ``2k German words``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from planner.errors import Fault, nearest
from planner.loaders.places import Key, dotted
from planner.loaders.yaml_source import Document
from planner.schema.catalog_index import Catalog

LANGUAGE = "english"
"""Where no other is named."""
_SAID = re.compile(
    r"\s*([0-9]{1,9}(?:,[0-9]{3})*(?:\.[0-9]{1,3})?)\s*(k?)\s+(?:([^\W\d_]+)\s+)?(words?|char(?:acter)?s?)\s*",
    re.IGNORECASE,
)
_THOUSAND = 1000
"""Of words and characters; tokens are counted by 1,024."""


def in_tokens(document: Document, catalog: Catalog) -> Document:
    """The document with such lengths as tokens, what was said beside them, and faults of unknown languages.

    A document without such lengths is returned as it is.
    """
    found = list(_said(document.value))
    if not found:
        return document
    value, faults = _copied(document.value), list(document.faults)
    ratios = {name: item.value for name, item in catalog.find("judgment", "languages").parameters.items()}
    for path, number, language, unit in found:
        ratio = ratios.get(f"{language}.{unit}")
        if ratio is None:
            faults.append(_unknown(document, path, language, unit, ratios))
            continue
        side = _at(value, path[:-1])
        each = Decimal(repr(ratio))
        said = {"side": path[-2], "key": path[-1], "text": " ".join(side[path[-1]].split())}
        side[path[-1]] = tokens = math.ceil(number * each)
        lengths = _at(value, path[:-2])
        lengths["said"] = [*(lengths.get("said") or ()), said | {"tokens": tokens, "tokens_each": each}]
    return Document(document.name, document.data, value, tuple(faults))


def _said(value: Mapping[str, Any]) -> Iterator[tuple[Key, Decimal, str, str]]:
    """Path, number, language and unit of every length in words or characters."""
    workloads = value.get("workloads")
    for place, workload in enumerate(workloads if isinstance(workloads, list) else ()):
        lengths = workload.get("lengths") if isinstance(workload, Mapping) else None
        for side in ("input", "output"):
            stated = lengths.get(side) if isinstance(lengths, Mapping) else None
            for key, text in stated.items() if isinstance(stated, Mapping) else ():
                match = _SAID.fullmatch(text) if isinstance(text, str) else None
                if match is not None:
                    number = Decimal(match[1].replace(",", "")) * (_THOUSAND if match[2] else 1)
                    unit = "words" if match[4].lower().startswith("word") else "characters"
                    path = ("workloads", place, "lengths", side, str(key))
                    yield path, number, (match[3] or LANGUAGE).lower(), unit


def _unknown(document: Document, path: Key, language: str, unit: str, ratios: Mapping[str, float]) -> Fault:
    known = [name.partition(".")[0] for name in ratios if name.endswith(f".{unit}")]
    if f"{language}.characters" in ratios:
        expected, hint = f"characters: nobody counts {unit} of {language}", ""
    else:
        expected, hint = f"{unit} of {', '.join(known)}", nearest(language, known)
    return Fault(document.where(path), dotted(document.value, path), f"{unit} of {language}", expected, hint)


def _at(value: Any, path: Key) -> Any:
    for step in path:
        value = value[step]
    return value


def _copied(value: Any) -> Any:
    """Mappings and lists anew: the document that was read stays as it is."""
    if isinstance(value, Mapping):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value
