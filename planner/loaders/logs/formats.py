"""Reads ``catalog/logs``: one file is one program; ``envelope.yaml`` holds times and names of replicas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from planner import resources
from planner.errors import Fault, InputError
from planner.loaders.validation import attempt, merged
from planner.loaders.yaml_source import read_document
from planner.schema.log_format import LogEnvelope, LogFormat

FOLDER = "logs"
ENVELOPE = "envelope"
"""The file that is no program."""


@dataclass(frozen=True)
class LogFormats:
    """Every known program, and what stands around its lines."""

    formats: tuple[LogFormat, ...]
    envelope: LogEnvelope


def load_log_formats(overlays: Sequence[Path] = ()) -> LogFormats:
    """All formats; a file of an overlay replaces the one with the same id.

    Raises:
        InputError: everything wrong with the files, all at once.
    """
    faults: list[Fault] = []
    read: dict[str, LogFormat | LogEnvelope] = {}
    for path in _files(overlays):
        try:
            document = read_document(path)
        except InputError as problem:
            faults += problem.faults
            continue
        noun: type[LogFormat | LogEnvelope] = LogEnvelope if path.stem == ENVELOPE else LogFormat
        entry, found = attempt(noun, document)
        faults += [*document.faults, *found]
        if entry is not None and entry.id != path.stem:
            expected = f'the name of the file, "{path.stem}"'
            faults.append(Fault(document.where(("id",)), "id", f'"{entry.id}"', expected))
        if entry is not None:
            read[path.stem] = entry
    envelope = read.pop(ENVELOPE, None)
    if not isinstance(envelope, LogEnvelope) and not faults:
        faults.append(Fault(f"catalog/{FOLDER}", ENVELOPE, "no such file", "times and names of replicas"))
    if faults or not isinstance(envelope, LogEnvelope):
        raise InputError(merged(faults))
    formats = (entry for entry in read.values() if isinstance(entry, LogFormat))
    return LogFormats(tuple(formats), envelope)


def _files(overlays: Sequence[Path]) -> tuple[Path, ...]:
    files: dict[str, Path] = {}
    for folder in resources.folders("catalog", overlays):
        for path in sorted((folder / FOLDER).glob("*.yaml")):
            files.setdefault(path.stem, path)
    return tuple(files[stem] for stem in sorted(files))
