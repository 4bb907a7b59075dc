"""Offers of a price list as a CSV table beside its file: a hundred thousand lines in a second or two."""

from __future__ import annotations

import csv
import gc
import io
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from pathlib import Path
from typing import Any

from planner.errors import Fault, InputError, nearest
from planner.loaders.csv_table import MAX_BYTES, Cells, header_faults, table_lines
from planner.loaders.files import decoded, read_bytes
from planner.schema.market import ApiPrice, Offer

SOURCE = "table"
"""Key of the source that offers of a table have."""
MONEY = {
    "usd_per_hour": "on_demand",
    "spot_usd_per_hour": "spot",
    "reserved_1y_usd_per_hour": "reserved_1y",
    "reserved_3y_usd_per_hour": "reserved_3y",
}
"""Columns of money, of the whole instance, by the field of an offer."""
REQUIRED = ("instance", "region", "gpu", "gpus", "usd_per_hour")
COLUMNS = (*REQUIRED, *list(MONEY)[1:], "vcpus", "host_memory_gib", "bridged", "usable", "note")
EXPECTED = f"a table of offers with the columns {', '.join(REQUIRED)}"
_FIELDS = (
    dict(zip(COLUMNS, COLUMNS, strict=True))
    | MONEY
    | {"gpu": "accelerator", "host_memory_gib": "host_memory"}
)
"""Fields of an offer by column."""
_GIB = 2**30
_MOST_USD_PER_H = Decimal(1_000_000)
_MOST_COUNT = 1_000_000
_YES_NO = {"yes": True, "no": False, "true": True, "false": False}
MOST_FAULTS = 20
"""Faults of one table that are told; a wrong column would tell one a line."""


def read_price_table(path: Path) -> tuple[bytes, tuple[Offer, ...], tuple[str, ...]]:
    """Bytes, offers, and ``file:line`` of every offer.

    Raises:
        InputError: every fault with its line, up to twenty.
    """
    data = read_bytes(path, MAX_BYTES, EXPECTED)
    paused = gc.isenabled()
    gc.disable()  # None of a million new cells is garbage, and looking for some takes as long as reading.
    try:
        return data, *_offers(str(path), data)
    finally:
        if paused:
            gc.enable()


@lru_cache(maxsize=32)
def _offers(name: str, data: bytes) -> tuple[tuple[Offer, ...], tuple[str, ...]]:
    """Kept by their bytes: a program that asks much reads one catalog many times."""
    lines = table_lines(name, decoded(name, data), EXPECTED)
    where, header = lines[0]
    faults = header_faults(where, header, COLUMNS, REQUIRED)
    if faults:
        raise InputError(faults)
    lines = lines[1:]
    places = tuple(place for place, _ in lines)
    faults = [
        Fault(place, "", f"{len(cells)} cells", f"{len(header)} cells, as in the header")
        for place, cells in lines
        if len(cells) != len(header)
    ][:MOST_FAULTS]
    if faults:
        raise InputError(faults)
    texts = dict(zip(header, zip(*(cells for _, cells in lines), strict=True), strict=True)) if lines else {}
    values = {column: _values(column, texts[column], places, faults) for column in COLUMNS if column in texts}
    if faults:
        raise InputError(sorted(faults, key=lambda fault: places.index(fault.where))[:MOST_FAULTS])
    return tuple(_made(values, len(lines))), places


def _values(column: str, texts: Sequence[str], places: Sequence[str], faults: list[Fault]) -> list[Any]:
    """One column; each text is read once, for most of them come again and again."""
    read: dict[str, Any] = {}
    for text in dict.fromkeys(texts):
        try:
            read[text] = _value(column, text)
        except LineError as found:
            wrong = [place for place, one in zip(places, texts, strict=True) if one == text][:MOST_FAULTS]
            faults += [Fault(place, column, found.found, found.expected, found.maybe) for place in wrong]
            if len(faults) >= MOST_FAULTS:
                break
    return [read.get(text) for text in texts]


