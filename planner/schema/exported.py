"""What an export consists of: files for another program, and what to do with them."""

from __future__ import annotations

from dataclasses import dataclass

from planner.schema.base import Noun


@dataclass(frozen=True)
class ExportFile:
    """One file of an export."""

    name: str
    """Inside its folder; parts are divided by ``/``."""
    content: bytes
    executable: bool = False


@dataclass(frozen=True)
class Exported:
    """Files for one target."""

    files: tuple[ExportFile, ...]
    steps: tuple[str, ...]
    """What to do with them, in order, as Markdown."""
    notes: tuple[str, ...] = ()
    """What the operator must know or put in place, as plain text."""


class ExportAnswer(Noun):
    """What ``planner export`` answers."""

    target: str
    files: tuple[str, ...] = ()
    """Paths of what was written; empty where the target cannot express the plan."""
    cannot_express: tuple[str, ...] = ()
    """Why not, a sentence each."""
