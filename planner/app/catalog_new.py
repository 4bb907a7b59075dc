"""A first file of one's own for the catalog: a known entry under a new id, with the meaning of its keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from planner import resources
from planner.errors import input_error, nearest
from planner.loaders.catalog import load_catalog
from planner.loaders.commented_yaml import commented
from planner.loaders.files_out import check_target, write_whole
from planner.loaders.yaml_source import read_document
from planner.schema.catalog_entry import CatalogEntry
from planner.schema.catalog_index import FOLDERS, Catalog

KINDS: Mapping[str, tuple[str, str]] = {
    "accelerator": ("accelerators", "h100-80gb-sxm"),
    "model": ("models", "llama-3.1-8b"),
    "engine": ("engines", "vllm"),
    "prices": ("prices", "digitalocean"),
}
"""What can be begun -> folder of the catalog, and the entry that it looks like unless another is named."""
_TO_FILL_IN = "FILL IN: who states these numbers"
_UNCHECKED = "C"
_LEFT_OUT = {"kind", "id", "name", "aliases", "checkpoints", "note", "sources", "table", "api_table"}
"""Names that belong to the other entry, and what is written anew."""


def catalog_new(
    kind: str,
    *,
    new_id: str | None = None,
    like: str | None = None,
    out: Path | None = None,
    overlays: tuple[Path, ...] = (),
) -> dict[str, Any]:
    """The text of the entry; written where ``out`` is given (whole or not at all).

    Numbers are those of the entry it looks like, and its sources ask to be filled in.

    Args:
        kind: a key of `KINDS`.
        new_id: id of the new entry; default: ``my-`` and the kind.
        like: id or alias of the entry that it looks like.
        out: file, or catalog folder.
        overlays: more entries to look like.

    Raises:
        InputError: an unknown kind or entry, an id that is taken, a file of another name.
    """
    if kind not in KINDS:
        raise input_error(
            _COMMAND, "KIND", f'"{kind}"', f"one of {', '.join(KINDS)}", nearest(kind, tuple(KINDS))
        )
    folder, usual = KINDS[kind]
    catalog = load_catalog(overlays)
    name = new_id or f"my-{kind}"
    if catalog.find(folder, name) is not None:
        raise input_error(_COMMAND, "--id", f'"{name}", which the catalog has', "an id of its own")
    source = _looks_like(catalog, folder, like or usual)
    document = _renamed(_file(folder, source, overlays), name)
    head = f"{kind} {name}: numbers of {source}; put your own in, and say in sources who states them.\n"
    head += f"Use it with --catalog; check it with: planner catalog check --catalog {out or f'{name}.yaml'}"
    if folder == "engines":
        head += f"\nIts speed: engines.{name} of a calibration; the check names the factors that lack."
    text = commented(document, FOLDERS[folder], head)
    answer: dict[str, Any] = {"kind": kind, "id": name, "like": source, "path": None, "text": text}
    if out is not None:
        answer["path"] = str(_write(out, folder, name, text))
    return answer


_COMMAND = "planner catalog new"


def noun_of(kind: str) -> type[CatalogEntry]:
    """What a file of that kind holds."""
    return FOLDERS[KINDS[kind][0]]


def _looks_like(catalog: Catalog, folder: str, name: str) -> str:
    entry = catalog.find(folder, name)
    if entry is None:
        known = catalog.names(folder)
        raise input_error(
            _COMMAND, "--like", f'"{name}"', "an id or alias of that kind", nearest(name, tuple(known))
        )
    return str(entry.id)


def _file(folder: str, entry_id: str, overlays: tuple[Path, ...]) -> dict[str, Any]:
    """The entry as its file has it, with the units that people write."""
    for place in resources.folders("catalog", overlays):
        for path in (place / folder / f"{entry_id}.yaml", place / f"{entry_id}.yaml", place):
            if path.is_file() and path.stem == entry_id:
                return dict(read_document(path).value)
    raise input_error(_COMMAND, "--like", f'"{entry_id}"', "an entry with a file of its own")


def _renamed(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Under a new id: other names belong to the old one, and nobody has stated its numbers yet."""
    kept = {key: value for key, value in document.items() if key not in _LEFT_OUT}
    if "offers" in kept:
        kept["offers"] = [{key: value for key, value in kept["offers"][0].items() if key != "note"}]
    named = set(_sources(kept))
    sources = {
        key: {"title": _TO_FILL_IN, "date": str(source["date"]), "grade": _UNCHECKED}
        for key, source in document.get("sources", {}).items()
        if key in named
    }
    return {"kind": document["kind"], "id": name, "name": name} | kept | {"sources": sources}


def _sources(value: Any) -> Iterator[str]:
    """The keys of sources that blocks of numbers name."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "source":
                yield from [inner] if isinstance(inner, str) else inner
            else:
                yield from _sources(inner)
    elif isinstance(value, list):
        for item in value:
            yield from _sources(item)


def _write(out: Path, folder: str, name: str, text: str) -> Path:
    target = out / folder / f"{name}.yaml" if out.is_dir() else out
    if target.stem != name or target.suffix != ".yaml":
        raise input_error(
            _COMMAND, "--out", f'"{target.name}"', f'the file "{name}.yaml"', f'"--id {target.stem}"'
        )
    if out.is_dir():
        target.parent.mkdir(exist_ok=True)
    check_target("--out", target)
    write_whole(target, text.encode())
    return target
