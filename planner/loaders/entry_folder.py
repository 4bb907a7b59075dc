"""Folders of data: one YAML file is one entry, the name of the file its id; all faults are told at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from planner import resources
from planner.errors import Fault, InputError
from planner.loaders.validation import attempt, merged
from planner.loaders.yaml_source import Document, read_document
from planner.schema.base import Noun

NounT = TypeVar("NounT", bound=Noun)
OneT = TypeVar("OneT", bound=Noun)
Check = Callable[[Document, Path], Iterable[Fault]]


def entry_files(folders: Iterable[Path]) -> tuple[Path, ...]:
    """The YAML files by name; a name in an earlier folder hides the same name in later ones."""
    return first_of_name(path for folder in folders for path in sorted(folder.glob("*.yaml")))


def first_of_name(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The paths by name, of several with one name the first."""
    files: dict[str, Path] = {}
    for path in paths:
        files.setdefault(path.stem, path)
    return tuple(files[stem] for stem in sorted(files))


def data_files(kind: resources.Kind, folder: str, overlays: Sequence[Path]) -> tuple[Path, ...]:
    """The files of a folder of the catalog or the rules, those of overlays over the program's own."""
    return entry_files(place / folder for place in resources.folders(kind, overlays))


def read_noted(
    noun: type[NounT], files: Iterable[Path], faults: list[Fault], also: Check | None = None
) -> dict[str, NounT]:
    """The entries of these files by id; what is wrong with them, by ``also`` too, is added to ``faults``."""
    read: dict[str, NounT] = {}
    for path in files:
        try:
            document = read_document(path)
        except InputError as problem:
            faults += problem.faults
            continue
        entry, found = attempt(noun, document)
        faults += [*document.faults, *found, *misnamed(document, path)]
        faults += () if also is None else also(document, path)
        if entry is not None:
            read[path.stem] = entry
    return read


def read_entries(noun: type[NounT], files: Iterable[Path]) -> dict[str, NounT]:
    """The entries of these files by id.

    Raises:
        InputError: everything wrong with the files, all at once.
    """
    faults: list[Fault] = []
    read = read_noted(noun, files, faults)
    if faults:
        raise InputError(merged(faults))
    return read


def read_with_one(
    noun: type[NounT], one: type[OneT], stem: str, meaning: str, files: Sequence[Path]
) -> tuple[dict[str, NounT], OneT]:
    """The entries of a folder in which one file, ``stem``, is of another kind, and that one.

    Raises:
        InputError: everything wrong with the files, all at once; the one file is missing.
    """
    faults: list[Fault] = []
    single = read_noted(one, (path for path in files if path.stem == stem), faults).get(stem)
    read = read_noted(noun, (path for path in files if path.stem != stem), faults)
    if single is None and not faults:
        faults.append(Fault(f"catalog/{files[0].parent.name}", stem, "no such file", meaning))
    if faults or single is None:
        raise InputError(merged(faults))
    return read, single


def misnamed(document: Document, path: Path) -> Iterator[Fault]:
    """The id of an entry that is not the name of its file."""
    identity = document.value.get("id")
    if isinstance(identity, str) and identity != path.stem:
        expected = f'the name of the file, "{path.stem}"'
        yield Fault(document.where(("id",)), "id", f'"{identity}"', expected)
