"""Price lists of others, read as offers: the SkyPilot catalog's layout, or a sheet with named columns."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from statistics import median

from planner.errors import Fault, InputError, nearest
from planner.loaders.csv_table import read_table
from planner.loaders.price_table import MOST_FAULTS, LineError, money, whole
from planner.schema.catalog_index import Catalog

SKYPILOT = {
    "instance": "InstanceType",
    "gpu": "AcceleratorName",
    "gpus": "AcceleratorCount",
    "vcpus": "vCPUs",
    "host_memory_gib": "MemoryGiB",
    "usd_per_hour": "Price",
    "spot_usd_per_hour": "SpotPrice",
    "region": "Region",
}
"""Our columns by those of ``catalogs/v*/CLOUD/vms.csv``: one line an instance type and zone."""
_PER_GPU = "usd_per_gpu_hour"
KEYS = (*SKYPILOT, _PER_GPU, "reserved_1y_usd_per_hour", "reserved_3y_usd_per_hour", "note")
"""What a column of a sheet can be mapped to."""
_MONEY = [key for key in KEYS if "usd" in key and key != _PER_GPU]
_EXPECTED = "a price list as a CSV table with a header"


@dataclass(frozen=True)
class Sheet:
    """What one file offers."""

    offers: tuple[Mapping[str, str], ...]
    """Cells by the columns of a price table."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Accelerators that the catalog does not have, with their lines."""
    without: int = 0
    """Lines without an accelerator or without an on-demand price."""


def read_sheet(path: Path, catalog: Catalog, columns: Mapping[str, str], gpus: Mapping[str, str]) -> Sheet:
    """The offers of one file.

    Lines that differ only in their zone are one offer: at the lowest price, spot at the median of the zones.

    Args:
        path: of a table.
        catalog: for the names of accelerators.
        columns: by our key, the header of the sheet; keys that are not named have the header of SkyPilot.
        gpus: by a name in the sheet, the accelerator that is meant.

    Raises:
        InputError: missing columns, and every bad cell with its line, up to twenty.
    """
    lines = read_table(path, _EXPECTED)
    where, header = lines[0]
    taken = _columns(where, header, columns)
    known = {
        name: catalog.accelerator(gpus.get(name, name))
        for name in {_cell(c, taken, "gpu") for _, c in lines[1:]}
    }
    groups: dict[tuple[str, ...], list[dict[str, str]]] = defaultdict(list)
    left_out: dict[str, int] = defaultdict(int)
    faults, without = [], 0
    for place, cells in lines[1:]:
        name = _cell(cells, taken, "gpu")
        if not name:
            without += 1
        elif (accelerator := known[name]) is None:
            left_out[name] += 1
        else:
            try:
                row = _row(header, cells, taken, accelerator.id)
            except LineError as found:
                column = header[taken[found.column]] if found.column in taken else found.column
                faults.append(Fault(place, column, found.found, found.expected, found.maybe))
                if len(faults) == MOST_FAULTS:
                    break
                continue
            if row is None:
                without += 1
            else:
                groups[row["instance"], row["region"], row["gpu"], row["gpus"]].append(row)
    if faults:
        raise InputError(faults)
    return Sheet(
        tuple(_merged(rows) for _, rows in sorted(groups.items())), dict(sorted(left_out.items())), without
    )


def _columns(where: str, header: Sequence[str], columns: Mapping[str, str]) -> dict[str, int]:
    """Places of our columns in the sheet.

    Raises:
        InputError: a header that is not there, and what every sheet needs.
    """
    faults = [
        Fault(
            where,
            name,
            "no such column",
            f"the column of {key}, one of {', '.join(header)}",
            nearest(name, header),
        )
        for key, name in columns.items()
        if name not in header
    ]
    taken = {key: name for key, name in {**SKYPILOT, **columns}.items() if name in header}
    if not faults:
        if "gpu" not in taken:
            faults.append(
                Fault(where, "", f"the columns {', '.join(header)}", _needs("gpu"), "--map gpu=COLUMN")
            )
        if "usd_per_hour" not in taken and _PER_GPU not in taken:
            expected = _needs("usd_per_hour or usd_per_gpu_hour")
            faults.append(
                Fault(where, "", f"the columns {', '.join(header)}", expected, "--map usd_per_hour=COLUMN")
            )
    if faults:
        raise InputError(faults)
    return {key: header.index(name) for key, name in taken.items()}


def _needs(key: str) -> str:
    return f"a column of {key}: that of a SkyPilot catalog, or one named by --map"


def _cell(cells: Sequence[str], taken: Mapping[str, int], key: str) -> str:
    place = taken.get(key)
    return cells[place] if place is not None and place < len(cells) else ""


def _row(
    header: Sequence[str], cells: Sequence[str], taken: Mapping[str, int], accelerator: str
) -> dict[str, str] | None:
    """The offer of one line; None without an on-demand price.

    Raises:
        LineError: a cell that is not what it should be.
    """
    if len(cells) != len(header):
        raise LineError("", f"{len(cells)} cells", f"{len(header)} cells, as in the header")
    text = {key: cells[place] for key, place in taken.items()}
    count = _count("gpus", text.get("gpus", "") or "1")
    row = {"gpu": accelerator, "gpus": str(count)}
    row["instance"] = text.get("instance", "") or f"{count}x {accelerator}"
    if text.get("instance", "-") == "":
        row |= {"usable": "no", "note": "no host in the price"}
    row["region"] = text.get("region", "") or "not stated"
    for key in _MONEY:
        # A spot price of zero is how some tables write that there is none.
        if text.get(key) and ((usd := money(key, text[key])) or key == "usd_per_hour"):
            row[key] = f"{usd:f}"
    if per_gpu := text.get(_PER_GPU):
        row["usd_per_hour"] = f"{money(_PER_GPU, per_gpu) * count:f}"
    if "usd_per_hour" not in row:
        return None
    if text.get("vcpus") and (number := money("vcpus", text["vcpus"])) >= 1:
        row["vcpus"] = f"{int(number)}"
    if text.get("host_memory_gib") and (gib := money("host_memory_gib", text["host_memory_gib"])) > 0:
        row["host_memory_gib"] = f"{gib:f}"
    if text.get("note"):
        row["note"] = text["note"]
    return row


def _count(key: str, text: str) -> int:
    """A whole number, written ``8.0`` in the tables of other programs."""
    return whole(key, re.sub(r"\.0*$", "", text))


def _merged(rows: Sequence[dict[str, str]]) -> Mapping[str, str]:
    """One offer of lines that differ in their zone."""
    best = min(rows, key=lambda row: Decimal(row["usd_per_hour"]))
    spots = [Decimal(row["spot_usd_per_hour"]) for row in rows if "spot_usd_per_hour" in row]
    return best if not spots else {**best, "spot_usd_per_hour": f"{median(spots).normalize():f}"}