def _made(values: Mapping[str, Sequence[Any]], count: int) -> Iterator[Offer]:
    """The offers. Every field is checked before and given here, for checks and defaults take long."""
    names = [_FIELDS[column] for column in values]
    missing = {
        name: field.default
        for name, field in Offer.model_fields.items()
        if name not in names and name != "source"
    }
    for row in zip(*values.values(), strict=True) if count else ():
        yield Offer.model_construct(**dict(zip(names, row, strict=True)), **missing, source=SOURCE)


class LineError(Exception):
    """A cell that is not what it should be."""

    def __init__(self, column: str, found: str, expected: str, maybe: str = "") -> None:
        """What was found, and what was expected."""
        super().__init__(found)
        self.column, self.found, self.expected, self.maybe = column, found, expected, maybe


def _value(column: str, text: str) -> Any:
    """What one cell says."""
    if not text:
        if column in REQUIRED:
            raise LineError(column, "nothing", "a value")
        return Offer.model_fields[_FIELDS[column]].default
    if column in ("gpus", "vcpus"):
        return whole(column, text)
    if column == "host_memory_gib":
        return money(column, text) * _GIB
    if column in MONEY:
        return money(column, text)
    if column in ("bridged", "usable"):
        if text not in _YES_NO:
            raise LineError(column, f'"{text[:60]}"', "yes or no", nearest(text, list(_YES_NO)))
        return _YES_NO[text]
    return text


def money(column: str, text: str) -> Decimal:
    """An amount of zero or more.

    Raises:
        LineError: something else.
    """
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal(-1)
    if "_" in text or not (value.is_finite() and 0 <= value <= _MOST_USD_PER_H):
        bare = text.strip("$ ").removesuffix("/h").removesuffix("USD").strip()
        maybe = f'"{bare}"' if bare != text and bare.replace(".", "", 1).isdigit() else ""
        raise LineError(column, f'"{text[:60]}"', "a number from 0 to 1,000,000, without a unit", maybe)
    return value


def whole(column: str, text: str) -> int:
    """A whole number of one or more.

    Raises:
        LineError: something else.
    """
    if text.isascii() and text.isdigit() and 1 <= len(text) <= len(str(_MOST_COUNT)) and int(text) >= 1:
        return int(text)
    raise LineError(column, f'"{text[:60]}"', "a whole number of one or more")


def table_csv(rows: Sequence[Mapping[str, str]]) -> str:
    """Offers as a table that `read_price_table` reads; columns that nothing fills are left out."""
    used = [column for column in COLUMNS if column in REQUIRED or any(row.get(column) for row in rows)]
    text = io.StringIO()
    writer = csv.DictWriter(text, used, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


API_COLUMNS = tuple(ApiPrice.model_fields)
_API_NEEDED = tuple(name for name, field in ApiPrice.model_fields.items() if field.is_required())
_API_EXPECTED = f"a table of prices by the token with the columns {', '.join(_API_NEEDED)}"


def read_api_table(path: Path) -> tuple[bytes, tuple[ApiPrice, ...], tuple[str, ...]]:
    """Bytes, prices by the token, and ``file:line`` of each.

    Raises:
        InputError: every fault with its line.
    """
    data = read_bytes(path, MAX_BYTES, _API_EXPECTED)
    lines = table_lines(str(path), decoded(str(path), data), _API_EXPECTED)
    where, header = lines[0]
    faults = header_faults(where, header, API_COLUMNS, _API_NEEDED)
    found = []
    for place, texts in lines[1:] if not faults else ():
        before = len(faults)
        cells = Cells(place, header, texts, faults)
        row: dict[str, Any] = {name: cells.needed(name) for name in _API_NEEDED}
        row |= {name: text for name in API_COLUMNS if name not in row and (text := cells.text(name))}
        for name in (name for name in row if name.startswith("usd") and row[name]):
            cells.number(name)
            row[name] = Decimal(row[name]) if len(faults) == before else None
        if row.get("context_tokens"):
            row["context_tokens"] = cells.count("context_tokens")
        if len(faults) == before:
            found.append(ApiPrice.model_construct(**row))
    if faults:
        raise InputError(faults)
    return data, tuple(found), tuple(place for place, _ in lines[1:])
