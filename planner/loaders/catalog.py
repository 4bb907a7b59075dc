"""Reads the catalog: one YAML file is one entry, the folder says of which kind."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from planner import resources
from planner.errors import Fault, InputError, nearest
from planner.loaders.catalog_coverage import uncovered
from planner.loaders.entry_folder import first_of_name, misnamed
from planner.loaders.files import read_bytes, stamps
from planner.loaders.places import Key
from planner.loaders.price_table import SOURCE, read_api_table, read_price_table
from planner.loaders.validation import attempt, merged
from planner.loaders.yaml_source import MAX_BYTES, Document, parse_document, read_document
from planner.schema.catalog import (
    Archetype,
    CatalogEntry,
    Engine,
    Model,
    NumberFormat,
    PriceList,
    UserFactor,
    UserFactors,
)
from planner.schema.catalog_index import FOLDERS, Catalog, folded

OTHER_FOLDERS = frozenset({"debugger", "knobs", "logs", "metrics", "options", "planning", "platforms"})
"""Folders of the catalog that another loader reads."""
_KIND_FOLDERS = {str(noun.model_fields["kind"].default): folder for folder, noun in FOLDERS.items()}
"""What an entry says that it is -> its folder."""


@dataclass(frozen=True)
class _Read:
    """One file with what it holds."""

    path: Path
    document: Document
    entry: Any
    table: bytes = b""
    """Of a price list, the file with the rest of its offers."""
    lines: tuple[str, ...] = ()
    """``file:line`` of each of those."""


def load_catalog(overlays: Sequence[Path] = (), *, complete: bool = False) -> Catalog:
    """The catalog of the program, with the files of the overlays over it.

    A file of an overlay replaces the entry with the same id; of several overlays the last wins. An overlay
    is a folder of such folders, may hold entries beside them, or is a single entry.

    Args:
        overlays: folders or files over the program's own.
        complete: also refuse accelerators and engines that the calibration in use cannot price.

    Raises:
        InputError: everything wrong with the files, all at once: faults of single files, ids that
            differ from the file's name, names with two meanings, references to unknown entries.
    """
    folders = resources.folders("catalog", overlays)
    return _kept(folders, complete, stamps(folders))


@lru_cache(maxsize=8)
def _kept(folders: tuple[Path, ...], complete: bool, _stamps: tuple[tuple[str, int, int], ...]) -> Catalog:
    """The catalog of these folders while no file of them changes."""
    return read_catalog(folders, complete=complete)


def read_catalog(folders: Sequence[Path], *, complete: bool = False) -> Catalog:
    """The catalog out of these folders, the one that wins first.

    Raises:
        InputError: see `load_catalog`.
    """
    faults = [fault for folder in folders for fault in _strangers(folder)]
    read: dict[str, dict[str, _Read]] = {}
    for kind, noun in FOLDERS.items():
        read[kind] = {}
        for path in _files(folders, kind):
            try:
                document, entry, found = _parsed(noun, path, read_bytes(path, MAX_BYTES))
            except InputError as problem:
                faults += problem.faults
                continue
            faults += [*found, *misnamed(document, path)]
            if entry is not None:
                read[kind][path.stem] = _with_table(_Read(path, document, entry), faults)
    ids = {kind: _index(files, faults) for kind, files in read.items()}
    faults += _dangling(read, ids)
    chosen = _calibration(folders, read["calibration"])
    if complete and chosen:
        faults += uncovered(
            read["calibration"][chosen].entry, _entries(read["accelerators"]), _entries(read["engines"])
        )
    if faults:
        raise InputError(merged(faults))
    by_folder = {kind: {item.entry.id: item.entry for item in files.values()} for kind, files in read.items()}
    by_folder["formats"] |= _mixes(by_folder["formats"], ids["formats"])
    everything = [(kind, item) for kind, files in read.items() for item in files.values()]
    own = _user_factors(folders, read["user_factors"], ids)
    if chosen and own:
        by_folder["calibration"][chosen] = by_folder["calibration"][chosen].model_copy(
            update={"user_factors": (*own, *by_folder["calibration"][chosen].user_factors)}
        )
    in_use = [
        (kind, item)
        for kind, item in everything
        if (kind == "calibration" and item.entry.id == chosen) or kind == "user_factors"
    ]
    return Catalog(by_folder, ids, _digest(everything), chosen, _digest(in_use))


@lru_cache(maxsize=1024)
def _parsed(
    noun: type[CatalogEntry], path: Path, data: bytes
) -> tuple[Document, CatalogEntry | None, tuple[Fault, ...]]:
    """What a file holds, kept by its bytes: a program that asks much reads one catalog many times."""
    document = parse_document(data, str(path))
    entry, found = attempt(noun, document)
    return document, entry, (*document.faults, *found)


def _mixes(formats: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, NumberFormat]:
    """Formats with parts of another one, looked up once."""
    return {
        name: form.with_parts({part: formats[ids[folded(other)]] for part, other in form.parts.items()})
        for name, form in formats.items()
        if form.parts
    }


def _with_table(item: _Read, faults: list[Fault]) -> _Read:
    """A price list with the offers and prices of its tables; everything else as it is."""
    if not isinstance(item.entry, PriceList):
        return item
    for key in ("table", "api_table"):
        name = getattr(item.entry, key)
        if name is None:
            continue
        where = item.document.where((key,))
        if Path(name).name != name or not name.endswith(".csv"):
            faults.append(Fault(where, key, f'"{name}"', "the name of a CSV file in the same folder"))
            continue
        if SOURCE not in item.entry.sources:
            faults.append(
                Fault(where, "sources", f"no source {SOURCE}", f"{SOURCE}: who states these prices")
            )
        path = item.path.parent / name
        try:
            if key == "table":
                data, offers, lines = read_price_table(path)
                update: dict[str, Any] = {"offers": (*item.entry.offers, *offers)}
            else:
                data, prices, _ = read_api_table(path)
                update, lines = {"api_prices": (*item.entry.api_prices, *prices)}, item.lines
        except InputError as problem:
            faults += problem.faults
            continue
        whole = item.entry.model_copy(update=update)
        item = _Read(item.path, item.document, whole, item.table + data, lines)
    return item


def _strange_gpus(
    item: _Read, accelerators: Mapping[str, _Read], ids: Mapping[str, Mapping[str, str]]
) -> Iterator[Fault]:
    """Accelerators of a table that the catalog does not have, each where it comes first."""
    first: dict[str, str] = {}
    for offer, line in zip(item.entry.offers[-len(item.lines) :], item.lines, strict=True):
        first.setdefault(offer.accelerator, line)
    known = [alias for other in accelerators.values() for alias in (other.entry.id, *other.entry.aliases)]
    for name, line in first.items():
        if folded(name) not in ids["accelerators"]:
            expected = "an id in catalog/accelerators"
            yield Fault(line, "gpu", f'"{name}"', expected, nearest(name, known))


def _strange_models(
    item: _Read, models: Mapping[str, _Read], ids: Mapping[str, Mapping[str, str]]
) -> Iterator[Fault]:
    """Models with a price by the token that the catalog does not have."""
    for name in dict.fromkeys(row.model for row in item.entry.api_prices):
        if folded(name) not in ids["models"]:
            known = [alias for other in models.values() for alias in (other.entry.id, *other.entry.aliases)]
            where = str(item.path.parent / item.entry.api_table)
            yield Fault(where, "model", f'"{name}"', "an id in catalog/models", nearest(name, known))


def _entries(files: Mapping[str, _Read]) -> list[tuple[Document, Any]]:
    return [(item.document, item.entry) for item in files.values()]


def _user_factors(
    folders: Sequence[Path], files: Mapping[str, _Read], ids: Mapping[str, Mapping[str, str]]
) -> list[UserFactor]:
    """The factors of all files under ids of the catalog: those of the overlay that wins first."""

    def known(folder: str, name: str) -> str:
        return ids[folder].get(folded(name), name)

    ordered = sorted(
        files.values(),
        key=lambda item: next(n for n, folder in enumerate(folders) if _lies_in(item.path, folder)),
    )
    return [
        factor.model_copy(
            update={
                "model": known("models", factor.model),
                "accelerator": known("accelerators", factor.accelerator),
                "engine": known("engines", factor.engine),
                "weights": factor.weights and known("formats", factor.weights),
            }
        )
        for item in ordered
        for factor in item.entry.factors
    ]


def _lies_in(path: Path, overlay: Path) -> bool:
    return overlay in (path, path.parent, path.parent.parent)


def _calibration(folders: Sequence[Path], files: Mapping[str, _Read]) -> str:
    """The first calibration of the folder that wins first; empty where there is none."""
    for folder in folders:
        for stem, item in files.items():
            if _lies_in(item.path, folder):
                return stem
    return ""


def _strangers(folder: Path) -> Iterator[Fault]:
    """What lies in a catalog folder and would be passed over in silence."""
    known = (*FOLDERS, *sorted(OTHER_FOLDERS))
    if resources.is_entry(folder):
        kind = _kind_of(folder)
        if kind not in _KIND_FOLDERS:
            found, kinds = f'the kind "{kind}"' if kind else "no kind", tuple(_KIND_FOLDERS)
            yield Fault(str(folder), "kind", found, f"one of {', '.join(kinds)}", nearest(kind, kinds))
        return
    for item in sorted(folder.iterdir()):
        if item.name.startswith("."):
            continue
        if item.is_dir() and item.name not in known:
            expected = f"one of {', '.join(known)}"
            yield Fault(str(item), "", "a folder of no known kind", expected, nearest(item.name, known))
        elif item.suffix == ".yml" or (item.suffix == ".yaml" and _kind_of(item) not in _KIND_FOLDERS):
            yield Fault(
                str(item), "", "a file outside the folders of the kinds", f"it in one of {', '.join(known)}"
            )
        elif item.is_dir():
            yield from _strange_files(item)


def _strange_files(folder: Path) -> Iterator[Fault]:
    for item in sorted(folder.iterdir()):
        if item.suffix == ".yml":
            yield Fault(str(item), "", "a file that ends in .yml", "the ending .yaml")


def _files(folders: Sequence[Path], kind: str) -> tuple[Path, ...]:
    """The files of a kind by name; a name in an earlier folder hides the same name in later ones."""
    return first_of_name(path for folder in folders for path in _files_in(folder, kind))


def _files_in(folder: Path, kind: str) -> Iterator[Path]:
    """The files of the folder of a kind, and those beside it that say that they are of this kind."""
    yield from sorted((folder / kind).glob("*.yaml"))
    single = [folder] if resources.is_entry(folder) else sorted(folder.glob("*.yaml"))
    yield from (path for path in single if _KIND_FOLDERS.get(_kind_of(path)) == kind)


def _kind_of(path: Path) -> str:
    """What a single file says that it is; empty where it says nothing, or is no YAML."""
    try:
        return str(read_document(path).value.get("kind") or "")
    except InputError:
        return ""


def _index(files: Mapping[str, _Read], faults: list[Fault]) -> dict[str, str]:
    """Folded id or alias -> id; the written name too, where it is free."""
    ids = {folded(stem): stem for stem in files}
    for stem, item in files.items():
        for path, alias in _other_names(item.entry):
            other = ids.setdefault(folded(alias), stem)
            if other != stem:
                where, found = item.document.where(path), f'"{alias}", which also means {other}'
                place = ".".join(str(step) for step in path)
                faults.append(Fault(where, place, found, "a name with one meaning"))
    for stem, item in files.items():
        ids.setdefault(folded(item.entry.name), stem)
    # The name of a checkpoint is found without the publisher too, where it is one model's.
    bare: dict[str, set[str]] = {}
    for stem, item in files.items():
        for name in item.entry.other_names:
            bare.setdefault(folded(name).rpartition("/")[2], set()).add(stem)
    for name, stems in bare.items():
        if len(stems) == 1:
            ids.setdefault(name, *stems)
    return ids


def _other_names(entry: CatalogEntry) -> Iterator[tuple[Key, str]]:
    yield from ((("aliases", n), alias) for n, alias in enumerate(entry.aliases))
    if isinstance(entry, Model):
        for n, stored in enumerate(entry.checkpoints):
            yield from ((("checkpoints", n, "ids", k), name) for k, name in enumerate(stored.ids))


Reference = tuple[Key, str, str]
"""Path, folder of the kind it points to, name."""


def _dangling(
    read: Mapping[str, Mapping[str, _Read]], ids: Mapping[str, Mapping[str, str]]
) -> Iterator[Fault]:
    for files in read.values():
        for item in files.values():
            if item.lines:
                yield from _strange_gpus(item, read["accelerators"], ids)
            if isinstance(item.entry, PriceList):
                yield from _strange_models(item, read["models"], ids)
            for path, kind, name in _references(item.entry):
                if folded(name) in ids[kind]:
                    continue
                known = [
                    alias
                    for entry in read[kind].values()
                    for alias in (entry.entry.id, *entry.entry.other_names)
                ]
                where, key = item.document.where(path), ".".join(str(step) for step in path)
                yield Fault(where, key, f'"{name}"', f"an id in catalog/{kind}", nearest(name, known))


def _references(entry: CatalogEntry) -> Iterable[Reference]:
    if isinstance(entry, PriceList):
        return [
            (("offers", n, "accelerator"), "accelerators", o.accelerator)
            for n, o in enumerate(entry.offers)
            if entry.table is None or o.source != SOURCE
        ]
    if isinstance(entry, Engine):
        weights = [
            (("supports", "weights", n), "formats", name) for n, name in enumerate(entry.supports.weights)
        ]
        return [
            *weights,
            *((("supports", "kv", n), "formats", name) for n, name in enumerate(entry.supports.kv)),
            *((("supports", "only_on", name), "formats", name) for name in entry.supports.only_on),
        ]
    if isinstance(entry, Model):
        stored: list[tuple[Key, str]] = [
            (("checkpoints", n, "format"), item.format) for n, item in enumerate(entry.checkpoints)
        ]
        return [
            (path, "formats", name) for path, name in [(("native_format",), entry.native_format), *stored]
        ]
    if isinstance(entry, Archetype):
        return [(("kv", n), "formats", name) for n, name in enumerate(entry.kv)]
    if isinstance(entry, UserFactors):
        # Not the model: it may be one read from a config.json.
        return [
            reference
            for n, factor in enumerate(entry.factors)
            for reference in (
                (("factors", n, "accelerator"), "accelerators", factor.accelerator),
                (("factors", n, "engine"), "engines", factor.engine),
                *([(("factors", n, "weights"), "formats", factor.weights)] if factor.weights else []),
            )
        ]
    if isinstance(entry, NumberFormat):
        named = {"moe_attention_format": entry.moe_attention_format, "kernels": entry.kernels}
        return [
            *(((key,), "formats", name) for key, name in named.items() if name is not None),
            *((("parts", part), "formats", name) for part, name in entry.parts.items()),
        ]
    return ()


def _digest(files: Sequence[tuple[str, _Read]]) -> str:
    """Digest over names and bytes, independent of where the folders lie."""
    digest = hashlib.sha256()
    for kind, item in sorted(files, key=lambda pair: (pair[0], pair[1].path.stem)):
        digest.update(f"{kind}/{item.path.stem}\n{len(item.document.data)}\n".encode())
        digest.update(item.document.data)
        digest.update(item.table)
    return f"sha256:{digest.hexdigest()}"
