"""Changes of a problem by path: ``workloads.chat.slo.ttft_p99`` set to ``500 ms``."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from planner.errors import Fault, InputError, input_error, nearest
from planner.loaders.places import short
from planner.loaders.yaml_source import Document, parse_document

_FLAG = "--set"


def read_value(text: str, flag: str = _FLAG) -> Any:
    """A value as it would stand in a file: a number, a text with its unit, ``[a, b]``, ``{key: value}``.

    Args:
        text: what stands behind the equals sign.
        flag: names the place in messages.

    Raises:
        InputError: text that is no value.
    """
    return _read(text, flag, "value: {}\n")


def read_list(text: str, flag: str = "--sweep") -> list[Any]:
    """Values separated by commas; a list or mapping in brackets counts as one value.

    Raises:
        InputError: text that is no list of values, or an empty one.
    """
    values = _read(text, flag, "value: [{}]\n")
    if not values:
        raise input_error(flag, "", f'"{short(text)}"', "values separated by commas", '"40,60,80"')
    return list(values)


def _read(text: str, flag: str, form: str) -> Any:
    name = f"{flag} {short(text)}"
    if len(text.splitlines()) > 1:
        raise input_error(name, "", "several lines", "one value")
    try:
        data = form.format(text).encode()
    except UnicodeEncodeError as problem:  # arguments may hold any bytes
        raise input_error(name, "", "bytes that are no text", "one value in UTF-8") from problem
    document = parse_document(data, name)
    if document.faults:
        raise InputError(document.faults)
    return document.value["value"]


def with_changes(values: Mapping[str, Any], changes: Mapping[str, Any], flag: str = _FLAG) -> dict[str, Any]:
    """A copy of a document with values put in at paths; None takes a key away.

    Items of a list are named by their ``name``. A name may hold dots: the longest name that is there
    is taken.

    Args:
        values: the document.
        changes: new values by path.
        flag: names the place in messages.

    Raises:
        InputError: every path that leads nowhere.
    """
    changed: dict[str, Any] = copy.deepcopy(dict(values))
    faults = []
    for path, value in changes.items():
        fault = _put(changed, path, value, flag)
        if fault is not None:
            faults.append(fault)
    if faults:
        raise InputError(faults)
    return changed


def line_of(document: Document, path: str) -> str:
    """``file:line`` of what a path names, or of the nearest value around it."""
    place, left, found = document.value, path.split("."), list[str | int]()
    while left:
        if isinstance(place, list):
            item, used = _item(place, left)
            step: str | int = place.index(item) if used else 0
        else:
            used = _longest(place, left) if isinstance(place, dict) else 0
            step = ".".join(left[:used])
        if not used or (isinstance(place, dict) and step not in place):
            break
        place, left = place[step], left[used:]
        found.append(step)
    return document.where(tuple(found))


def _put(root: dict[str, Any], path: str, value: Any, flag: str) -> Fault | None:
    place: Any = root
    left = path.split(".")
    if not all(left):
        return Fault(flag, short(path), "an empty name in the path", "names joined by dots")
    while True:
        if isinstance(place, list):
            item, used = _item(place, left)
            if used == 0:
                return _no_item(place, path, left, flag)
            if used == len(left):
                return Fault(
                    flag,
                    short(path),
                    "a whole item of a list",
                    "a key inside it",
                    f'"{short(path)}.KEY"',
                )
            place, left = item, left[used:]
            continue
        if not isinstance(place, dict):
            stop = ".".join(path.split(".")[: -len(left)])
            return Fault(flag, short(path), f"a value at {short(stop)}", "keys to go on with")
        used = _longest(place, left)
        key = ".".join(left[:used])
        if used == len(left):
            if value is None:
                place.pop(key, None)
            else:
                place[key] = value
            return None
        if place.get(key) is None:
            place[key] = {}
        place, left = place[key], left[used:]


def _longest(place: Mapping[str, Any], left: Sequence[str]) -> int:
    """Parts of the path that make the longest key that is there; 1 where none is."""
    return next((n for n in range(len(left), 0, -1) if ".".join(left[:n]) in place), 1)


def _item(items: Sequence[Any], left: Sequence[str]) -> tuple[Any, int]:
    """The item that the path names, and the parts of the path that name it (0: none)."""
    for used in range(len(left), 0, -1):
        name = ".".join(left[:used])
        for item in items:
            if isinstance(item, dict) and str(item.get("name", "")) == name:
                return item, used
    if left[0].isdigit() and int(left[0]) < len(items):
        return items[int(left[0])], 1
    return None, 0


def _no_item(items: Sequence[Any], path: str, left: Sequence[str], flag: str) -> Fault:
    known = [str(item["name"]) for item in items if isinstance(item, dict) and "name" in item]
    if not known:
        return Fault(flag, short(path), f'"{short(left[0])}" in a list', "the place of an item, from 0")
    return Fault(
        flag, short(path), f'"{short(left[0])}"', f"one of {', '.join(known)}", nearest(left[0], known)
    )
