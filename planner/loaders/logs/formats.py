"""Reads ``catalog/logs``: one file is one program; ``envelope.yaml`` holds times and names of replicas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.loaders.entry_folder import data_files, read_with_one
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
    files = data_files("catalog", FOLDER, overlays)
    formats, envelope = read_with_one(LogFormat, LogEnvelope, ENVELOPE, "times and names of replicas", files)
    return LogFormats(tuple(formats.values()), envelope)
