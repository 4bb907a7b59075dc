"""Price lists of others, taken into a catalog folder: one list a provider, with its table beside it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from planner.errors import Fault, InputError, nearest
from planner.loaders.catalog import load_catalog
from planner.loaders.files_out import write_whole
from planner.loaders.price_sheets import Sheet, read_sheet
from planner.loaders.price_table import SOURCE, table_csv
from planner.loaders.write import entry_yaml
from planner.schema.catalog_entry import SourceText
from planner.schema.catalog_index import Catalog
from planner.schema.market import PriceList

_COMMAND = "planner catalog import-prices"
_SKYPILOT_FILE = "vms"
"""Stem of a provider's file there; the folder has its name."""


def import_prices(
    files: Sequence[Path],
    out: Path,
    *,
    columns: Mapping[str, str],
    gpus: Mapping[str, str],
    provider: str | None = None,
    as_of: str | None = None,
    source: str | None = None,
    marketplace: bool = False,
    overlays: tuple[Path, ...] = (),
) -> dict[str, Any]:
    """Read the files and write ``prices/PROVIDER.yaml`` and ``.csv`` of each provider under ``out``.

    A provider of the program's own catalog is replaced by the list of the same name.

    Raises:
        InputError: everything wrong with the files, accelerators that ``gpus`` names and nobody knows, files
            without any offer of an accelerator of the catalog, and a folder that cannot be written.
    """
    catalog = load_catalog(overlays)
    faults = list(_unknown(gpus, catalog))
    sheets: dict[str, list[tuple[Path, Sheet]]] = defaultdict(list)
    for file in files:
        try:
            sheets[provider or _named(file)].append((file, read_sheet(file, catalog, columns, gpus)))
        except InputError as problem:
            faults += problem.faults
    left_out: Counter[str] = Counter()
    for file, sheet in (pair for mine in sheets.values() for pair in mine):
        left_out.update(sheet.left_out)
        if not sheet.offers:
            found = (
                f"{', '.join(sheet.left_out)}: no accelerator of the catalog"
                if sheet.left_out
                else "no offer"
            )
            faults.append(
                Fault(str(file), "", found, "lines with an accelerator and a price", "--gpu NAME=ID")
            )
    if faults:
        raise InputError(faults)
    written, count = [], 0
    for name, mine in sorted(sheets.items()):
        rows = [row for _, sheet in mine for row in sheet.offers]
        count += len(rows)
        prices = PriceList(
            id=name,
            name=name,
            marketplace=marketplace,
            table=f"{name}.csv",
            sources={SOURCE: _source([file for file, _ in mine], as_of, source)},
        )
        written += _write(out / "prices", name, entry_yaml(prices), table_csv(rows))
    return {
        "files": written,
        "providers": sorted(sheets),
        "offers": count,
        "left_out": dict(sorted(left_out.items())),
        "lines_without_gpu_or_price": sum(sheet.without for mine in sheets.values() for _, sheet in mine),
    }


def _unknown(gpus: Mapping[str, str], catalog: Catalog) -> list[Fault]:
    known = catalog.names("accelerators")
    return [
        Fault(_COMMAND, "--gpu", f'"{name}"', "an accelerator of the catalog", nearest(name, known))
        for name in gpus.values()
        if catalog.accelerator(name) is None
    ]


def _named(file: Path) -> str:
    name = file.resolve().parent.name if file.stem == _SKYPILOT_FILE else file.stem
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.") or "prices"


def _source(files: Sequence[Path], as_of: str | None, source: str | None) -> SourceText:
    """Who states the prices: the user's words, else the files by their names."""
    title = source or ", ".join(dict.fromkeys(f"{file.resolve().parent.name}/{file.name}" for file in files))
    read = max(datetime.fromtimestamp(file.stat().st_mtime, tz=UTC).date() for file in files)
    return SourceText.model_validate({"title": title, "date": read, "as_of": as_of})


def _write(folder: Path, name: str, entry: str, table: str) -> list[str]:
    """Both files of a provider, the table first: without it the other cannot be read.

    Raises:
        InputError: they cannot be written.
    """
    paths = {folder / f"{name}.csv": table, folder / f"{name}.yaml": entry}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in paths.items():
            write_whole(path, text.encode())
    except OSError as problem:
        found = (problem.strerror or "an error").lower()
        raise InputError([Fault("--out", "", f"{folder}: {found}", "a folder that can be written")]) from None
    return [str(path) for path in paths]
